"""Baselines on numbers that can be worked out by hand."""

import numpy as np
import pytest

from attnlab.tasks.forecasting.data import baselines

PAST = np.array([[3.0, 5.0, 7.0], [2.0, 13.0, 11.0]])


def test_persistence_repeats_the_last_number():
    np.testing.assert_array_equal(baselines.persistence(PAST, 2), [[7, 7], [11, 11]])


def test_the_seasonal_naive_goes_one_period_back():
    np.testing.assert_array_equal(baselines.seasonal_naive(PAST, 3), [[3], [2]])
    np.testing.assert_array_equal(
        baselines.seasonal_naive(PAST, 2, horizon=5), [[5, 7, 5, 7, 5], [13, 11, 13, 11, 13]]
    )


def test_a_constant_is_the_same_everywhere():
    np.testing.assert_array_equal(baselines.constant(1.5, 2, 3), np.full((2, 3), 1.5))


def test_the_golden_ratio_is_phi_times_the_last_number():
    np.testing.assert_allclose(baselines.golden_ratio(np.array([[2.0]])), [[1 + 5**0.5]])


def test_the_rule_adds_the_last_two():
    np.testing.assert_array_equal(baselines.sum_of_last_two(PAST), [[12], [24]])


def test_least_squares_finds_an_exact_linear_rule_for_each_step():
    random = np.random.default_rng(13)
    past = random.normal(size=(17, 3))
    targets = np.column_stack([past @ [2.0, 0.0, -1.0] + 5, past @ [0.0, 3.0, 1.0] - 7])
    longer = np.column_stack([np.full(2, 99.0), PAST])
    forecast = baselines.autoregression(past, targets, longer)
    np.testing.assert_allclose(forecast, [[4, 15], [-2, 43]])


def test_it_agrees_with_the_normal_equations():
    random = np.random.default_rng(17)
    past, targets = random.normal(size=(29, 2)), random.normal(size=(29, 1))
    design = np.column_stack([past, np.ones(29)])
    coefficients = np.linalg.solve(design.T @ design, design.T @ targets)
    forecast = baselines.autoregression(past, targets, PAST[:, 1:])
    assert forecast == pytest.approx(np.column_stack([PAST[:, 1:], np.ones(2)]) @ coefficients)
