"""Baselines, compared with numbers computed by hand."""

import numpy as np
from sklearn.linear_model import Ridge

from attnlab.tasks.forecasting import measures

PAST = np.array([[3.0, 5.0, 7.0], [2.0, 13.0, 11.0]])


def test_least_squares_finds_an_exact_linear_rule_for_each_step():
    random = np.random.default_rng(13)
    past = random.normal(size=(17, 3))
    targets = np.column_stack([past @ [2.0, 0.0, -1.0] + 5, past @ [0.0, 3.0, 1.0] - 7])
    longer = np.column_stack([np.full(2, 99.0), PAST])
    forecast = measures.autoregression(past, targets, longer)
    np.testing.assert_allclose(forecast, [[4, 15], [-2, 43]])


WALK = np.random.default_rng(23).normal(size=(61, 8)).cumsum(axis=1)


def differences(windows):
    return windows[:, :5] - windows[:, 4:5]


def test_nlinear_without_a_ridge_is_least_squares_on_windows_minus_their_newest_number():
    windows, targets = WALK[:, :5], WALK[:, 5:]
    design = np.column_stack([differences(WALK)[:, :4], np.ones(61)])
    solution = np.linalg.lstsq(design, targets - windows[:, 4:], rcond=None)[0]
    expected = windows[:, 4:] + design @ solution
    np.testing.assert_allclose(measures.nlinear(windows, targets, windows), expected)
    longer = np.column_stack([np.full(61, 99.0), windows])
    np.testing.assert_allclose(measures.nlinear(windows, targets, longer), expected)


def test_nlinears_ridge_is_scikit_learns_with_the_best_strength():
    fitted, held = WALK[:31], WALK[31:]
    steps = differences(fitted)[:, :4]
    unit = np.sum((steps - steps.mean(axis=0)) ** 2) / 4
    result = {}
    for power in range(-6, 1):
        model = Ridge(alpha=10.0**power * unit).fit(steps, fitted[:, 5:] - fitted[:, 4:5])
        forecast = held[:, 4:5] + model.predict(differences(held)[:, :4])
        result[power] = np.mean((held[:, 5:] - forecast) ** 2), forecast
    best = min(result, key=lambda power: result[power][0])
    assert -6 < best
    parts = (fitted[:, :5], fitted[:, 5:], held[:, :5], (held[:, :5], held[:, 5:]))
    np.testing.assert_allclose(measures.nlinear(*parts), result[best][1])


def test_nlinear_continues_a_trend_at_any_level():
    rows = np.arange(9.0)[:, None] + np.arange(7.0)
    forecast = measures.nlinear(rows[:, :4], rows[:, 4:], 1000 + rows[:2, :4])
    np.testing.assert_allclose(forecast, 1000 + rows[:2, 4:])
    alone = measures.nlinear(rows[:, :1], rows[:, :1] + 2, rows[:3, :1])
    np.testing.assert_allclose(alone, rows[:3, :1] + 2)
    flat = measures.nlinear(np.ones((9, 3)), np.ones((9, 2)), PAST)
    np.testing.assert_array_equal(flat, [[7, 7], [11, 11]])
