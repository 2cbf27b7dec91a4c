"""Compare groups of forecasts by the Diebold-Mariano test over test windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.measures import percentages
from attnlab.tasks.kinds import ItemTest, NoItemTest, Pairs

_ROUNDING = 1e-12  # relative to the largest loss: smaller variations of differences are rounding
_POOLED = ("rmse", "mae", "mse")  # means over all windows; others are means over series
# Metric -> the statistic of the series that divides an error, and its power.
_DIVISORS = {"mse_z": ("deviation", 2), "mae_z": ("deviation", 1), "mase": ("naive_error", 1)}


class DieboldMariano(NamedTuple):
    """The statistic, above 0 if the first losses are larger, and its two-sided p value."""

    statistic: float
    p: float


def diebold_mariano(
    losses: ArrayLike, reference: ArrayLike, horizon: int = 1
) -> DieboldMariano | None:
    """Diebold and Mariano's test with the correction of Harvey, Leybourne and Newbold 1997.

    The variance of the mean difference counts autocovariances up to lag `horizon` - 1; the
    statistic is scaled by sqrt((n + 1 - 2h + h (h - 1) / n) / n) and compared with t(n - 1).

    Both losses are (n,) in order of time; a forecast looks `horizon` steps ahead. None: the test is
    undefined, because there are fewer than `horizon` + 2 losses, differences vary only by rounding,
    or the estimated variance is 0 or less.
    """
    from scipy.special import stdtr

    difference = np.subtract(losses, reference)
    n = len(difference)
    if n < horizon + 2 or np.ptp(difference) <= _ROUNDING * np.max(
        np.abs(np.stack([losses, reference]))
    ):
        return None
    difference = difference / np.max(np.abs(difference))  # whose squares float64 can hold
    centred = difference - difference.mean()
    covariances = [float(centred[lag:] @ centred[: n - lag]) / n for lag in range(horizon)]
    variance = (covariances[0] + 2 * sum(covariances[1:])) / n
    correction = (n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n
    if variance <= 0 or correction <= 0:
        return None
    statistic = float(difference.mean()) / math.sqrt(variance) * math.sqrt(correction)
    return DieboldMariano(statistic, float(2 * stdtr(n - 1, -abs(statistic))))


def item_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Compare the errors of groups of forecasts with a reference; see `ItemTester`.

    For one series, an item is a window. Several series may be affected by the same events, so an
    item is the mean over the series at one time if all have the same times, else a whole series.
    Losses are averaged over the runs of a group first, so each item counts once. The test is fast,
    so `always` is ignored.

    Raises:
        NoItemTest: the windows differ, or the metric of several series isn't a mean over windows.
        RequestError: a predictions.csv is missing or damaged.
    """
    runs = {run.path: run for group, reference in pairs for run in (*reference, *group)}
    losses: dict[Path, np.ndarray] = {}
    first: Mapping[str, np.ndarray] = {}
    for path, run in runs.items():
        windows, errors = _read_losses(metric, run)
        if not first:
            first, items = windows, _items_of(metric, run, windows)
        if windows.keys() != first.keys() or not all(
            np.array_equal(windows[name], first[name]) for name in first
        ):
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
        losses[path] = np.bincount(items.number, weights=errors * items.factor)
    tests: list[ItemTest | None] = []
    for pair in pairs:
        one, base = (np.mean([losses[run.path] for run in side], axis=0) for side in pair)
        method = f"{items.test} over {len(one)} {items.noun}"
        result = diebold_mariano(one, base, items.overlap)
        tests.append(result and ItemTest(items.test, method, len(one), result.p, result.statistic))
    return tests


class _Items(NamedTuple):
    """How windows are grouped into items."""

    test: str
    noun: str  # for items, in the plural
    overlap: int  # number of consecutive items that share a target
    number: np.ndarray  # (N,) the item of each window, from 0
    factor: np.ndarray  # (N,) of its loss


def _items_of(metric: str, run: RunDirectory, windows: Mapping[str, np.ndarray]) -> _Items:
    index, horizon = windows["index"], windows["target"].shape[1]
    ids = windows.get("id", np.zeros(len(index)))
    names, series, counts = np.unique(ids, return_inverse=True, return_counts=True)
    gaps = np.diff(np.unique(index[series == 0]))
    overlap = max(1, math.ceil(horizon / gaps.min())) if len(gaps) else horizon
    if "id" not in windows:
        number = np.argsort(np.argsort(index, kind="stable"))
        return _Items("Diebold-Mariano", "test windows", overlap, number, np.ones(len(index)))
    if metric == "nrmse":
        raise NoItemTest("no test over test items: nrmse of several series is a mean of roots")
    factors = np.ones(len(names))
    if metric in _DIVISORS:  # 0: the metric leaves the series out
        key, power = _DIVISORS[metric]
        scores = run.read_metrics().get("series", {})
        divisors = [scores.get(name, {}).get(key) for name in names]
        factors = np.array([1 / size**power if size else 0.0 for size in divisors])
    in_time = np.lexsort((index, series))  # of each series in turn
    if not np.ptp(counts) and counts[0] >= overlap + 2:  # else the test is undefined
        times = windows["time"][in_time].reshape(len(names), -1)
        if np.all(times == times[:1]):
            number = np.empty(len(index), np.int64)
            number[in_time] = np.tile(np.arange(counts[0]), len(names))
            shares = factors[series] / np.count_nonzero(factors)
            return _Items("Diebold-Mariano", "test times", overlap, number, shares)
    sizes = counts.mean() if metric in _POOLED else counts[series]
    return _Items("t test", "series", 1, series, factors[series] / sizes)


def _read_losses(metric: str, run: RunDirectory) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return what identifies the windows of predictions.csv, and the loss of each, (N,)."""
    columns = run.read_predictions(KIND.scoring.text_columns)
    try:
        horizon = int(columns["step"].max())
        target, forecast = (columns[name].reshape(-1, horizon) for name in ("target", "prediction"))
        windows = {"index": columns["index"][::horizon], "target": target}
        windows |= {name: columns[name][::horizon] for name in ("id", "time") if "id" in columns}
    except (KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{run.path / 'predictions.csv'}: damaged: {error}") from error
    if metric == "smape":
        return windows, percentages(target, forecast).mean(axis=1)
    losses = np.abs(forecast - target)
    return windows, (losses if metric in ("mae", "mae_z", "mase") else losses**2).mean(axis=1)
