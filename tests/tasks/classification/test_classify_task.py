"""task=classify from the command line: a run, its files, and the commands that use it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention

TINY = (
    *("task=classify", "data=table", "data.path=texts.csv", "model.units=8", "model.embedding=8"),
    *("model.dropout=0.0", "optimizer.learning_rate=0.02", "trainer.epochs=6"),
    *("trainer.batch_size=16", "trainer.jit=false", "model.cell=simple"),
)
UNTRACKED = "tracking.enabled=false"
TRAINED = (*TINY, "attention=bahdanau", UNTRACKED)


@pytest.fixture(scope="module")
def rows() -> list[str]:
    """Texts whose class depends on one word at any position."""
    draw = np.random.default_rng(3)
    words = ["tea", "rain", "bread", "street", "cup", "green", "tall", "quiet"]
    result = {}
    while len(result) < 240:
        label = ("bad", "good")[len(result) % 2]
        text = draw.choice(words, draw.integers(3, 9)).tolist()
        text[draw.integers(len(text))] = {"bad": "awful", "good": "lovely"}[label]
        result[" ".join(text)] = label
    return ["text,label", *(f"{text},{label}" for text, label in result.items())]


@pytest.fixture
def lab(here, rows, no_figures):
    (here.folder / "texts.csv").write_text("\n".join(rows))
    return here


def test_a_run_learns_and_works_with_every_command(trained_lab):
    (run,) = trained_lab.run_folders()
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] == 1.0 and metrics["metric"] == "accuracy"
    assert {"majority", "word_counts"} == metrics["baselines"].keys()
    assert (run / "assets/classes.json").is_file() and (run / "attention.npz").is_file()
    history = (run / "history.csv").read_text().splitlines()
    assert {"val_loss", "val_accuracy", "train_loss"} <= set(history[0].split(","))

    code, out, err = trained_lab("classify", "latest", "green tea lovely cup", "rain awful street")
    assert (code, out.split()) == (0, ["good", "bad"]), err
    _, out, _ = trained_lab("classify", "latest", "--json", "awful")
    result = json.loads(out)
    assert result["class"] == "bad" and sum(result["probabilities"].values()) == pytest.approx(1)
    counted = metrics["notes"][0]
    assert [*result["probabilities"]] == ["bad", "good"]
    assert "2 classes, with the numbers of texts in" in counted
    _, out, _ = trained_lab("classify", "latest", "--scores", "awful")
    score, name = out.split()
    assert name == "bad" and float(score) == pytest.approx(result["probabilities"]["bad"], abs=1e-4)

    code, out, _ = trained_lab("evaluate", "latest", "--json")
    assert json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-5)
    code, out, _ = trained_lab("evaluate", "latest", "--epoch", "1", "--json")
    assert json.loads(out)["metrics"]["log_loss"] > metrics["test"]["log_loss"]
    figure = trained_lab.folder / "map.png"
    code, _, err = trained_lab("classify", "latest", "a lovely cup", "--attention", str(figure))
    assert code == 0 and figure.stat().st_size > 5000, err
    code, out, err = trained_lab("plot", "vocabulary", "latest")
    assert code == 0 and (run / "plots/vocabulary.png").is_file(), err


def test_files_and_standard_input_are_texts_too(trained_lab):
    (trained_lab.folder / "one.txt").write_text("what an awful\nbread")
    code, out, err = trained_lab("classify", "latest", "--file", "one.txt", "lovely rain")
    assert (code, out.split()) == (0, ["good", "bad"]), err
    assert "tokens of a text are read" not in err and "--file" not in err
    _, _, err = trained_lab("classify", "latest", "one.txt")
    assert "warning: one.txt is classified as a text; --file one.txt reads the file\n" in err
    _, _, err = trained_lab("classify", "latest", "lovely " * 99, "bread " * 99)
    assert "only the first " in err and "the end of 'lovely lovely " in err
    assert err.count("tokens of a text are read") == 1
    _, out, _ = trained_lab("classify", "latest", stdin=b"lovely rain\n\n  \nwhat an awful bread\n")
    assert out.splitlines() == ["good", "", "", "bad"]


def test_recorded_attention_has_the_words_of_its_examples(trained_lab):
    (run,) = trained_lab.run_folders()
    recorded = read_attention(RunDirectory(run))
    assert recorded.epochs == [1, 2, 3, 4, 5, 6]
    first, last = recorded.at(1), recorded.final()
    assert len(last["tokens"]) == len(last["index"]) == 8
    assert (first["tokens"] == last["tokens"]).all() and {*last["label"]} == {"good", "bad"}
    weights = last["weights"]
    assert weights.dtype == np.float16 and weights.shape[1:3] == (1, 1)
    assert (weights[:, 0, 0][last["tokens"] == ""] == 0).all()
    assert not np.array_equal(first["weights"], weights)
    assert {"awful", "lovely"} & {word for row in last["tokens"] for word in row}
    predictions = RunDirectory(run).read_predictions(("text", "prediction"))["prediction"]
    assert (predictions[last["index"]] == last["prediction"]).all()


@pytest.mark.slow
def test_agreement_is_learned_at_the_defaults(lab):
    """The readout matters: with `attentional_state` most of these runs stay at chance."""
    lab.run("task=classify", "attention=luong_global", UNTRACKED)
    (run,) = lab.run_folders()
    assert json.loads((run / "metrics.json").read_text())["test"]["accuracy"] > 0.99


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((" ",), "TEXT 1: expected words, got an empty text."),
        (("--file", "nowhere.txt"), "--file: nowhere.txt can't be read"),
        (("a", "b", "--attention", "x.png"), "--attention: expected one text, got more."),
    ],
)
def test_wrong_texts_are_refused_in_one_sentence(trained_lab, words, message):
    code, _, err = trained_lab("classify", "latest", *words)
    assert code == 2 and message in err and err.count("\n") == 1
