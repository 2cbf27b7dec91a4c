"""task=masked_words from the command line: runs, their files, and the commands that use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compared_runs import on_page
from language_models import assert_resumes_to_the_same_bits

from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.tasks.language.learner import MaskedWordLearner
from attnlab.tasks.language.report import words_test
from attnlab.tasks.language.shown import attention_records, figures

SENTENCES = (
    *("the old dog sleeps", "a young cat waits", "the birds sing loudly"),
    *("my friend reads books", "we like green apples"),
)
TRAINED = (
    *("task=masked_words", "data=text", "data.path=days.txt"),
    *("data.validation=0.1", "data.test=0.1", "model.units=16", "model.feed_forward=32"),
    *("model.layers=1", "model.dropout=0.1", "attention.heads=2", "trainer.epochs=5"),
    *("optimizer.learning_rate=0.02", "trainer.batch_size=16", "trainer.jit=false"),
    "tracking.enabled=false",
)


@pytest.fixture
def lab(here, no_figures):
    lines = (f"{text} on day {day % 10} ." for day in range(120) for text in SENTENCES)
    (here.folder / "days.txt").write_text("\n".join(lines))
    return here


def test_a_run_learns_and_reports_its_result(trained_lab):
    (folder,) = trained_lab.run_folders()
    run = RunDirectory(folder)
    metrics = run.read_metrics()
    assert metrics["metric"] == "accuracy" and metrics["test"]["accuracy"] > 0.4
    assert metrics["test"].keys() == {"accuracy", "perplexity"}
    assert metrics["baselines"].keys() == {"frequency", "neighbours"}
    assert {"train_loss", "val_loss", "val_accuracy"} <= run.history.read().keys()
    columns = run.read_predictions(("text", "answer", "prediction"))
    assert columns["right"].mean() == metrics["test"]["accuracy"]
    same = columns["answer"] == columns["prediction"]
    assert same.tolist() == (columns["right"] > 0).tolist()
    assert all(text.count("»") == 1 for text in columns["text"])
    assert {"frequency", "neighbours"} <= columns.keys()
    assert {*figures(run, metrics)} == {"loss.png", "attention.png"}
    (tested,) = words_test("accuracy", [([run], [run])], None)
    assert tested.items == len(columns["right"]) and tested.p == 1
    code, out, _ = trained_lab("evaluate", "latest", "--json")
    assert json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-4)


def test_words_are_filled_in(trained_lab):
    texts = ("The old [MASK] sleeps", "we [MASK] green [MASK]")
    out = trained_lab.run("fill", "latest", *texts).out
    first, second = out.splitlines()
    assert first.startswith("The old ") and first.endswith(" sleeps")
    assert "[MASK]" not in out and second.split()[0::2] == ["we", "green"]

    Path("text.txt").write_text("The old\n[MASK] sleeps\n")
    words = ("--top", "3", "--file", "text.txt", "[MASK] [MASK]")
    code, out, err = trained_lab("fill", "latest", *words)
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [*[["1", "1"]] * 3, *[["1", "2"]] * 3, *[["2", "1"]] * 3]
    shares = [float(row[2]) for row in rows[6:]]
    assert shares == sorted(shares, reverse=True) and rows[6][3] == first.split()[2]

    lines = b"the old [MASK] sleeps\nmy [MASK]\n"
    words = ("--json", "--top", "2", "--average", "2")
    code, out, _ = trained_lab("fill", "latest", *words, stdin=lines)
    result = [json.loads(line) for line in out.splitlines()]
    assert [item["text"] for item in result] == ["the old [MASK] sleeps", "my [MASK]"]
    assert [[len(mask) for mask in item["masks"]] for item in result] == [[2], [2]]
    assert result[1]["filled"] == f"my {result[1]['masks'][0][0]['word']}"

    for form, empty in (
        ([], ""),
        (["--json"], {"text": "", "filled": "", "masks": [], "unknown": []}),
    ):
        lines = b"the old [MASK] sleeps\n\nmy [MASK]\n"
        code, out, err = trained_lab("fill", "latest", *form, stdin=lines)
        first, blank, last = out.splitlines()
        assert code == 0 and first and last, err
        assert (json.loads(blank) if form else blank) == empty


def test_a_text_that_is_cut_off_gets_one_warning(trained_lab):
    code, _, err = trained_lab("fill", "latest", *["a [MASK]" + " dog" * 200] * 2)
    assert code == 0
    (line,) = [line for line in err.splitlines() if "as in training" in line]
    assert line.startswith("attnlab: warning: only the first ")
    assert "as in training" not in trained_lab("fill", "latest", "a [MASK]")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no mask"], "TEXT 1: expected a text with [MASK], got 'no mask'."),
        (["a [MASK]", " "], "TEXT 2: expected a text with [MASK], got ' '."),
        (["the " * 90 + "[MASK]"], "within the first 8 tokens, which is what the run reads"),
        (["--file", "none.txt"], "--file: none.txt can't be read"),
        (["--top", "0", "a [MASK]"], "Invalid value for '--top'"),
    ],
)
def test_texts_that_cannot_be_filled_in_are_refused(trained_lab, words, message):
    code, out, err = trained_lab("fill", "latest", *words)
    assert (code, out) == (2, "") and message in err


def test_the_page_has_attention_by_epoch(trained_lab):
    note, slider = attention_records(on_page(trained_lab.runs))
    ((first,),), *_, ((last,),) = ([maps.items for maps in frame] for frame in slider.frames)
    assert len(slider.frames) == 5 and first.rows == last.rows and "[MASK]" in first.rows
    assert len(first.weights) == 1 + 2  # the mean and two heads
    assert last.weights[0].sum(axis=-1) == pytest.approx(1, abs=1e-2)


def test_a_run_serves_without_its_corpus(trained_lab):
    (folder,) = trained_lab.run_folders()
    Path("days.txt").unlink()
    run = TrainedRun.load(RunDirectory(folder))
    (served,) = run.task.serve(run.model, [["The old [MASK] sleeps"]])
    assert served.startswith("The old ") and served.endswith(" sleeps")


def test_a_stopped_run_resumes_to_the_same_bits(trained_lab, monkeypatch):
    assert_resumes_to_the_same_bits(trained_lab, TRAINED, MaskedWordLearner, 3, monkeypatch)
