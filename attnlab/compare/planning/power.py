"""The power of the paired t test, the seeds it needs, and the uncertainty of the spread.

The power of the two-sided test of n differences at level alpha, whose mean is d standard deviations
from 0, is P(|T| > t(1 - alpha / 2, n - 1)). T has the noncentral t distribution with n - 1 degrees
of freedom and noncentrality d sqrt(n) (Cohen 1988; for seeds in reinforcement learning: Colas,
Sigaud and Oudeyer 2018, arXiv 1806.08295). Differences are assumed to be normal. Difference from
the second source: it plans Welch's test of two samples, here the test is paired.

The distributions come from `scipy.special`; the tests check every result against `scipy.stats`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtri, nctdtr, stdtrit

LEVEL = 0.95
MOST_SEEDS = 10_000
_HALVINGS = 60
_LARGE = 1000.0  # above this noncentrality SciPy is slow or returns NaN


class Spread(NamedTuple):
    """A standard deviation and its 95 % interval."""

    n: int  # number of values
    deviation: float  # sample standard deviation, with n - 1
    low: float  # the lower end
    high: float  # the upper end


def spread(values: ArrayLike) -> Spread:
    """Estimate the standard deviation s of normal values, with s sqrt((n - 1) / chi2) as ends.

    Args:
        values: (n,), at least two.
    """
    numbers = np.asarray(values, float)
    n = len(numbers)
    deviation = float(numbers.std(ddof=1)) if np.ptp(numbers) else 0.0
    low, high = (
        deviation * math.sqrt((n - 1) / chdtri(n - 1, tail))
        for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    )
    return Spread(n, deviation, low, high)


def power(effect: float, n: int, alpha: float = 0.05) -> float:
    """Return the probability that the paired t test finds an effect.

    Args:
        effect: d, the true mean of the differences, in their standard deviations.
        n: Number of pairs, at least two.
        alpha: The test's level.
    """
    freedom, noncentrality = n - 1, abs(effect) * math.sqrt(n)
    critical = stdtrit(freedom, 1 - alpha / 2)
    if noncentrality > _LARGE:  # then T is noncentrality * sigma / s, up to 0.1 %
        return float(chdtr(freedom, freedom * (noncentrality / critical) ** 2))
    # SciPy returns NaN for probabilities below 1e-13.
    below, missed = np.nan_to_num(nctdtr(freedom, noncentrality, [-critical, critical]))
    return float(below + 1 - missed)


def seeds_for(effect: float, wanted: float, alpha: float = 0.05) -> int | None:
    """Return the smallest number of pairs, at least two, with this power.

    None if `MOST_SEEDS` are not enough.

    Args:
        effect: d, not 0; see `power`.
        wanted: The power, above alpha and below 1.
        alpha: The test's level.
    """
    low, high = 1, 2  # the power of `low` pairs is too small
    while power(effect, high, alpha) < wanted:
        low, high = high, 2 * high
        if low >= MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, alpha) >= wanted else (middle, high)
    return high if high <= MOST_SEEDS else None


def detectable(n: int, wanted: float, alpha: float = 0.05) -> float:
    """Return the smallest effect d that n pairs, at least two, find with this power above alpha."""
    low, high = 0.0, 1.0
    while power(high, n, alpha) < wanted:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, n, alpha) >= wanted else (middle, high)
    return high
