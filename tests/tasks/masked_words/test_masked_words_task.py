"""task=masked_words from the command line: runs, their files, and the commands that use them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from compared_runs import on_page
from fillers import task_of
from run_folders import make_run
from unlabelled import SENTENCES, document

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.loading import TrainedRun
from attnlab.tasks.masked_words.shown import attention_records
from attnlab.views.records import ShadedWords, Slider

TINY = (
    *("task=masked_words", "data=text", "data.path=days.txt", "task.next_sentence=true"),
    *("data.validation=0.1", "data.test=0.1", "model.units=16", "model.feed_forward=32"),
    *("model.layers=1", "model.dropout=0.1", "attention.heads=2", "trainer.epochs=5"),
    *("optimizer.learning_rate=0.02", "trainer.batch_size=16", "trainer.jit=false"),
    "tracking.enabled=false",
)


@pytest.fixture
def lab(here, no_figures):
    documents = (" ".join(document(number)) for number in range(120))
    (here.folder / "days.txt").write_text("\n\n".join(documents))
    return here


@pytest.fixture
def trained(trained_once):
    """A run that is trained once for all tests of this file; each test gets a copy."""
    return trained_once(*TINY)


def test_a_run_learns_and_reports_its_result(trained):
    (run,) = trained.run_folders()
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["metric"] == "accuracy" and metrics["test"]["accuracy"] > 0.5
    assert metrics["test"].keys() == {"accuracy", "perplexity", "follows"}
    assert metrics["baselines"].keys() == {"frequency", "neighbours"}
    assert metrics["groups"].keys() <= {"masked", "replaced", "kept"}
    header = (run / "history.csv").read_text().splitlines()[0].split(",")
    assert {"train_loss", "val_loss", "val_accuracy", "val_follows"} <= {*header}
    lines = (run / "predictions.csv").read_text().splitlines()
    assert lines[0].split(",") == [
        *("row", "place", "text", "read", "word", "p_word", "prediction", "right"),
        *("probability", "frequency", "neighbours"),
    ]
    kept = np.load(run / "attention.npz")
    count, heads, queries, places = kept["weights"].shape
    assert (heads, queries) == (2, 1) and kept["tokens"].shape == (count, places)
    assert kept["weights"].sum(axis=-1) == pytest.approx(1, abs=1e-3)
    assert kept["right"].tolist() == sorted(kept["right"].tolist())
    for row in range(count):
        cells = lines[1 + int(kept["index"][row])].split(",")
        assert cells[4] == kept["word"][row] and cells[6] == kept["prediction"][row]
        assert int(cells[1]) == kept["place"][row]

    code, out, _ = trained("evaluate", "latest", "--json")
    assert json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-4)


def test_words_are_filled_in(trained, monkeypatch):
    code, out, err = trained("fill", "latest", "The old [MASK] sleeps", "we [MASK] green [MASK]")
    assert code == 0, err
    first, second = out.splitlines()
    assert first.startswith("The old ") and first.endswith(" sleeps")
    assert "[MASK]" not in out and second.split()[0::2] == ["we", "green"]

    Path("text.txt").write_text("The old\n[MASK] sleeps\n")
    code, out, err = trained("fill", "latest", "--top", "3", "--file", "text.txt", "[MASK] [MASK]")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [*[["1", "1"]] * 3, *[["1", "2"]] * 3, *[["2", "1"]] * 3]
    shares = [float(row[2]) for row in rows[6:]]
    assert shares == sorted(shares, reverse=True) and rows[6][3] == first.split()[2]

    lines = io.BytesIO(b"the old [MASK] sleeps\nmy [MASK]\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines))
    code, out, _ = trained("fill", "latest", "--json", "--top", "2", "--average", "2")
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["text"] for each in found] == ["the old [MASK] sleeps", "my [MASK]"]
    assert [[len(mask) for mask in each["masks"]] for each in found] == [[2], [2]]
    assert found[1]["filled"] == f"my {found[1]['masks'][0][0]['word']}"

    for form, empty in (
        ([], ""),
        (["--json"], {"text": "", "filled": "", "masks": [], "unknown": []}),
    ):
        lines = io.BytesIO(b"the old [MASK] sleeps\n\nmy [MASK]\n")
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines))
        code, out, err = trained("fill", "latest", *form)
        first, blank, last = out.splitlines()
        assert code == 0 and first and last, err
        assert (json.loads(blank) if form else blank) == empty


def test_a_text_that_is_cut_off_gets_one_warning(trained):
    code, _, err = trained("fill", "latest", *["a [MASK]" + " dog" * 200] * 2)
    assert code == 0
    (line,) = [line for line in err.splitlines() if "as in training" in line]
    assert line.startswith("attnlab: warning: only the first ")
    assert "as in training" not in trained("fill", "latest", "a [MASK]")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no mask"], "TEXT 1: expected a text with [MASK], got 'no mask'."),
        (["a [MASK]", " "], "TEXT 2: expected a text with [MASK], got an empty one."),
        (["the " * 90 + "[MASK]"], "within the first 17 tokens, which is what the run reads"),
        (["--file", "none.txt"], "--file: none.txt can't be read"),
        (["--top", "0", "a [MASK]"], "Invalid value for '--top'"),
    ],
)
def test_texts_that_cannot_be_filled_in_are_refused(trained, words, message):
    code, out, err = trained("fill", "latest", *words)
    assert (code, out) == (2, "") and message in err


def test_runs_of_other_kinds_are_refused(here):
    make_run(here.runs, task="fib")
    code, out, err = here("fill", "latest", "a [MASK]")
    assert (code, out) == (2, "") and "masked_words" in err and err.count("\n") == 1


def test_a_page_has_the_weights_and_the_word_of_each_epoch(trained):
    note, slider = attention_records(on_page(trained.runs))
    assert isinstance(slider, Slider) and "» and «" in note.text
    (run,) = trained.run_folders()
    best = slider.epochs.numbers.index(json.loads((run / "metrics.json").read_text())["best_epoch"])
    kept = np.load(run / "attention.npz")
    (words,) = slider.frames[best]
    assert isinstance(words, ShadedWords) and words.names == ("text", "word", "said")
    assert words.maps == ["mean of 2 heads", "head 1", "head 2"]
    for row, each in enumerate(words.items):
        assert sum(word.startswith("»") for word in each.words) == 1
        assert (each.label, each.said) == (kept["word"][row], kept["prediction"][row])
        expected = kept["weights"][row, :, 0, : len(each.words)]
        assert each.weights[1:] == pytest.approx(expected, abs=1e-3)

    Path("days.txt").unlink()
    RunDirectory(run).status.write(files={})  # the text that it was trained on is elsewhere
    parts = attention_records(on_page(trained.runs))
    (slider,) = (part for part in parts if isinstance(part, Slider))
    reasons = [part.text for part in parts if not isinstance(part, Slider)]
    assert len(slider.epochs.numbers) == 1
    assert any("best epoch" in text for text in reasons)
    assert slider.frames[0][0].items[0].label == kept["word"][0]


def test_a_run_serves_and_encodes_without_its_corpus(trained):
    (folder,) = trained.run_folders()
    Path("days.txt").unlink()
    run = TrainedRun.load(RunDirectory(folder))
    (served,) = run.task.serve(run.model, [["The old [MASK] sleeps"]])
    assert served.startswith("The old ") and served.endswith(" sleeps")
    vectors = run.task.vectors(run.model, [SENTENCES[0], SENTENCES[0] + " ", SENTENCES[1]])
    assert vectors.shape == (3, 16)
    assert np.array_equal(vectors[0], vectors[1]) and not np.allclose(vectors[0], vectors[2])


def test_a_stopped_run_resumes_to_the_same_bits(trained, monkeypatch):
    from same_runs import assert_same_run

    from attnlab.tasks.masked_words.learner import MaskedWordLearner

    (whole,) = trained.run_folders()
    validate = MaskedWordLearner.validate

    def stopped(self, epoch):
        if epoch == 3:
            raise KeyboardInterrupt
        return validate(self, epoch)

    monkeypatch.setattr(MaskedWordLearner, "validate", stopped)
    assert trained(*TINY).code != 0
    monkeypatch.setattr(MaskedWordLearner, "validate", validate)
    (other,) = (path for path in trained.run_folders() if path != whole)
    code, _, err = trained("resume", str(other))
    assert code == 0, err
    assert_same_run(other, whole)


@pytest.mark.slow
def test_another_seed_gives_other_bits(trained):
    (first,) = trained.run_folders()
    assert trained(*TINY, "seed=1").code == 0
    (other,) = (path for path in trained.run_folders() if path != first)
    name = "predictions.csv"
    assert (first / name).read_bytes() != (other / name).read_bytes()


# The task


def test_the_words_to_predict_dont_depend_on_the_seed():
    from attnlab.tasks.texts.sentences import Sentences as Grammar

    tasks = [task_of(), task_of()]
    for seed, task in enumerate(tasks):
        task.corpus = Grammar(sentences=100)
        task.load(seed)
    first, second = (task.data.parts["test"].asked for task in tasks)
    assert np.array_equal(first.tokens, second.tokens)
    assert tasks[0].data.digest != tasks[1].data.digest
    assert tasks[0].data.parts["train"].asked is None


def test_a_corpus_without_pairs_or_words_is_refused():
    from attnlab.tasks.texts.sentences import Sentences as Grammar

    task = task_of(next_sentence=True)
    task.corpus = Grammar(sentences=100)
    with pytest.raises(RequestError, match="two or more sentences in a document"):
        task.load()
    with pytest.raises(RequestError, match="at least two in each part"):
        task_of(3, next_sentence=True).load()
    with pytest.raises(RequestError, match="expected words of the vocabulary"):
        task_of(min_count=500).load()


def test_unknown_words_are_noted_and_not_predicted():
    task = task_of(vocabulary=12)
    data = task.load()
    assert any("not in the vocabulary and are never predicted" in note for note in data.notes())
    assert all((part.words > 3).all() for part in data.parts.values() if part.asked)


def test_a_saved_task_needs_the_same_settings(tmp_path):
    task = task_of()
    task.load()
    task.save(tmp_path)
    other = task_of()
    other.load_from(tmp_path)
    text = "the [MASK] dog"
    assert other.width == task.width and np.array_equal(other.rows([text]), task.rows([text]))
    assert (other.words(task.rows([text]))[0, :6]).tolist() == [
        *("<start>", "the", "[MASK]", "dog", "<end>", "")
    ]
    with pytest.raises(RequestError, match="expected the settings"):
        task_of(max_length=9).load_from(tmp_path)
    (tmp_path / "masked_words.json").unlink()
    with pytest.raises(RequestError, match="damaged or missing: "):
        other.load_from(tmp_path)
