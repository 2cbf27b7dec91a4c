"""Measures and baselines of classifiers, their report, and the paired test over test items."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from compared_runs import only
from labelled import CLASSES, answers, labelled, part, some_texts, write_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.classification import baselines as baselines_module
from attnlab.tasks.classification.baselines import baselines
from attnlab.tasks.classification.image_corpora import Digits
from attnlab.tasks.classification.images import Images
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import build_report, item_test, measures
from attnlab.tasks.kinds import NoItemTest

TRAIN, TEST = some_texts(60), some_texts(40, seed=1, grouped=True)
DATA = labelled(TRAIN, TEST)
PROBABILITIES = answers(TEST.labels, 0.6)
BASELINES = ("majority", "word_counts")


# Measures


def test_measures_equal_numbers_computed_by_hand():
    labels = np.array([0, 1, 1, 2])
    probabilities = np.array([[0.5, 0.5, 0], [0.2, 0.6, 0.2], [0.7, 0.1, 0.2], [0.25, 0.25, 0.5]])
    result = measures(labels, probabilities)
    assert result["accuracy"] == 0.75  # of equal ones the first is the prediction
    assert result["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    logarithms = [math.log(p) for p in (0.5, 0.6, 0.1, 0.5)]
    assert result["log_loss"] == pytest.approx(-sum(logarithms) / 4, rel=1e-6)


def test_a_probability_of_zero_costs_no_more_than_the_precision_of_float32():
    certain = np.array([[0.0, 1.0]])
    result = measures(np.array([0]), certain)["log_loss"]
    assert result == pytest.approx(23 * math.log(2), rel=1e-6)
    assert measures(np.array([1]), certain)["log_loss"] == pytest.approx(0, abs=1e-6)


def test_measures_that_are_not_finite_are_null():
    result = build_report(DATA, "test", np.full((40, 3), np.nan))
    assert result.metrics["log_loss"] is None and result.metrics["accuracy"] is not None
    json.dumps(result.scores(), allow_nan=False)


# Baselines


def test_the_majority_predicts_the_shares_of_train():
    train = part(["a", "b", "c", "d"], [1, 1, 1, 0])
    result = baselines(labelled(train, part(["a", "b"], [0, 0])), "test")["majority"]
    assert result.tolist() == [[0.25, 0.75, 0]] * 2


def test_word_counts_are_scikit_learns_pipeline():
    """On words that both split alike."""
    train, test = some_texts(80), some_texts(30, seed=1)
    vectorizer = TfidfVectorizer(tokenizer=str.split, token_pattern=None)
    model = LogisticRegression(max_iter=5000, tol=1e-8)
    model.fit(vectorizer.fit_transform(train.names), train.labels)
    expected = model.predict_proba(vectorizer.transform(test.names))
    result = baselines(labelled(train, test), "test")["word_counts"]
    assert result == pytest.approx(expected, abs=1e-2)
    assert np.array_equal(result.argmax(axis=1), expected.argmax(axis=1))


def test_words_of_any_script_count_in_lower_case_if_the_model_reads_them_so():
    train, test = (
        part(["CCO", "cco", "猫 b"] * 3, [0, 1, 2] * 3),
        part(["cco", "CCO", "猫"], [1, 0, 2]),
    )
    for lowercase, right in ((True, 2), (False, 3)):
        result = baselines(labelled(train, test, lowercase=lowercase), "test")["word_counts"]
        assert (result.argmax(axis=1) == test.labels).sum() == right


def test_pixels_have_scikit_learns_regression_and_many_images_a_sample(monkeypatch):
    data = Images(corpus=Digits(limit=200), cache=Path("nowhere")).load(0)
    train, test = data.parts["train"], data.parts["test"]
    flat = [rows.inputs.reshape(len(rows), -1) / 255 for rows in (train, test)]
    fitted = LogisticRegression(max_iter=200, tol=1e-3).fit(flat[0], train.labels)
    result = baselines(data, "test")["logistic_regression"]
    np.testing.assert_allclose(result, fitted.predict_proba(flat[1]), atol=2e-3)
    monkeypatch.setattr(baselines_module, "MOST_IMAGES", 50)
    data = Images(corpus=Digits(limit=200), cache=Path("nowhere")).load(0)
    assert data.notes[-1] == f"The fitted baseline got 50 of the {len(train)} training items."
    assert not np.allclose(baselines(data, "test")["logistic_regression"], result)


# Report


def test_metrics_are_those_of_the_kind_and_of_each_baseline():
    result = build_report(DATA, "test", PROBABILITIES)
    names = [metric.name for metric in KIND.scoring.metrics if metric.in_tables]
    assert result.metric == KIND.scoring.reported
    assert result.metrics == measures(TEST.labels, PROBABILITIES) and list(result.metrics) == names
    assert tuple(result.baselines) == BASELINES
    assert all(list(item) == names for item in result.baselines.values())
    json.dumps(result.scores(), allow_nan=False)


def test_the_skill_is_the_avoided_share_of_the_best_baselines_errors():
    train = part(["a", "a", "b", "b", "b"], [0, 0, 1, 1, 1])
    test = part(["a", "a", "a", "b", "b", "b", "b", "b"], [0, 0, 1, 1, 1, 1, 1, 0])
    right = test.labels.copy()
    right[0] = 1  # one wrong of eight; words have two wrong, the majority three
    result = build_report(labelled(train, test, ("no", "yes")), "test", np.eye(2)[right])
    assert result.best_baseline == "word_counts"
    assert result.skill == result.skills["word_counts"] == pytest.approx(1 - 1 / 2)
    assert result.skills["majority"] == pytest.approx(1 - 1 / 3)


def test_each_text_has_a_row_with_all_predictions(tmp_path):
    result = build_report(DATA, "test", PROBABILITIES).predictions
    names = ["index", "text", "label", "prediction", "probability", "likelihood", "group"]
    assert list(result) == [*names, *(f"p_{name}" for name in CLASSES), *BASELINES]
    assert {n for n in result if result[n].dtype.kind in "OU"} <= {*KIND.scoring.text_columns}
    run = RunDirectory(tmp_path)
    run.write_predictions(result)
    table = run.read_predictions(KIND.scoring.text_columns)
    predicted = PROBABILITIES.argmax(axis=1)
    assert table["prediction"].tolist() == [CLASSES[number] for number in predicted]
    assert table["label"].tolist() == [CLASSES[number] for number in TEST.labels]
    assert table["p_good"] == pytest.approx(PROBABILITIES[:, 1], abs=1e-6)
    assert table["group"].tolist() == TEST.groups


def test_details_have_the_confusion_and_the_groups():
    result = build_report(DATA, "test", PROBABILITIES)
    confusion = result.details["confusion"]
    assert confusion["classes"] == list(CLASSES)
    matrix = np.array(confusion["counts"])
    assert matrix.sum(axis=1).tolist() == np.bincount(TEST.labels).tolist()
    assert matrix.trace() / 40 == result.metrics["accuracy"]
    groups = result.details["groups"].values()
    right = sum(item["n"] * item["accuracy"] for item in groups)
    assert right / 40 == pytest.approx(result.metrics["accuracy"])


# The paired test over test items


def run_with(runs, attention, wrong, seed=0, data=DATA):
    """Write a run with wrong predictions for these texts, and right ones for all others."""
    said = data.parts["test"].labels.copy()
    said[list(wrong)] = (said[list(wrong)] + 1) % 3
    return write_classifier(runs, attention, np.eye(3)[said], data, seed=seed)


def test_seeds_dont_count_as_further_texts(tmp_path):
    wrong_base, wrong_own = [[0, 1, 2, 3], [0, 1, 2]], [[0], [3]]
    base = [run_with(tmp_path, "none", item, seed) for seed, item in enumerate(wrong_base)]
    pooling = [run_with(tmp_path, "pooling", item, seed) for seed, item in enumerate(wrong_own)]
    (result,) = item_test("accuracy", [(pooling, base)], False)
    # Over two seeds the group loses text 0 less often by 1/2, 1 and 2 by 1, and 3 as often.
    assert result.p == 0.25 and result.statistic == pytest.approx(-2.5 / 40)
    (twice,) = item_test("accuracy", [(pooling * 2, base * 2)], False)
    assert twice.p == result.p


def test_other_texts_and_damaged_files_are_not_tested(tmp_path):
    base = run_with(tmp_path, "none", [0])
    data = labelled(TRAIN, some_texts(30, seed=2))
    other = run_with(tmp_path, "pooling", [0], data=data)
    with pytest.raises(NoItemTest, match=f"{other.name} has other test items than the others"):
        item_test("accuracy", [([other], [base])], False)
    (other.path / "predictions.csv").write_text("index,text,label\n")
    assert any("damaged: it has no column 'prediction'" in text for text in only(tmp_path).notes)
