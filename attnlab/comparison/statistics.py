"""The statistics of a comparison: intervals over seeds, paired tests, corrections of p values.

Sequential intervals are confidence sequences: they stay valid however often one looks. A t interval
is valid for one look, at a number of seeds fixed in advance. If you look after each of 64 seeds and
stop as soon as the interval excludes 0, you find a difference that doesn't exist in a third of all
cases. The sequential intervals C_n are valid together: P(all C_n contain the mean) >= 1 - alpha.

C_n contains the means m that are not rejected by the test martingale of Wang and Ramdas (2024,
arXiv 2310.03722, the Gaussian mixture of scale-invariant likelihood ratios; after Lai 1976):

    e_n(m) = sqrt(r) ((1 + u) / (1 + r u))^(n / 2)
    u = T^2 / (n - 1),  T = sqrt(n) (mean - m) / s,  r = 1 / (1 + n g)

e_n(m) is the likelihood ratio of T between two hypotheses: the true mean is z standard deviations
away from m, with z drawn from N(0, g); or the true mean is m. It doesn't depend on the standard
deviation. It starts at e_1 = 1. If m is the true mean, the probability that it ever reaches
1 / alpha is at most alpha (Ville's inequality). So

    C_n = mean -+ s sqrt((n - 1) / n (k - 1) / (1 - k r)),  k = (alpha^2 r)^(-1 / n)

if k r < 1; otherwise C_n contains all numbers, which is so below 5 values at alpha 0.05. Here g is
1, for effects about as large as the spread. Any other g is valid, too, with wider intervals at some
n and narrower ones at others. The only difference from the source: it leaves g open.

The method assumes independent differences from one normal distribution, looked at in an order that
doesn't depend on the results. Heavy tails on both sides make false verdicts rarer; skew and
discrete values make them more frequent: docs/explanation/statistics.md has simulations.

With several comparisons, each uses alpha divided by their number (Bonferroni): all their intervals,
and so all verdicts, are valid together at every look with probability 1 - alpha.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

ALPHA = 0.05  # of all intervals and verdicts
TOO_FEW = "too few seeds"  # the verdict below `enough_seeds`
_ENOUGH_SEEDS = 5  # below, a single run can decide
# A smaller spread, relative to the values, is a rounding error.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """A mean, its 95 % interval, and the test of the hypothesis that nothing differs."""

    n: int  # number of values, at least one
    mean: float
    low: float | None = None  # None if there are too few values for an interval
    high: float | None = None
    # two-sided p value of mean 0, or ratio 1; None with too few values, or if all are equal
    p: float | None = None


class Difference(NamedTuple):
    """A group's paired difference to the reference group, as columns of `Comparison.table`."""

    shared_seeds: int | None = None  # None for the reference itself
    difference: float | None = None  # mean of variant - reference, or of their ratio
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None  # for the number of comparisons
    verdict: str | None = None  # `better`, `worse`, `no shared seed`, ...


def t_interval(values: ArrayLike) -> Interval:
    """Compute Student's t interval of a mean, and the t test.

    Args:
        values: (n,), at least one.
    """
    numbers = np.asarray(values, float)
    n, mean = len(numbers), float(numbers.mean())
    if n == 1:
        return Interval(n, mean)
    if np.ptp(numbers) <= _ROUNDING * np.abs(numbers).max():
        return Interval(n, *[float(numbers[0])] * 3)
    test = stats.ttest_1samp(numbers, 0)
    low, high = test.confidence_interval(1 - ALPHA)
    return Interval(n, mean, float(low), float(high), float(test.pvalue))


def radius(n: int, alpha: float = ALPHA) -> float:
    """Return half the width of C_n in sample standard deviations s; may be infinite."""
    r = 1 / (1 + n)
    k = (alpha**2 * r) ** (-1 / n)
    return math.sqrt((n - 1) / n * (k - 1) / (1 - k * r)) if k * r < 1 else math.inf


def enough_seeds(comparisons: int = 1, sequential: bool = False) -> int:
    """Return the number of seeds from which on each of several comparisons gets a verdict."""
    if not sequential:
        return _ENOUGH_SEEDS
    return next(n for n in itertools.count(1) if math.isfinite(radius(n, ALPHA / comparisons)))


