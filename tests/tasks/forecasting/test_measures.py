"""Usual forecast errors, compared with their definitions and scikit-learn's scaler."""

import json

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error
from sklearn.preprocessing import StandardScaler

from attnlab.tasks.forecasting.fib import FibRandom
from attnlab.tasks.forecasting.series import Series

WALK = np.random.default_rng(29).normal(0.3, 2, 211).cumsum().round(2)


@pytest.fixture
def series(tmp_path):
    """Make a loaded task of some values."""

    def make(values: np.ndarray, **settings) -> Series:
        path = tmp_path / "values.csv"
        path.write_text("\n".join(["height", *map(str, values)]))
        task = Series(path=str(path), **settings)
        task.load(0)
        return task

    return make


def test_z_scores_are_those_of_scikit_learns_scaler_on_the_train_part(series):
    task = series(WALK, history=5, horizon=3, scaler="minmax", test=0.2, validation=0.15)
    forecast = task.splits.parts["test"].target + np.float32(0.25)
    report = task.report(forecast)
    scaler = StandardScaler().fit(WALK[: 211 - 42 - 32, None])
    target, said = (
        scaler.transform(report.predictions[name][:, None]) for name in ("target", "prediction")
    )
    assert report.metrics["mse_z"] == pytest.approx(mean_squared_error(target, said), rel=1e-9)
    assert report.metrics["mae_z"] == pytest.approx(mean_absolute_error(target, said), rel=1e-9)


@pytest.mark.parametrize("period", [None, 7])
def test_mase_of_the_naive_forecast_on_train_is_1(series, period):
    """Hyndman and Koehler's scaling, section 3, seasonal if there is a season."""
    task = series(WALK, history=period or 1, period=period, validation=0)
    report = task.report(task.splits.parts["train"].target, "train")
    naive = report.baselines["seasonal_naive" if period else "persistence"]
    assert naive["mase"] == pytest.approx(1, rel=1e-12)
    longer = series(WALK, history=period or 1, period=period, horizon=7)
    scores = longer.report(longer.splits.parts["test"].target).baselines["train_mean"]
    before_test = WALK[: 211 - 42]  # before the test part, as in M4
    one_step = np.abs(before_test[period or 1 :] - before_test[: -(period or 1)]).mean()
    assert scores["mase"] == pytest.approx(scores["mae"] / one_step)


def test_windows_without_a_series_are_measured_by_the_train_windows():
    task = FibRandom(train_windows=200, validation_windows=50, test_windows=50)
    task.load(0)
    report = task.report(task.splits.parts["train"].target, "train")
    assert report.baselines["persistence"]["mase"] == pytest.approx(1, rel=1e-6)
    assert report.baselines["train_mean"]["mse_z"] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "period", "undefined"),
    [
        (np.append(np.full(70, 0.1), np.arange(10.0)), None, {"mse_z", "mae_z", "mase"}),
        (np.append(np.full(60, 0.1), np.arange(20.0)), None, {"mse_z", "mae_z"}),
        (np.arange(80) % 4, 4, {"mase"}),
        (np.arange(80), 70, {"mase"}),
    ],
)
def test_measures_undefined_by_the_train_part_are_null(series, values, period, undefined):
    task = series(values, history=5, period=period, test=0.125, validation=0.125)
    assert task.origin().scalers[0].scale > 0.1  # not the deviation of rounding
    report = task.report(task.splits.parts["test"].target)
    for scores in (report.metrics, *report.baselines.values()):
        assert {name for name, value in scores.items() if value is None} == undefined
    json.dumps(report.scores(), allow_nan=False)
