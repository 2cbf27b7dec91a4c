"""The report on a classifier, and the table of its predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from labelled import CLASSES, answers, labelled, part, some_texts

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.classification import baselines, data, report
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.measures import scores
from attnlab.tasks.classification.report import build_report
from attnlab.tasks.classification.shown.figures import _result

TRAIN, TEST = some_texts(60), some_texts(40, seed=1, grouped=True)
DATA = labelled(TRAIN, TEST)
PROBABILITIES = answers(TEST.labels, 0.6)
BASELINES = ("majority", "word_counts", "nearest")


def test_metrics_are_those_of_the_kind_and_of_each_baseline():
    found = build_report(DATA, "test", PROBABILITIES)
    names = [metric.name for metric in KIND.scoring.metrics if metric.in_tables]
    assert found.metric == KIND.scoring.reported
    assert found.metrics == scores(TEST.labels, PROBABILITIES) and list(found.metrics) == names
    assert tuple(found.baselines) == BASELINES
    assert all(list(each) == names for each in found.baselines.values())
    assert found.brief()["test"] == found.metrics
    json.dumps(found.scores(), allow_nan=False)


def test_the_skill_is_the_avoided_share_of_the_best_baselines_errors():
    train = part(["a", "a", "b", "b", "b"], [0, 0, 1, 1, 1])
    test = part(["a", "a", "a", "b", "b", "b", "b", "b"], [0, 0, 1, 1, 1, 1, 1, 0])
    data = labelled(train, test, ("no", "yes"))
    right = test.labels.copy()
    right[0] = 1  # one wrong of eight; words have two wrong, the majority three
    found = build_report(data, "test", np.eye(2)[right])
    assert found.best_baseline == "nearest"
    assert found.skill == found.skills["nearest"] == pytest.approx(1 - 1 / 2)
    assert found.skills["majority"] == pytest.approx(1 - 1 / 3)


def test_there_is_no_skill_against_a_baseline_that_is_always_right():
    data = labelled(part(["a", "b"], [0, 1]), part(["b", "a"], [1, 0]), ("no", "yes"))
    found = build_report(data, "test", np.full((2, 2), 0.5))
    assert found.skill is None and found.skills["majority"] == 0


def test_each_text_has_a_row_with_all_predictions(tmp_path):
    found = build_report(DATA, "test", PROBABILITIES).predictions
    names = ["index", "text", "label", "prediction", "probability", "group"]
    assert list(found) == [*names, *(f"p_{name}" for name in CLASSES), *BASELINES]
    assert {n for n in found if found[n].dtype.kind in "OU"} <= {*KIND.scoring.text_columns}
    run = RunDirectory(tmp_path)
    run.write_predictions(found)
    table = run.read_predictions(KIND.scoring.text_columns)
    predicted = PROBABILITIES.argmax(axis=1)
    assert table["prediction"].tolist() == [CLASSES[number] for number in predicted]
    assert table["label"].tolist() == [CLASSES[number] for number in TEST.labels]
    assert table["probability"] == pytest.approx(PROBABILITIES.max(axis=1), abs=1e-6)
    assert table["p_good"] == pytest.approx(PROBABILITIES[:, 1], abs=1e-6)
    assert table["group"].tolist() == TEST.groups


def test_texts_of_any_kind_and_classes_that_are_numbers_are_read_again(tmp_path):
    texts = ['two\nlines, "quoted"\r and\x85more', "3.14", "word " * 5000]
    data = labelled(part(["a", "b"], [0, 1]), part(texts, [0, 1, 0]), ("01", "2"))
    run = RunDirectory(tmp_path)
    run.write_predictions(build_report(data, "test", np.eye(2)[[0, 1, 1]]).predictions)
    table = run.read_predictions(KIND.scoring.text_columns)
    assert table["label"].tolist() == ["01", "2", "01"]
    assert table["prediction"].tolist() == ["01", "2", "2"]
    assert table["majority"].tolist() == ["01"] * 3
    assert table["text"][:2].tolist() == ['two lines, "quoted" and more', "3.14"]
    assert len(table["text"][2]) == 1000 and table["text"][2].endswith("…")


def test_many_classes_have_no_column_each():
    classes = [f"class {number}" for number in range(21)]
    data = labelled(part(["a", "b"], [0, 20]), part(["a"], [3]), classes)
    found = build_report(data, "test", np.full((1, 21), 1 / 21)).predictions
    assert not [name for name in found if name.startswith("p_")]
    assert found["label"].tolist() == ["class 3"]


def test_details_have_the_confusion_and_the_groups_of_the_texts():
    found = build_report(DATA, "test", PROBABILITIES)
    confusion = found.details["confusion"]
    assert confusion["classes"] == list(CLASSES)
    matrix = np.array(confusion["counts"])
    assert matrix.sum(axis=1).tolist() == np.bincount(TEST.labels).tolist()
    assert matrix.trace() / 40 == found.metrics["accuracy"]
    groups = found.details["groups"]
    assert {name: each["n"] for name, each in groups.items()} == {
        name: TEST.groups.count(name) for name in sorted(set(TEST.groups))
    }
    right = sum(each["n"] * each["accuracy"] for each in groups.values())
    assert right / 40 == pytest.approx(found.metrics["accuracy"])
    assert (
        "groups"
        not in build_report(labelled(TRAIN, some_texts(9)), "test", PROBABILITIES[:9]).details
    )


def test_groups_are_in_natural_order():
    names = ["10 nouns", "2 nouns", "1 noun", "other"]
    assert list(report.by_group(names, np.ones(4))) == ["1 noun", "2 nouns", "10 nouns", "other"]


def test_cut_texts_and_sampled_training_texts_are_noted(monkeypatch):
    (classes,) = build_report(DATA, "test", PROBABILITIES).notes
    assert classes.startswith("3 classes, with the numbers of texts in train")
    for module in (baselines, data):
        monkeypatch.setattr(module, "MOST_TEXTS", 30)
    notes = build_report(labelled(TRAIN, TEST, cut=7), "test", PROBABILITIES).notes
    assert len(notes) == 3
    assert "7 of the 100 texts was cut off" in notes[1]
    assert "got 30 of the 60 training texts" in notes[2]


def test_measures_that_are_not_finite_are_null():
    found = build_report(DATA, "test", np.full((40, 3), np.nan))
    assert found.metrics["log_loss"] is None and found.metrics["accuracy"] is not None
    json.dumps(found.scores(), allow_nan=False)


def test_the_result_is_a_line():
    found = build_report(DATA, "test", PROBABILITIES).scores()
    line = _result({**found, "test": found["metrics"]})
    assert line.startswith(f"test accuracy {found['metrics']['accuracy']:.4g}   macro F1 ")
    assert f"best baseline: {found['best_baseline']} " in line
    assert _result({"test": {"accuracy": 0.5}}) == "test accuracy 0.5"
    assert _result({}) == ""