def sequential_interval(values: ArrayLike, alpha: float = ALPHA) -> Interval:
    """Compute C_n of a mean, and p = 1 / e_n(0), at most 1, which is valid at every look, too.

    The ends are None as long as C_n contains all numbers. If all values are equal, C_n then has
    width 0.

    Args:
        values: (n,), at least one, such as paired differences.
        alpha: The probability that any C_n misses the true mean is at most this.
    """
    numbers = np.asarray(values, float)
    n, half = len(numbers), radius(len(numbers), alpha)
    if not np.ptp(numbers):
        return Interval(n, *[float(numbers[0])] * (1 if math.isinf(half) else 3))
    mean, r = float(numbers.mean()), 1 / (1 + n)
    u = n * mean**2 / (float(numbers.var(ddof=1)) * (n - 1))
    log_e = (math.log(r) + n * (math.log1p(u) - math.log1p(r * u))) / 2
    p = math.exp(min(0.0, -log_e))
    if math.isinf(half):
        return Interval(n, mean, p=p)
    half *= float(numbers.std(ddof=1))
    return Interval(n, mean, mean - half, mean + half, p)


def exp_interval(interval: Interval) -> Interval:
    """Turn an interval of logarithms into one of the values themselves."""
    n, mean, *ends, p = interval
    low, high = (None if end is None else float(np.exp(end)) for end in ends)
    return Interval(n, float(np.exp(mean)), low, high, p)


def paired_differences(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> np.ndarray:
    """Return (n,) values - reference, or the differences of their logarithms.

    Both have a value for each pair, in the same order.

    If all differences are equal up to rounding, they become exactly equal: a test would find a
    rounding error significant.
    """
    scale = np.log if geometric else np.asarray
    variant, base = scale(np.asarray(values, float)), scale(np.asarray(reference, float))
    differences = variant - base
    if len(differences):
        rounding = _ROUNDING * max(np.abs([variant, base]).max(), 1.0 if geometric else 0.0)
        if np.abs(differences).max() <= rounding:
            return np.zeros(len(differences))
        if np.ptp(differences) <= rounding:
            return np.full(len(differences), differences[0])
    return differences


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for several tests by Holm (1979, step-down Bonferroni); None: no test."""
    tests = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - rank) * p))
        corrected[place] = largest
    return corrected


def judge(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    direction: int,
    geometric: bool = False,
    sequential: bool = False,
) -> list[Difference]:
    """Judge several comparisons.

    The paired t test with Holm's correction assumes a number of seeds fixed in advance. With
    `sequential`, all intervals and verdicts are valid together, at every look.

    Args:
        pairs: For each comparison, values (n,) and those of the reference, in the same order.
        direction: 1 if higher is better, -1 if lower is better, 0 if neither.
        geometric: Judge logarithms, so that differences are ratios.
        sequential: Use confidence sequences at level alpha divided by the number of comparisons.
    """
    alpha, intervals = ALPHA / len(pairs), list[Interval | None]()
    for pair in pairs:
        differences = paired_differences(*pair, geometric)
        if not len(differences):
            intervals.append(None)
        elif sequential:
            intervals.append(sequential_interval(differences, alpha))
        else:
            intervals.append(t_interval(differences))
    p_values = [interval.p if interval else None for interval in intervals]
    corrected = [p and min(1.0, len(pairs) * p) for p in p_values] if sequential else holm(p_values)
    enough = enough_seeds(len(pairs), sequential)
    results = []
    for interval, p in zip(intervals, corrected, strict=True):
        if interval is None:
            results.append(Difference(0, verdict="no shared seed"))
            continue
        if interval.n < enough:
            verdict = TOO_FEW
        elif p is None:
            verdict = "no spread" if interval.mean else "identical"
        elif p >= ALPHA:
            verdict = "undecided" if sequential else "no evidence"
        elif direction:
            verdict = "better" if interval.mean * direction > 0 else "worse"
        else:
            verdict = "higher" if interval.mean > 0 else "lower"
        shown = exp_interval(interval) if geometric else interval
        results.append(Difference(*shown, p, verdict))
    return results
