"""A kind of task is a folder: each can be removed, and others can be added."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_kind
from command_line import ROOT, some_pairs

TINY = ("model.units=4", "trainer.epochs=2", "trainer.jit=false", "tracking.enabled=false")
FORECASTING = ("task=fib", "task.count=61", "task.history=5", "trainer.batch_size=30", *TINY)
PAIRS = ("data=files", "data.path=pairs.tsv")
TRANSLATION = ("task=translate", *PAIRS, "trainer.batch_size=900", *TINY)
CLASSIFICATION = ("task=classify", "data.texts=200", "model.embedding=4", *TINY)
MASKED_WORDS = ("task=masked_words", "data.sentences=100", *TINY)
LANGUAGE = ("task=language", "data.sentences=100", *TINY)
ANSWERING = ("task=answer", "data.questions=100", "trainer.batch_size=50", *TINY)


def commands(folder: Path, *calls: tuple[str, ...], path: str) -> str:
    """The output of several commands of one process, each of which must end well."""
    code = (
        "import json, sys; from attnlab.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    assert main(words) == 0, words\n"
    )
    environment = {**os.environ, "PYTHONPATH": path, "ATTNLAB_RUNS": str(folder / "runs")}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(calls)],
        cwd=folder,
        env={**environment, "ATTNLAB_DATA": str(folder / "data")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def begin_store(folder: Path, empty_store: Path) -> None:
    """Give the runs of a folder an MLflow store: making one takes seconds."""
    (folder / "runs").mkdir()
    shutil.copy(empty_store, folder / "runs" / "mlflow.db")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings", "verb"),
    [
        ("forecasting", FORECASTING, ("forecast", "latest", "--steps", "2")),
        ("translation", TRANSLATION, ("translate", "latest", "The old dog sleeps.")),
        ("classification", CLASSIFICATION, ("classify", "latest", "The old dog sleeps.")),
        ("language", MASKED_WORDS, ("fill", "latest", "The [MASK] sleeps.")),
        ("language", LANGUAGE, ("generate", "latest", "The", "--tokens", "5")),
        ("answering", ANSWERING, ("answer", "latest", "Who met Anna?", "--text", "a.txt")),
    ],
)
def test_one_kind_works_without_the_others(tmp_path, empty_store, kind, settings, verb):
    """Use the same weights with every command; importing another kind would fail."""
    hidden = {path.parent.name for path in (ROOT / "attnlab/tasks").glob("*/kind.py")} - {kind}
    assert len(hidden) >= 2
    ignored = shutil.ignore_patterns(*hidden)
    shutil.copytree(ROOT / "attnlab", tmp_path / "attnlab", ignore=ignored)
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    lines = [f"{pair.source}\t{pair.target}\n" for pair in some_pairs(60)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "a.txt").write_text("Peter met Anna at noon.")
    begin_store(tmp_path, empty_store)
    printed = commands(
        tmp_path,
        ("--help",),
        (*settings, "attention=bahdanau"),
        ("-m", *settings, "attention=bahdanau,luong_global"),
        ("resume", "latest", "trainer.epochs=3"),
        ("runs",),
        ("compare", "--by", "attention"),
        ("evaluate", "latest", "--epoch", "1"),
        ("plot", "latest"),
        ("runs", "sync", "latest"),
        verb,
        path=str(tmp_path),
    )
    assert ("forecast, " in printed) == (kind == "forecasting")
    assert ("answer, " in printed.partition("Tasks")[0]) == (kind == "answering")
    assert "2 completed" in printed and "are complete in MLflow" in printed
    assert printed.count("loss.png") == 1


@pytest.mark.slow
def test_an_external_kind_needs_no_change_of_attnlab(tmp_path, empty_store):
    tiny_kind.write(tmp_path)
    begin_store(tmp_path, empty_store)
    settings = ("--config-dir", str(tmp_path / "conf"), "task=count", "tracking.enabled=false")
    printed = commands(
        tmp_path,
        ("--help",),
        settings,
        ("resume", "latest", "trainer.epochs=5"),
        ("-m", *settings, "attention=none,bahdanau", "seed=0,1"),
        ("runs", "--sort", "best"),
        ("compare", "--by", "attention"),
        ("evaluate", "latest", "--epoch", "2"),
        ("runs", "sync", "latest"),
        ("count", "latest", "0.5"),
        ("count", "latest", "0.5", "--json"),
        path=os.pathsep.join([str(ROOT), str(tmp_path)]),
    )
    assert " count," in printed
    assert "best epoch 5 of 5, 2 parameters" in printed
    assert "4 completed" in printed and "miss" in printed
    line, content = printed.splitlines()[-2:]
    assert json.loads(content)["number"] == pytest.approx(float(line), rel=0.01)
    code = (
        "import sys; from pathlib import Path\n"
        "from attnlab.explore.session import Session\n"
        "from attnlab.records.run_directory import list_runs\n"
        "session = Session(list_runs(Path(sys.argv[1]))[-1].run)\n"
        "prediction = session.predict(session.epochs.numbers[-1], {'text': '0.5'}, {})\n"
        "print(prediction.explored.output, prediction.layers)"
    )
    paths = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    explored = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "runs")],
        env={**os.environ, **paths, "ATTNLAB_CONFIG_DIR": str(tmp_path / "conf")},
        capture_output=True,
        text=True,
    )
    assert explored.stdout.split() == [line, "[]"], explored.stderr
