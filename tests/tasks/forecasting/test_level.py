"""Series far above 0, tiny and huge ones: only the shape of a series matters."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from attnlab.tasks.forecasting.series import Series
from attnlab.tasks.forecasting.time_series import Scaler, level_of

LEVEL = 2.0**40  # to which multiples of 1 / 4096 are added exactly
DRAW = np.random.default_rng(7)
STEPS = np.round(1024 * (np.cumsum(DRAW.normal(size=211)) + 40 * np.sin(np.arange(211) / 3)))
WALK = STEPS / 1024


@pytest.fixture
def task_of(tmp_path):
    def load(values, **settings):
        path = tmp_path / "level.csv"
        days = [datetime.date(2021, 1, 1) + datetime.timedelta(n) for n in range(len(values))]
        rows = [f"{day},{value!r}" for day, value in zip(days, map(float, values), strict=True)]
        path.write_text("\n".join(["day,level", *rows]))
        task = Series(path=str(path), history=7, **settings)
        task.load()
        return task

    return load


def reported(task):
    """The report of a forecast that misses each target a little."""
    windows = task.splits.parts["test"]
    misses = np.sin(np.arange(windows.target.size)).reshape(windows.target.shape) / 50
    return task.report(windows.target.astype(np.float64) + misses, "test", ENDS)


ENDS = np.array([[-0.5], [0.25]])


@pytest.mark.parametrize(
    ("scaler", "walk", "level"), [("standard", WALK, LEVEL), ("minmax", WALK + 200, -LEVEL)]
)
def test_a_level_changes_nothing_but_the_level(task_of, scaler, walk, level):
    low, high = (task_of(values, scaler=scaler) for values in (walk, walk + level))
    for part, windows in low.splits.parts.items():
        other = high.splits.parts[part]
        np.testing.assert_allclose(windows.history, other.history, rtol=0, atol=1e-7)
        np.testing.assert_allclose(windows.target, other.target, rtol=0, atol=1e-7)
    expected, result = reported(low), reported(high)
    assert result.best_baseline == expected.best_baseline
    assert [note.replace(",", "") for note in result.notes] == expected.notes
    every = {"": expected.metrics, **expected.baselines}
    for name, scores in {"": result.metrics, **result.baselines}.items():
        for metric in scores.keys() - {"smape"}:  # which is relative to the level
            assert scores[metric] == pytest.approx(every[name][metric], rel=1e-4, abs=1e-7), metric
    assert result.skills == pytest.approx(expected.skills, rel=1e-4)
    for column in ("target", "prediction", "low", "high", *expected.baselines):
        shifted = result.predictions[column] - level
        spread = np.ptp(walk)
        np.testing.assert_allclose(shifted, expected.predictions[column], atol=1e-5 * spread)


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_the_unit_of_a_series_changes_no_relative_score(task_of, factor):
    expected, result = reported(task_of(WALK)), reported(task_of(WALK * factor))
    assert result.skills == pytest.approx(expected.skills, rel=1e-9)
    for name in ("nrmse", "mse_z", "mae_z", "mase", "smape"):
        assert result.metrics[name] == pytest.approx(expected.metrics[name], rel=1e-9)
    assert result.metrics["rmse"] == pytest.approx(factor * expected.metrics["rmse"], rel=1e-9)
    assert result.notes == expected.notes


def test_a_level_is_subtracted_only_if_nothing_is_lost():
    assert level_of(np.array([3.0, 2.0, 4.0])) == 3.0
    assert level_of(np.array([-3.0, -2.0, -4.0])) == -3.0
    for values in ([3.0, 1.0], [-1.0, 1.0], [0.0, 0.0]):
        assert level_of(np.array(values)) == 0.0
    scaler = Scaler.fit(LEVEL + WALK, "standard")
    assert scaler.offset == pytest.approx(np.mean(WALK - WALK[0]), rel=1e-12)
