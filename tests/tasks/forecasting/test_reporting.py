"""Errors and skill, compared with numbers computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab.tasks.forecasting.measures import Yardstick, errors
from attnlab.tasks.forecasting.task import ForecastingTask
from attnlab.tasks.forecasting.time_series import Scaler, Windows

TARGET = np.array([[1.0], [2.0], [5.0]])


def test_errors_by_hand():
    forecast = TARGET + [[1.0], [-1.0], [4.0]]
    result = errors(TARGET, forecast, Yardstick(2.0, 0.5, full_range=8.0))
    assert result == {
        "rmse": 6**0.5,
        "mae": 2.0,
        "mse": 6.0,
        "nrmse": 6**0.5 / 8,
        "mse_z": pytest.approx(6 / 4),
        "mae_z": 1.0,
        "mase": 4.0,
        "smape": pytest.approx(200 * (1 / 3 + 1 / 3 + 4 / 14) / 3),
    }
    assert "nrmse" not in errors(TARGET, TARGET, Yardstick(2.0, 0.5))


def report_of(target, forecast, baselines, ids=None, oracles=(), ends=None):
    """The report of a forecast of targets (N, horizon)."""
    times = np.full(target.shape, "a")
    windows = Windows(None, None, np.arange(len(target)), target, times, ids)
    task = SimpleNamespace(
        splits=SimpleNamespace(parts={"test": windows}),
        units="metres",
        oracles=oracles,
        report_units=lambda values, windows: values,
        report_scaler=lambda windows: Scaler("none", 0.0, 0.0, 1.0),
        baselines=lambda part: baselines,
        yardsticks=lambda: dict.fromkeys(windows.by_series(), Yardstick(1.0, 1.0)),
        notes=lambda part: [],
    )
    return ForecastingTask.report(task, forecast, "test", ends)


def skills(target, ids=None, forecast=1.0, **errors_of):
    """Skills of a forecast against baselines with the given errors on targets (N, 1)."""
    target = np.asarray(target, float).reshape(-1, 1)
    ids = None if ids is None else np.array(ids, dtype=object)
    baselines = {name: target + np.reshape(error, (-1, 1)) for name, error in errors_of.items()}
    return report_of(target, target + forecast, baselines, ids).skills


@pytest.mark.parametrize(("error", "expected"), [(0.0, 1.0), (2.0, 0.0), (5.0, -1.5)])
def test_skill_is_one_for_perfect_zero_for_equal_and_negative_for_worse(error, expected):
    assert skills(TARGET, forecast=error, other=2.0) == {"other": expected}


def test_there_is_no_skill_against_a_baseline_without_error():
    """Fixed: it was thousands below zero, without meaning."""
    rounding = float(np.finfo(np.float32).eps * np.ptp(TARGET))
    outcome = skills(TARGET, right=rounding / 2, wrong=2 * rounding)
    assert outcome["right"] is None and outcome["wrong"] < -1e6
    assert skills(np.zeros(3), right=0.0) == {"right": None}


def test_rounding_is_judged_by_the_spread_of_each_series_not_by_its_level():
    """Fixed: a linear baseline with an error of 0.31 at 1e12 + 100 counted as one without error."""
    far, near = 1e12 + 100 * np.sin(np.arange(8.0)), np.sin(np.arange(8.0))
    assert skills(far, wrong=0.31)["wrong"] is not None
    assert skills(far, right=1e-5)["right"] is None  # of 1e12 float64 has no more digits
    assert skills(near * 1e-9, wrong=1e-13)["wrong"] is not None
    both, ids = np.concatenate([far, near]), ["far"] * 8 + ["near"] * 8
    errors = np.repeat([1e-5, 0.01], 8)
    outcome = skills(both, ids, wrong=errors, right=errors * np.repeat([1, 1e-8], 8))
    assert outcome["right"] is None and outcome["wrong"] is not None


def test_the_table_has_some_of_many_windows_and_scores_use_all(monkeypatch):
    monkeypatch.setattr("attnlab.tasks.forecasting.task._MOST_ROWS", 8)
    target = np.arange(20.0).reshape(10, 2)  # three times as many as fit
    forecast = target + np.arange(10.0)[:, None]
    report = report_of(target, forecast, {"near": target - 1})
    assert report.metrics["mae"] == np.arange(10.0).mean()
    assert report.predictions["index"].tolist() == [0, 1, 3, 4, 6, 7, 9, 10]
    assert report.predictions["prediction"].tolist() == forecast[::3].reshape(-1).tolist()
    assert "predictions.csv has one window in 3; scores are of all 10 windows." in report.notes


def test_the_best_baseline_is_never_an_oracle():
    baselines = {"far": TARGET + 4, "near": TARGET - 2, "rule": TARGET}
    report = report_of(TARGET, TARGET + 1, baselines, oracles=("rule",))
    assert (report.best_baseline, report.skill) == ("near", 0.5)
    assert report.skills["far"] == 0.75 and report.skills["rule"] is None
    assert list(report.predictions) == [
        "index", "time", "step", "target", "prediction", "far", "near", "rule"
    ]  # fmt: skip
    assert report.predictions["far"].tolist() == [5, 6, 9]
    assert report.predictions["index"].tolist() == [0, 1, 2]


def test_a_report_has_the_interval_and_its_coverage():
    target = np.array([[1.0, 2.0], [2.0, 9.0], [5.0, 5.0]])
    forecast = target - [[0, 0], [0, 7], [1, 0]]
    ends = np.array([[-1.0, -2.0, np.nan], [0.5, 3.0, np.nan]])
    report = report_of(target, forecast, {"far": target + 4}, ends=ends)
    assert list(report.predictions)[4:] == ["prediction", "low", "high", "far"]
    assert report.predictions["low"].tolist() == [0, 0, 1, 0, 3, 3]
    outcome = report.details["interval"]
    assert outcome["coverage"] == pytest.approx(4 / 6)
    assert outcome["coverage_by_step"] == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("horizon", "scored"),
    [(1, "one step ahead on 12 values"), (2, "1 to 2 steps ahead on 6 windows of 2 values")],
)
def test_a_report_says_how_far_ahead_and_on_what(horizon, scored):
    target = np.arange(12.0).reshape(-1, horizon)
    assert report_of(target, target, {"zero": 0 * target}).details["scored"] == scored
