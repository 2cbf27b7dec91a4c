"""Compare groups of forecasts by the Diebold-Mariano test over test windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from attnlab.tasks.declaration import ItemTest, NoItemTest, Pairs
from attnlab.tasks.forecasting.data.measures import percentages
from attnlab.tasks.forecasting.scored_items import items_of, read_windows

_ROUNDING = 1e-12  # relative to the largest loss: smaller variations of differences are rounding


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

    Args:
        losses: (n,) losses of one forecast in order of time, for example squared errors.
        reference: (n,) losses of the other forecast.
        horizon: number of steps that a forecast looks ahead.

    Returns:
        The test. None if it is undefined: fewer than `horizon` + 2 losses, differences that vary
        only by rounding, or an estimated variance of 0 or less.
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
    """Compare squared errors of groups of forecasts with a reference; see `ItemTester`.

    The test is fast, so `always` is ignored.

    Raises:
        NoItemTest: the windows differ, or the metric of several series isn't a mean over windows.
        RequestError: a predictions.csv is missing or damaged.
    """
    return _tests(metric, pairs, lambda target, made: np.square(made - target))


def absolute(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Compare absolute errors; see `squared`."""
    return _tests(metric, pairs, lambda target, made: np.abs(made - target))


def percentage(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Compare absolute errors relative to target and forecast; see `squared`, `percentages`."""
    return _tests(metric, pairs, percentages)


def _tests(
    metric: str, pairs: Pairs, loss: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> list[ItemTest | None]:
    """Return a test per group; None if it is undefined.

    Losses are averaged over the runs of a group first, so each test item counts once.
    """
    # The reference comes first: the other runs must have the same windows.
    runs = {run.path: run for own, base in pairs for run in (*base, *own)}
    first = next(iter(runs.values()))
    windows = read_windows(first.path / "predictions.csv")
    items = items_of(metric, first, windows)
    losses: dict[Path, np.ndarray] = {}
    for path, run in runs.items():
        own = read_windows(path / "predictions.csv")
        if not own.is_like(windows):
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
        losses[path] = items.losses(loss(own.target, own.prediction).mean(axis=1))
    how = "losses averaged over shared seeds, small-sample correction"
    name, heading = items.name
    tests: list[ItemTest | None] = []
    for pair in pairs:
        one, base = (np.mean([losses[run.path] for run in side], axis=0) for side in pair)
        method = f"{name} over {len(one)} {items.word} ({how})"
        found = diebold_mariano(one, base, items.overlap)
        test = found and ItemTest(name, heading, method, len(one), found.p, found.statistic)
        tests.append(test)
    return tests
