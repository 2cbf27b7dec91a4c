"""Intervals and verdicts that stay valid however often one looks: confidence sequences for a mean.

A t interval is valid for one look, at a number of seeds fixed in advance. If you look after each of
64 seeds and stop as soon as the interval excludes 0, you find a difference that doesn't exist in a
third of all cases. The intervals C_n here are valid together: P(all C_n contain the mean) >=
1 - alpha.

C_n contains the means m that are not rejected by the test martingale of Wang and Ramdas (2024,
arXiv 2310.03722, the Gaussian mixture of scale-invariant likelihood ratios; after Lai 1976):

    e_n(m) = sqrt(r) ((1 + u) / (1 + r u))^(n / 2)
    u = T^2 / (n - 1),  T = sqrt(n) (mean - m) / s,  r = 1 / (1 + n g)

e_n(m) is the likelihood ratio of T between two hypotheses: the true mean is z standard deviations
away from m, with z drawn from N(0, g); or the true mean is m. It doesn't depend on the standard
deviation. It starts at e_1 = 1. If m is the true mean, the probability that it ever reaches
1 / alpha is at most alpha (Ville's inequality). So

    C_n = mean -+ s sqrt((n - 1) / n (k - 1) / (1 - k r)),  k = (alpha^2 r)^(-1 / n)

if k r < 1; otherwise C_n contains all numbers, which is so below 5 values at alpha 0.05. g = 1 fits
effects about as large as the spread. Any other g is valid, too, with wider intervals at some n and
narrower ones at others. The only difference from the source: it leaves g open.

The method assumes independent differences from one normal distribution, looked at in an order that
doesn't depend on the results. Heavy tails on both sides make false verdicts rarer; skew and
discrete values make them more frequent. In 20,000 simulations of 64 looks at alpha 0.05, this share
had at least one look whose interval excluded the true mean, here and with the t interval: normal
2.6 and 36 %, Laplace 1.6 and 31 %, t with 3 degrees of freedom 1.5 and 31 %, uniform 4.0 and 39 %;
two values of equal probability 8.6 and 63 %, exponential 12 and 47 %, lognormal 23 and 56 %.

With several comparisons, each uses alpha divided by their number (Bonferroni): all their intervals,
and so all verdicts, are valid together at every look with probability 1 - alpha.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from attnlab.comparison.statistics import (
    ALPHA,
    Difference,
    Interval,
    Judged,
    exp_interval,
    in_words,
    paired_differences,
)

EFFECT_VARIANCE = 1.0  # g


def judge(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], direction: int, geometric: bool = False
) -> list[Judged]:
    """Judge several comparisons; their intervals are valid together, at every look.

    Args:
        pairs: For each comparison, values (n,) and those of the reference, in the same order.
        direction: 1 if higher is better, -1 if lower is better, 0 if neither.
        geometric: Judge logarithms, so that differences are ratios.
    """
    judged = []
    for values, reference in pairs:
        differences = paired_differences(values, reference, geometric)
        if not len(differences):
            judged.append(Judged(Difference(0), None, "no shared seed"))
            continue
        interval, p = (
            sequential_interval(differences, ALPHA / len(pairs)),
            sequential_p(differences),
        )
        corrected = None if p is None else min(1.0, len(pairs) * p)
        ends = exp_interval(interval) if geometric else interval
        judged.append(Judged(Difference(*ends, p), corrected, verdict(interval, direction)))
    return judged


def sequential_interval(
    values: ArrayLike, alpha: float = ALPHA, geometric: bool = False
) -> Interval:
    """Compute C_n of a mean; its ends are None as long as C_n contains all numbers.

    If all values are equal, C_n then has width 0.

    Args:
        values: (n,), at least one, such as paired differences.
        alpha: The probability that any C_n misses the true mean is at most this.
        geometric: Compute mean and interval of the logarithms, and return their exponentials.
    """
    numbers = np.log(values) if geometric else np.asarray(values, float)
    n, half = len(numbers), radius(len(numbers), alpha)
    mean = float(numbers.mean() if np.ptp(numbers) else numbers[0])
    interval = Interval(n, mean)
    if math.isfinite(half):
        half *= float(numbers.std(ddof=1)) if np.ptp(numbers) else 0.0
        interval = Interval(n, mean, mean - half, mean + half)
    return exp_interval(interval) if geometric else interval


def radius(n: int, alpha: float = ALPHA) -> float:
    """Return half the width of C_n in sample standard deviations s; may be infinite."""
    r = 1 / (1 + n * EFFECT_VARIANCE)
    k = (alpha**2 * r) ** (-1 / n)
    return math.sqrt((n - 1) / n * (k - 1) / (1 - k * r)) if k * r < 1 else math.inf


def first_bounded(alpha: float = ALPHA) -> int:
    """Return the smallest number of values for which C_n is finite."""
    return next(n for n in itertools.count(1) if math.isfinite(radius(n, alpha)))


def sequential_p(differences: ArrayLike) -> float | None:
    """Return 1 / e_n(0), at most 1: a p value valid at every look; None for equal differences."""
    numbers = np.asarray(differences, float)
    n = len(numbers)
    if not np.ptp(numbers):
        return None
    r = 1 / (1 + n * EFFECT_VARIANCE)
    u = n * float(numbers.mean()) ** 2 / (float(numbers.var(ddof=1)) * (n - 1))
    log_e = (math.log(r) + n * (math.log1p(u) - math.log1p(r * u))) / 2
    return math.exp(min(0.0, -log_e))


def verdict(interval: Interval, direction: int = 1) -> str:
    """Return the verdict of an interval of differences.

    With probability 1 - alpha, all verdicts of a comparison, over all looks, are true.

    Args:
        interval: An interval by `sequential_interval`.
        direction: 1 if higher is better, -1 if lower is better, 0 if neither.

    Returns:
        If it excludes 0, `better` or `worse`, or `higher` or `lower` without a better direction;
        otherwise `undecided`. If all differences are equal, `identical` if they are 0, else
        `no spread`.
    """
    _, mean, low, high = interval
    if low is None or high is None:
        return "undecided"
    if low == high:
        return "no spread" if mean else "identical"
    if low <= 0 <= high:
        return "undecided"
    return in_words(low > 0, direction)
