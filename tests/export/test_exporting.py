"""Exported models: what is written, that it computes the same, and that it runs without attnlab."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import CommandsHere, assert_refused

from attnlab.errors import RequestError, RunFailed
from attnlab.tasks.kinds import load

ITEMS = 12
SMALL = ("model=transformer", "model.units=16", "model.layers=2", "model.feed_forward=24")
TRANSLATE = ("task=translate", "data=reverse", "data.pairs=100", "attention=multi_head", *SMALL)
CLASSIFY = ("task=classify", "data=agreement", "data.texts=100")
LANGUAGE = ("task=language", "data.sentences=200", "attention=multi_head", *SMALL)
ANSWER = ("task=answer", "data.questions=100")
FILES = {"README.md", "example.py", "model", "sample.npz"}

# The import of attnlab fails in the process that runs an example.
BLOCKED = """
import runpy, sys
sys.modules["attnlab"] = None
sys.argv[:] = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def example_of(folder, *words: str) -> str:
    """The output of an example, in a process that can't import attnlab, elsewhere."""
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(folder / "example.py"), *words],
        cwd=folder.parent,
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def exported(compose, tmp_path):
    """A function from overrides to what a model with drawn weights exports."""

    def exported(*overrides: str):
        from attnlab.runner.train import make_model, make_task

        config = compose(f"paths.data={tmp_path / 'cache'}", *overrides)
        task = make_task(config)
        task.load(config.seed)
        model, draw = make_model(config, task), np.random.default_rng(1)
        for variable in model.trainable_variables:
            variable.assign(variable + draw.normal(0, 0.1, variable.shape))
        trained = SimpleNamespace(task=task, model=model, config=config)
        return load(task.kind.predictions.exported)(trained, ITEMS)

    return exported


def checked(exported, folder, name):
    """Write a model in a format and compare its outputs; raises `RunFailed` if they differ."""
    from attnlab.export import FORMATS
    from attnlab.export.exporting import compare

    outputs = load(FORMATS[name].writer)(exported, folder)
    expected = exported.outputs()
    if name == "ctranslate2":
        expected = {"tokens": exported.transformer.greedy()}
    return compare(exported, expected, outputs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("task=fib", "attention=bahdanau", "model.units=4"),
        ("task=fib_random", "attention=multi_head", *SMALL),
        (*ANSWER, "model=rnn", "attention=bahdanau", "model.units=8"),
        (*CLASSIFY, "model=rnn", "attention=luong_global", "model.units=8", "model.cell=lstm"),
        LANGUAGE,
        TRANSLATE,
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_saved_model_and_onnx_have_the_same_outputs(exported, tmp_path, words):
    made = exported(*words)
    checked(made, tmp_path, "saved_model")
    pytest.importorskip("tf2onnx")
    if words is TRANSLATE:
        with pytest.raises(RequestError, match="--format onnx: expected a model that writes no"):
            checked(made, tmp_path, "onnx")
    else:
        checked(made, tmp_path, "onnx")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        (*TRANSLATE, "model.norm=post", "model.activation=gelu"),
        (*TRANSLATE, "model.positions=rope", "model.tie_embeddings=none"),
    ],
    ids=lambda words: " ".join(words[len(TRANSLATE) :]),
)
def test_ctranslate2_has_the_same_tokens(exported, tmp_path, words):
    pytest.importorskip("ctranslate2")
    assert checked(exported(*words), tmp_path, "ctranslate2")[0].startswith(
        f"`tokens` is equal in {ITEMS} of {ITEMS}"
    )
    option = "attention.gate=headwise"
    with pytest.raises(RequestError, match=f"{option} has no counterpart in CTranslate2"):
        checked(exported(*TRANSLATE, option), tmp_path, "ctranslate2")


def test_outputs_and_tokens_must_be_equal():
    from attnlab.export.exporting import compare

    tokenizer = SimpleNamespace(rows=lambda texts: [[5, 6]])
    made = SimpleNamespace(unit=1.0, unit_name="", texts={"a.json": (["x"], [[5, 6, 0]])})
    made.tokenizers = {"a.json": tokenizer}
    expected = {"tokens": [[7, 8]], "shares": np.array([[0.5]])}
    same = {"tokens": np.array([[7, 8, 0]]), "shares": np.array([[0.50001]])}
    assert compare(made, expected, same) == [
        "`tokens` is equal in 1 of 1 test items.",
        "`shares` differs by at most 1.0e-05 in 1 test items.",
        "a.json gives the same tokens for 1 of 1 texts.",
    ]
    for change in (
        {"tokens": np.array([[7, 9]])},
        {"shares": np.array([[0.51]])},
        {"shares": np.array([[np.nan]])},
        {"shares": np.array([0.5])},
    ):
        with pytest.raises(RunFailed, match="the exported model differs from attnlab's own"):
            compare(made, expected, same | change)
    made.texts = {"a.json": (["x"], [[5, 7]])}
    with pytest.raises(RunFailed, match="the same tokens for 0 of 1 texts"):
        compare(made, expected, same)


# --- the command ---------------------------------------------------------------------------------


def test_a_series_is_exported(trained, tmp_path):
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "made" / "out"
    done = here.run("export", trained.folder, "--format", "saved_model", "--out", out)
    line, last = done.out.splitlines()
    assert re.match(r"`forecast` differs by at most \S+ of the scale by which its series ", line)
    assert last == f"exported: {out}"
    assert {path.name for path in out.iterdir()} == FILES
    card = (out / "README.md").read_text()
    assert line in card and "task=series task.path=rain.csv" in card and "seasonal_naive" in card
    assert "Input `history`: float64 (any, " in card
    assert [*out.parent.iterdir()] == [out]
    assert "pip install tensorflow numpy\n" in card
    assert (
        example_of(out).startswith("forecast [[") and "ext" not in (out / "example.py").read_text()
    )


def test_wrong_requests(trained, tmp_path):
    here = CommandsHere(trained.attnlab.folder)
    assert_refused(here("export", trained.folder), "Missing option '--format'")
    (tmp_path / "full").mkdir()
    (tmp_path / "file").write_text("mine")
    before = {*tmp_path.rglob("*")}
    for name, message in (("full", "exists already"), ("file/out", "can't be written (")):
        done = here("export", trained.folder, "--format", "saved_model", "--out", tmp_path / name)
        assert_refused(done, "--out=", message)
    assert {*tmp_path.rglob("*")} == before


def test_a_failed_export_leaves_nothing_behind(trained, tmp_path, monkeypatch):
    from attnlab.export import graphs

    wrong = {"forecast": np.zeros((1, 1))}
    monkeypatch.setattr(graphs, "write_saved_model", lambda exported, folder: wrong)
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "made" / "out"
    done = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert (done.code, done.out) == (1, "")
    assert "the exported model differs from attnlab's own: " in done.err
    assert len(done.err.splitlines()) == 1 and [*tmp_path.rglob("*")] == [out.parent]


@pytest.mark.slow
def test_a_run_of_mixed_precision_is_exported_in_float32(here, tmp_path):
    pytest.importorskip("tf2onnx")
    words = ("task=digits", "data.limit=200", "model.units=8", "model.layers=1", "trainer.epochs=1")
    assert here(*words, "trainer.precision=mixed_bfloat16", "tracking.enabled=false").code == 0
    here.run("export", "latest", "--format", "onnx", "--out", tmp_path / "out")
    assert "The weights are float32." in (tmp_path / "out/README.md").read_text()
    assert "probabilities" in example_of(tmp_path / "out")
