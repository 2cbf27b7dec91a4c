"""Diebold and Mariano's test of groups of forecasts, over test windows."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from attnlab.errors import RequestError
from attnlab.tasks.base import ItemTest, NoItemTest, Pairs

_ROUNDING = 1e-12  # of the largest loss: differences that vary by no more are the same


class DieboldMariano(NamedTuple):
    """The statistic, above 0 where the first losses are larger, and its two-sided p value."""

    statistic: float
    p: float


def diebold_mariano(
    losses: ArrayLike, reference: ArrayLike, horizon: int = 1
) -> DieboldMariano | None:
    """Diebold and Mariano's test with the correction of Harvey, Leybourne and Newbold 1997.

    The variance of the mean difference counts autocovariances up to lag `horizon` - 1; the
    statistic is scaled by sqrt((n + 1 - 2h + h (h - 1) / n) / n) and held against t(n - 1).

    Args:
        losses: (n,) of one forecast, in the order of time, for example squared errors.
        reference: (n,) of the other one.
        horizon: How many steps ahead the forecasts are.

    Returns:
        The test; None where it isn't defined: fewer than `horizon` + 2 losses, or differences that
        only rounding sets apart, or whose estimated variance isn't above 0.
    """
    difference = np.subtract(losses, reference)
    n = len(difference)
    if n < horizon + 2 or np.ptp(difference) <= _ROUNDING * np.max(np.abs([losses, reference])):
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


def squared(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Test squared errors of groups of forecasts against a reference: an `ItemTester`.

    It takes no time, so `always` makes no difference.

    Raises:
        NoItemTest: the windows differ.
        RequestError: a predictions.csv is missing or damaged.
    """
    return _tests(pairs, np.square)


def absolute(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """The same of absolute errors."""
    return _tests(pairs, np.abs)


def _tests(pairs: Pairs, loss: Callable[[np.ndarray], np.ndarray]) -> list[ItemTest | None]:
    """A test of each group; None where it isn't defined.

    Losses are averaged over the runs first, so each test window counts once.
    """
    items, horizon = np.empty(0), 1  # index, step and target of each row
    losses: dict[Path, np.ndarray] = {}  # of each window, in the order of time
    # The reference first: what other runs must be like.
    runs = {run.path: run for own, base in pairs for run in (*base, *own)}
    for path, run in runs.items():
        table = _read_forecast(path / "predictions.csv")
        if not losses:
            items, horizon = table[:, :3], int(table[:, 1].max())
        if not np.array_equal(items, table[:, :3]):
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
        each = loss(table[:, 3] - table[:, 2])
        order = np.argsort(items[::horizon, 0], kind="stable")
        losses[path] = each.reshape(-1, horizon).mean(axis=1)[order]
    overlap = _overlapping(items[::horizon, 0], horizon)
    how = "losses averaged over shared seeds, small-sample correction"
    tests: list[ItemTest | None] = []
    for pair in pairs:
        own, base = (np.mean([losses[run.path] for run in side], axis=0) for side in pair)
        method = f"Diebold-Mariano over {len(own)} test windows ({how})"
        found = diebold_mariano(own, base, overlap)
        tests.append(
            ItemTest("Diebold-Mariano", "DM p", method, len(own), found.p, found.statistic)
            if found
            else None
        )
    return tests


def _overlapping(starts: np.ndarray, horizon: int) -> int:
    """How many windows that follow each other, itself among them, share a target with a window."""
    steps = np.diff(np.unique(starts))
    return max(1, math.ceil(horizon / steps.min())) if len(steps) else horizon


def _read_forecast(path: Path) -> np.ndarray:
    """(rows, 4): index, step, target and prediction; other columns are not even read."""
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header = next(csv.reader([stream.readline()]))
            columns = [header.index(name) for name in ("index", "step", "target", "prediction")]
            table = np.loadtxt(
                stream, delimiter=",", usecols=columns, quotechar='"', comments=None, ndmin=2
            )
        if not len(table) or len(table) % table[:, 1].max():
            raise ValueError("rows are missing")
    except (OSError, ValueError, StopIteration) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(f"{path}: damaged or missing: {reason}") from error
    return table
