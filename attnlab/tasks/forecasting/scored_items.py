"""Read the test windows of a run, and group them into the items of a statistical test."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.declaration import NoItemTest

_NUMBERS = ("index", "step", "target", "prediction")
_LABELS = ("id", "time")
_POOLED = (
    "rmse",
    "mae",
    "mse",
)  # means over all windows; other metrics of several series are means over series
# Metric -> the statistic of the series that divides an error, and its power.
_DIVISORS = {"mse_z": ("deviation", 2), "mae_z": ("deviation", 1), "mase": ("naive_error", 1)}
_DIEBOLD_MARIANO, _T_TEST = ("Diebold-Mariano", "DM p"), ("t test", "t p")


class ScoredWindows(NamedTuple):
    """The windows of predictions.csv."""

    index: np.ndarray  # (N,) position of each first target in its series
    target: np.ndarray  # (N, horizon)
    prediction: np.ndarray  # (N, horizon)
    labels: np.ndarray | None = None  # (N, 2) id and first time; None: there is one series

    def is_like(self, other: ScoredWindows) -> bool:
        """Return whether both have the same targets."""
        if (self.labels is None) != (other.labels is None):
            return False
        return (
            np.array_equal(self.index, other.index)
            and np.array_equal(self.target, other.target)
            and (self.labels is None or np.array_equal(self.labels, other.labels))
        )


class Items(NamedTuple):
    """How windows are grouped into the items of a test."""

    name: tuple[str, str]  # of the test, and the heading of its p values
    word: str  # the noun for items, in the plural
    overlap: int  # number of consecutive items that share a target
    number: np.ndarray  # (N,) the item of each window, from 0
    factor: np.ndarray  # (N,) factor of its loss

    def losses(self, of_windows: np.ndarray) -> np.ndarray:
        """Return the loss of each item from the loss of each window (N,)."""
        return np.bincount(self.number, weights=of_windows * self.factor)


def items_of(metric: str, run: RunDirectory, windows: ScoredWindows) -> Items:
    """Choose the items of the test of a metric.

    For one series, an item is a window. Several series may be affected by the same events, so an
    item is the mean over the series at one time if all have the same times, else a whole series.

    Raises:
        NoItemTest: the metric of several series is not a mean of their metrics.
        RequestError: metrics.json is missing or damaged.
    """
    horizon = windows.target.shape[1]
    if windows.labels is None:
        number = _ranks(windows.index)
        overlap = _overlapping(windows.index, horizon)
        return Items(_DIEBOLD_MARIANO, "test windows", overlap, number, np.ones(len(number)))
    if metric == "nrmse":
        raise NoItemTest("no test over test items: nrmse of several series is a mean of roots")
    ids, times = windows.labels.T
    names, series, counts = np.unique(ids, return_inverse=True, return_counts=True)
    factor = _factors(metric, run, names)
    place = _places(windows.index, series)
    if _same_times(times, place, counts):
        overlap = _overlapping(windows.index[series == 0], horizon)
        if counts[0] >= overlap + 2:  # else the test is undefined
            shares = factor[series] / np.count_nonzero(factor)
            return Items(_DIEBOLD_MARIANO, "test times", overlap, place, shares)
    sizes = counts.mean() if metric in _POOLED else counts[series]
    return Items(_T_TEST, "series", 1, series, factor[series] / sizes)


def _factors(metric: str, run: RunDirectory, names: np.ndarray) -> np.ndarray:
    """Return the factor of the losses of each series; 0 if the metric leaves the series out."""
    if metric not in _DIVISORS:
        return np.ones(len(names))
    key, power = _DIVISORS[metric]
    known = run.read_metrics().get("series", {})
    sizes = [known.get(name, {}).get(key) for name in names]
    return np.array([1 / size**power if size else 0.0 for size in sizes])


def _places(index: np.ndarray, series: np.ndarray) -> np.ndarray:
    """Return the position in time of each window among the windows of its series."""
    found = np.empty(len(index), np.int64)
    for number in np.unique(series):
        rows = np.flatnonzero(series == number)
        found[rows] = _ranks(index[rows])
    return found


def _ranks(index: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(index), np.int64)
    ranks[np.argsort(index, kind="stable")] = np.arange(len(index))
    return ranks


def _same_times(times: np.ndarray, place: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether the windows at the same position of all series have the same time."""
    if np.ptp(counts):
        return False
    rows = times[np.argsort(place, kind="stable")].reshape(counts[0], len(counts))
    return bool(np.all(rows == rows[:, :1]))


def _overlapping(starts: np.ndarray, horizon: int) -> int:
    """Return how many consecutive windows share a target, the first one included."""
    steps = np.diff(np.unique(starts))
    return max(1, math.ceil(horizon / steps.min())) if len(steps) else horizon


def read_windows(path: Path) -> ScoredWindows:
    """Read the windows of a predictions.csv, without parsing other columns.

    Raises:
        RequestError: the file is missing or damaged.
    """
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header = next(csv.reader([stream.readline()]))
        table, several = _columns(path, header, _NUMBERS, float), "id" in header
        horizon = int(table[:, 1].max())
        labels = _columns(path, header, _LABELS, str)[::horizon] if several else None
        index, _, target, prediction = (column.reshape(-1, horizon) for column in table.T)
    except (OSError, ValueError, StopIteration) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(f"{path}: damaged or missing: {reason}") from error
    return ScoredWindows(index[:, 0], target, prediction, labels)


def _columns(path: Path, header: list[str], names: tuple[str, ...], kind: type) -> np.ndarray:
    """Read some columns of a CSV file, (rows, names)."""
    at = [header.index(name) for name in names]
    form: dict[str, Any] = {"delimiter": ",", "quotechar": '"', "comments": None, "ndmin": 2}
    return np.loadtxt(path, kind, usecols=at, skiprows=1, encoding="utf-8", **form)
