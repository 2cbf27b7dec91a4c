"""Errors and skill on numbers that can be worked out by hand."""

import numpy as np
import pytest

from attnlab.tasks.forecasting.data.measures import Yardstick, errors
from attnlab.tasks.forecasting.data.windows import Windows
from attnlab.tasks.forecasting.report import build_report, skill

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


def test_skill_is_one_for_perfect_zero_for_equal_and_negative_for_worse():
    assert [skill(rmse, 2.0, TARGET) for rmse in (0.0, 2.0, 5.0)] == [1.0, 0.0, -1.5]


def test_there_is_no_skill_against_a_baseline_that_is_right_but_for_rounding():
    """It was thousands below zero, and said nothing."""
    rounding = float(np.finfo(np.float32).eps * np.ptp(TARGET))
    assert skill(1.0, rounding, TARGET) is None
    assert skill(1.0, 2 * rounding, TARGET) == pytest.approx(1 - 1 / (2 * rounding))
    assert skill(1.0, 0.0, np.zeros((3, 1))) is None


def test_of_many_windows_the_table_has_some_and_scores_are_of_all(monkeypatch):
    monkeypatch.setattr("attnlab.tasks.forecasting.report._MOST_ROWS", 8)
    target = np.arange(20.0).reshape(10, 2)  # three times as many as fit
    forecast = target + np.arange(10.0)[:, None]
    report = build_report(
        Windows(None, None, np.arange(10), target, np.full((10, 2), "t")),
        forecast,
        {"near": target - 1},
        oracles=(),
        units="metres",
        yardsticks={"": Yardstick(1.0, 1.0)},
        notes=[],
    )
    assert report.metrics["mae"] == np.arange(10.0).mean()
    assert report.predictions["index"].tolist() == [0, 1, 3, 4, 6, 7, 9, 10]
    assert report.predictions["prediction"].tolist() == forecast[::3].reshape(-1).tolist()
    assert "predictions.csv has a window in 3; scores are of all 10 test windows." in report.notes


def test_the_best_baseline_is_no_oracle():
    report = build_report(
        Windows(None, None, np.array([3, 4, 5]), TARGET, np.array([["a"], ["b"], ["c"]])),
        TARGET + 1,
        {"far": TARGET + 4, "near": TARGET - 2, "rule": TARGET},
        oracles=("rule",),
        units="metres",
        yardsticks={"": Yardstick(1.0, 1.0)},
        notes=["one"],
    )
    assert (report.best_baseline, report.skill) == ("near", 0.5)
    assert report.skills["far"] == 0.75 and report.skills["rule"] is None
    assert list(report.predictions) == [
        "index", "time", "step", "target", "prediction", "far", "near", "rule"
    ]  # fmt: skip
    assert report.predictions["far"].tolist() == [5, 6, 9]
    assert report.predictions["index"].tolist() == [3, 4, 5]
