"""`attnlab heads`: what each head of a trained model looks at."""

import csv
import json

import pytest

from attnlab.attention.head_measures import MEASURES
from attnlab.commands import heads


def test_a_recurrent_translator_has_one_head_and_no_sequence_of_its_own(translating):
    outcome = translating.attnlab("heads", str(translating.folder), "--json", "--items", "5")
    (row,) = json.loads(outcome.out)
    assert (row["on"], row["head"]) == ("test", 1)
    assert 0 < row["share"] <= 1 and row["previous"] is None


def test_forms_have_the_same_numbers(trained):
    words = ("heads", str(trained.folder), "--items", "5", "--part", "validation")
    (row,) = json.loads(trained.attnlab(*words, "--format", "json").out)
    (as_csv,) = csv.DictReader(trained.attnlab(*words, "--format", "csv").out.splitlines())
    assert float(as_csv["entropy"]) == row["entropy"] and as_csv["induction"] == ""
    table = trained.attnlab(*words).out
    assert f"{row['entropy']:.3f}" in table and "induction" not in table


def test_a_part_that_is_not_there_is_refused(trained):
    outcome = trained.attnlab("heads", str(trained.folder), "--part", "holdout")
    assert outcome.code == 2 and "--part: expected one of train, validation, test" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("task=masked_words", "data.sentences=100", "model.units=8", "model.feed_forward=8"),
        ("task=classify", "model=transformer", "attention=scaled_dot_product", "model.units=8"),
        ("task=answer", "model=transformer", "data.questions=100", "model.units=8"),
        ("task=digits", "model.units=8", "model.layers=1", "model.feed_forward=8"),
    ],
    ids=lambda words: words[0],
)
def test_each_layer_and_head_of_a_transformer_has_a_row(words, learner_of):
    learner = learner_of(*words)
    trained = type("Trained", (), {"task": learner._task, "model": learner.model, "config": None})
    rows = list(heads._rows(trained, "test", 3))
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
