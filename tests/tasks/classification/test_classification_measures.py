"""Measures of classifiers, compared with numbers by hand, a plain loop, and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from attnlab.tasks.classification import measures

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(0, 5, 307)
PROBABILITIES = RANDOM.dirichlet(np.full(5, 0.5), 307)


def test_scores_equal_numbers_computed_by_hand():
    labels = np.array([0, 1, 1, 2])
    probabilities = np.array([[0.5, 0.5, 0], [0.2, 0.6, 0.2], [0.7, 0.1, 0.2], [0.25, 0.25, 0.5]])
    found = measures.scores(labels, probabilities)
    assert found["accuracy"] == 0.75  # of equal ones the first is the prediction
    assert found["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    logarithms = [math.log(p) for p in (0.5, 0.6, 0.1, 0.5)]
    assert found["log_loss"] == pytest.approx(-sum(logarithms) / 4, rel=1e-6)
    squares = [0.5, 0.04 + 0.16 + 0.04, 0.49 + 0.81 + 0.04, 0.0625 * 2 + 0.25]
    assert found["brier"] == pytest.approx(sum(squares) / 4)
    # The two of 0.5 share a bin, the others have one each.
    assert found["calibration_error"] == pytest.approx((2 * 0.5 + 0.4 + 0.7) / 4)


def test_measures_are_those_of_scikit_learn():
    found = measures.scores(LABELS, PROBABILITIES)
    predicted = PROBABILITIES.argmax(axis=1)
    assert found["accuracy"] == sklearn_metrics.accuracy_score(LABELS, predicted)
    assert found["macro_f1"] == sklearn_metrics.f1_score(LABELS, predicted, average="macro")
    expected = sklearn_metrics.log_loss(LABELS, np.maximum(PROBABILITIES, 1e-9))
    assert found["log_loss"] == pytest.approx(expected, rel=1e-2)
    one_hot = np.eye(5)[LABELS]
    parts = [
        sklearn_metrics.mean_squared_error(one_hot[:, c], PROBABILITIES[:, c]) for c in range(5)
    ]
    assert found["brier"] == pytest.approx(sum(parts))


def test_the_calibration_error_is_that_of_a_plain_loop():
    confidence, right = PROBABILITIES.max(axis=1), PROBABILITIES.argmax(axis=1) == LABELS
    total = 0.0
    for number in range(15):
        low, high = number / 15, (number + 1) / 15
        inside = [n for n in range(307) if low < confidence[n] <= high]
        if inside:
            own = sum(right[n] for n in inside) / len(inside)
            said = sum(confidence[n] for n in inside) / len(inside)
            total += len(inside) / 307 * abs(own - said)
    assert measures.calibration_error(confidence, right) == pytest.approx(total)


def test_a_calibrated_model_has_a_small_calibration_error():
    """With confidence 0.7, 7 of 10 texts are right; with confidence 1, all."""
    confidence = np.repeat([0.7, 1.0], 10)
    right = np.concatenate([np.arange(10) < 7, np.ones(10, bool)])
    assert measures.calibration_error(confidence, right) == pytest.approx(0, abs=1e-12)
    assert measures.calibration_error(confidence, ~right) == pytest.approx((0.4 + 1) / 2)


def test_a_border_belongs_to_the_bin_below_it():
    found = measures.calibration_bins(np.array([0.2, 0.20001, 1.0]), np.ones(3), 5)
    assert found.counts.tolist() == [1, 1, 0, 0, 1]
    assert np.isnan(found.accuracy[2])


def test_probabilities_of_zero_cost_no_more_than_the_precision_of_float32():
    certain = np.array([[0.0, 1.0]])
    assert measures.log_loss(np.array([0]), certain) == pytest.approx(23 * math.log(2), rel=1e-6)
    assert measures.log_loss(np.array([1]), certain) == pytest.approx(0, abs=1e-6)
    single = measures.log_loss(LABELS, PROBABILITIES.astype(np.float32))
    assert single == pytest.approx(measures.log_loss(LABELS, PROBABILITIES), rel=1e-6)


def test_nan_and_infinity_appear_in_the_measures():
    broken = PROBABILITIES.copy()
    broken[3] = np.nan
    found = measures.scores(LABELS, broken)
    assert math.isnan(found["log_loss"]) and math.isnan(found["brier"])
    assert 0 <= found["accuracy"] <= 1


def test_absent_classes_are_left_out_of_macro_f1():
    assert measures.macro_f1(np.array([0, 3]), np.array([0, 3])) == 1
    assert measures.macro_f1(np.array([0, 3]), np.array([0, 0])) == pytest.approx(2 / 3 / 2)


def test_the_confusion_matrix_has_a_row_for_each_class():
    found = measures.confusion(np.array([0, 0, 2]), np.array([0, 2, 2]), 4)
    assert found.tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
