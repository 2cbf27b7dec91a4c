"""The statistics of a comparison: intervals over seeds, paired tests, Holm, Diebold-Mariano.

Pure functions of numbers. Student's t comes from `scipy.special`, whose import takes a fraction of
that of `scipy.stats`; tests hold every result against `scipy.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
# A spread below this part of the values is what rounding leaves of none.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """A mean and its 95 % interval; without ends where one value says nothing of the spread.

    Attributes:
        n: How many values.
        mean: Their mean.
        low: The lower end; None below two values.
        high: The upper end.
    """

    n: int
    mean: float
    low: float | None = None
    high: float | None = None


class Difference(NamedTuple):
    """What a variant gains or loses over another one, paired.

    Attributes:
        n: How many pairs.
        mean: Mean of variant - reference; None without pairs.
        low: Lower end of its 95 % interval; None below two pairs.
        high: Upper end.
        p: Two-sided p value of the paired t test; None where it isn't defined: below two pairs, or
            where all differences are the same.
    """

    n: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


class DieboldMariano(NamedTuple):
    """Whether one forecast's losses are larger than another's.

    Attributes:
        statistic: Above 0 where the first has larger losses; with the small-sample correction.
        p: Two-sided p value under Student's t with n - 1 degrees of freedom.
        p_less: One-sided, of the first having the smaller losses.
        n: How many pairs of losses.
    """

    statistic: float
    p: float
    p_less: float
    n: int


def mean_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """Student's t interval of a mean: mean -+ t(0.975, n - 1) s / sqrt(n).

    Args:
        values: (n,), at least one.

    Raises:
        ValueError: No values.
    """
    values = np.asarray(values, float)
    n = len(values)
    if n == 0:
        raise ValueError("values: expected at least one, got none")
    mean = float(values.mean())
    if n < 2:
        return Interval(n, mean)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / math.sqrt(n))
    return Interval(n, mean, mean - half, mean + half)


def paired_difference(
    values: Sequence[float] | np.ndarray, reference: Sequence[float] | np.ndarray
) -> Difference:
    """The paired t test and its interval.

    Args:
        values: (n,) of a variant.
        reference: (n,) of what it is held against, in the order of the same pairs.

    Raises:
        ValueError: They differ in length.
    """
    values, reference = np.asarray(values, float), np.asarray(reference, float)
    if values.shape != reference.shape:
        raise ValueError(
            f"expected as many values as of the reference, got {len(values)} and {len(reference)}"
        )
    if not len(values):
        return Difference(0)
    interval = mean_interval(values - reference)
    if interval.n < 2:
        return Difference(*interval)
    spread = float((values - reference).std(ddof=1))
    if spread <= _ROUNDING * max(np.abs(values).max(), np.abs(reference).max()):
        return Difference(*interval)
    statistic = interval.mean / (spread / math.sqrt(interval.n))
    return Difference(*interval, p=_two_sided(statistic, interval.n - 1))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction for several tests: Holm 1979, step-down Bonferroni.

    Args:
        p_values: One for each test; None for a test that could not be made, which doesn't count.

    Returns:
        Corrected values in the same order, at most 1.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[place] = largest
    return corrected


def diebold_mariano(
    losses: Sequence[float] | np.ndarray,
    reference: Sequence[float] | np.ndarray,
    horizon: int = 1,
) -> DieboldMariano | None:
    """Diebold and Mariano's test with the correction of Harvey, Leybourne and Newbold 1997.

    The variance of the mean difference counts autocovariances up to lag `horizon` - 1; the
    statistic is scaled by sqrt((n + 1 - 2h + h (h - 1) / n) / n) and held against t(n - 1).

    Args:
        losses: (n,) of one forecast, in the order of time, for example squared errors.
        reference: (n,) of the other one.
        horizon: How many steps ahead the forecasts are.

    Returns:
        The test; None where it isn't defined: fewer than `horizon` + 2 losses, or differences whose
        estimated variance isn't above 0.

    Raises:
        ValueError: They differ in length.
    """
    losses, reference = np.asarray(losses, float), np.asarray(reference, float)
    if losses.shape != reference.shape:
        raise ValueError(
            f"expected as many losses as of the reference, got {len(losses)} and {len(reference)}"
        )
    n = len(losses)
    if n < horizon + 2:
        return None
    difference = losses - reference
    centred = difference - difference.mean()
    covariances = [float(centred[lag:] @ centred[: n - lag]) / n for lag in range(horizon)]
    variance = (covariances[0] + 2 * sum(covariances[1:])) / n
    correction = (n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n
    if variance <= 0 or correction <= 0:
        return None
    statistic = float(difference.mean()) / math.sqrt(variance) * math.sqrt(correction)
    return DieboldMariano(
        statistic, _two_sided(statistic, n - 1), float(stdtr(n - 1, statistic)), n
    )


def _two_sided(statistic: float, freedom: int) -> float:
    return float(2 * stdtr(freedom, -abs(statistic)))
