"""`attnlab heads`: what each head of a trained model looks at."""

import json

import pytest
from command_line import CommandsHere

from attnlab.attention.head_measures import MEASURES
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.report.heads import _course, head_rows


def heads_of(run, *words):
    """Run the command in this process."""
    return CommandsHere(run.attnlab.folder)("heads", str(run.folder), *words)


def test_each_epoch_has_its_rows(translating):
    plot = translating.folder / "heads.png"
    assert not heads_of(translating, "--epochs", "--plot", str(plot)).out  # the figure has the rows
    rows = json.loads(heads_of(translating, "--json", "--epochs").out)
    saved = RunDirectory(translating.folder).weights_epochs()
    assert [row.pop("epoch") for row in rows] == saved and len(saved) > 1
    assert rows[-1:] == json.loads(heads_of(translating, "--json", "--epoch", "last").out)
    assert rows[0]["entropy"] != rows[-1]["entropy"]
    first = heads_of(translating, "--epoch", "1").out
    assert first.split()[:2] == ["on", "layer"] and f"{rows[0]['entropy']:.3f}" in first
    assert plot.stat().st_size > 5000


def test_wrong_requests_are_refused(trained):
    for words, said in (
        (("--epochs", "--epoch", "1"), "--epoch and --average can't be with it"),
        (("--plot", "heads.png"), "--plot needs it"),
        (("--epochs", "--plot", "heads.txt"), "--plot: expected a file that ends with"),
        (("--measure", "share"), "--measure: it needs --plot"),
    ):
        outcome = heads_of(trained, *words)
        assert outcome.code == 2 and said in outcome.err


def test_the_chart_has_the_induction_score_on_random_tokens():
    def row(epoch, on, head, induction):
        return {"epoch": epoch, "on": on, "layer": "a", "head": head, "induction": induction}

    measured = [row(1, "test", 1, 0.7), row(1, "repeated", 1, 0.1), row(1, "repeated", 2, None)]
    measured += [row(4, "repeated", 1, 0.2), row(4, "repeated", 2, 0.9)]
    measured = [{**entry, "share": 0.5, "entropy": None} for entry in measured]
    chart = _course(measured)
    assert chart.x == [1, 4] and "random tokens said twice" in chart.title
    curves = {curve.label: curve.y for curve in chart.curves}
    assert curves == {"a, head 1": [0.1, 0.2], "a, head 2": [None, 0.9]}
    assert {curve.label for curve in _course(measured, "share").curves} == {*curves}
    with pytest.raises(RequestError, match="--measure=entropy: .* are: induction, share"):
        _course(measured, "entropy")


@pytest.mark.parametrize(
    "words",
    [
        ("task=masked_words", "data.sentences=100", "model.units=8", "model.feed_forward=8"),
        (
            "task=classify",
            "model=transformer",
            "attention=scaled_dot_product",
            "model.units=8",
            "data.texts=100",
        ),
        ("task=answer", "model=transformer", "data.questions=100", "model.units=8"),
        ("task=digits", "model.units=8", "model.layers=1", "model.feed_forward=8"),
    ],
    ids=lambda words: words[0],
)
def test_each_layer_and_head_of_a_transformer_has_a_row(words, learner_of):
    learner = learner_of(*words)
    rows = list(head_rows(learner._task, learner.model, 3))
    count = len(learner.model._flatten_layers()) and rows[-1]["head"]
    layers = {row["layer"] for row in rows}
    reads_tokens = words[0] in ("task=masked_words", "task=classify")
    assert len(rows) == len(layers) * count * (2 if reads_tokens else 1)
    for row in rows:
        assert 0 <= row["first"] <= 1 and 0 <= row["previous"] <= 1
    for row in (row for row in rows if row["on"] == "repeated"):
        # A class token makes the sequence longer than the text: no step has a token of its own.
        unknown = {"duplicate", "induction"} if words[0] == "task=classify" else set()
        assert {name for name in MEASURES if row[name] is None} == unknown
