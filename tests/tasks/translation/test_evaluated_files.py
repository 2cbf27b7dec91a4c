"""`attnlab evaluate` on the user's files."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from command_line import CommandsHere, Outcome, TrainedRun, assert_refused

NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
SIZES = {"train": 600, "val": 19}
SMALL = (
    *("task=translate", "data=multi30k", "data.path=multi30k", "data.test_set=val"),
    *("attention=luong_global", "model.units=24", "model.embedding=16", "model.cell=simple"),
    *("model.bidirectional=false", "model.dropout=0", "trainer.epochs=3"),
    *("trainer.batch_size=200", "task.score_every=3", "schedule=constant"),
    *("optimizer.learning_rate=0.02", "tracking.enabled=false", "paths.data=cache"),
)
LEFT_OUT = "The baseline nearest_pair is missing, because it needs the training part."


def write_pairs(folder: Path, stem: str, count: int) -> None:
    """Numbers in English and German words, with a capital first letter."""
    draw = random.Random(stem)
    rows = [draw.choices([*NUMBERS], k=draw.randint(4, 6)) for _ in range(count)]
    for language, sentences in (
        ("en", [" ".join(row) for row in rows]),
        ("de", [" ".join(map(NUMBERS.get, row)) for row in rows]),
    ):
        text = "".join(f"{sentence.capitalize()}.\n" for sentence in sentences)
        (folder / f"{stem}.{language}").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory, no_figures) -> TrainedRun:
    """A run that has learned enough to have a BLEU above 0."""
    attnlab = CommandsHere(tmp_path_factory.mktemp("evaluated"))
    corpus = attnlab.folder / "multi30k"
    corpus.mkdir()
    for stem, count in SIZES.items():
        write_pairs(corpus, stem, count)
    outcome = attnlab(*SMALL)
    assert outcome.code == 0
    (folder,) = attnlab.run_folders()
    return TrainedRun(attnlab, outcome, folder)


@pytest.fixture
def here(run, tmp_path, monkeypatch):
    """Commands in this process, without the run's corpus and its cache."""
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "new", 13)
    commands = CommandsHere(tmp_path)
    commands.runs = run.attnlab.runs
    return commands


@pytest.fixture
def at_home(run):
    """The same commands with the run's corpus."""
    return run.attnlab


def scores(outcome: Outcome) -> dict:
    """Parse JSON; refuse values that only Python reads, such as NaN."""
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out, parse_constant=pytest.fail)


def test_the_runs_own_test_files_packed_or_not_score_as_its_test_part(run, at_home, here):
    whole = scores(at_home("evaluate", "latest", "--epoch", "2", "--json"))
    assert 0 < whole["metrics"]["bleu"] < 100
    for language, written in (("en", bytes), ("de", gzip.compress)):
        content = (run.attnlab.folder / f"multi30k/val.{language}").read_bytes()
        Path(f"own.{language}").write_bytes(written(content))
    files = ("--files", "own.en", "own.de")
    outcome = here("evaluate", "latest", "--epoch", "2", *files, "--json")
    result = scores(outcome)
    assert outcome.err == "" and result["part"] == "own.en and own.de"
    assert result["metrics"] == pytest.approx(whole["metrics"])
    assert result["baselines"] == {"copied_source": whole["baselines"]["copied_source"]}
    assert result["notes"] == [LEFT_OUT]
    of_corpus, of_part = whole["notes"]
    assert of_corpus == "The test part is val, and validation is held out from train."
    assert of_part == "2 of 19 sources are also in the training part."


def test_the_score_is_sacrebleus_of_the_output_of_translate(here):
    from sacrebleu import corpus_bleu, corpus_chrf

    sources, references = (Path(f"new.{code}").read_text().splitlines() for code in ("en", "de"))
    weights = ("--average", "2", "--beam", "3")
    outcome = here.run("translate", "latest", *weights, *sources)
    hypotheses = outcome.out.splitlines()
    outcome = here("evaluate", "latest", *weights, "--json", "--files", "new.en", "new.de")
    result = scores(outcome)
    assert 0 < result["metrics"]["bleu"] <= 100 and outcome.err == ""
    for name, score in {"bleu": corpus_bleu, "chrf": corpus_chrf}.items():
        expected = score(hypotheses, [references]).score
        assert result["metrics"][name] == pytest.approx(expected)
    assert (result["epoch"], result["beam"]) == ("mean of 2, 3", 3)


def test_the_table_notes_left_out_pairs(here):
    with open("new.en", "a") as english, open("new.de", "a") as german:
        english.write("\nOne two.\n")
        german.write("Eins.\n \n")
    code, out, err = here("evaluate", "latest", "--files", "new.en", "new.de")
    assert (code, err) == (0, "")
    title, *table = out.splitlines()
    assert title.startswith("translate / luong_global / seed 0: new.en and new.de, epoch 3, in")
    rows = [line.split()[0] for line in table if line.strip()]
    assert {"luong_global", "copied_source"} <= {*rows} and "nearest_pair" not in rows
    first, second = table[-2:]
    assert first == "note: 2 of 15 pairs are left out, because a side is empty."
    assert second == f"note: {LEFT_OUT}"


# --- what is refused ---------------------------------------------------------------------------

WRONG_FILES = {
    "missing": (None, "--files: expected a file, got wrong.de."),
    "unequal": (b"Eins.\n", "wrong.de: expected as many lines as in new.en, got 1."),
    "blank": (b"\n" * 13, "new.en, wrong.de: expected pairs that have words on both sides after "),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_files_get_one_sentence(here, name):
    content, sentence = WRONG_FILES[name]
    if content is not None:
        Path("wrong.de").write_bytes(content)
    assert_refused(here("evaluate", "latest", "--files", "new.en", "wrong.de"), sentence)


def test_a_moved_corpus_is_named(run, here):
    corpus = run.attnlab.folder / "multi30k"
    moved = corpus.rename(run.attnlab.folder / "moved")
    refused = here("evaluate", "latest", "--beam", "2")
    moved.rename(corpus)
    assert_refused(refused, "multi30k no longer exists. Set data.path=PATH to its new path.")
