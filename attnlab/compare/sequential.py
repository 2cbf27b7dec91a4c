"""Intervals and verdicts that hold however often one looks: a confidence sequence for a mean.

A t interval is right once, for a number of seeds that was fixed before. Who looks after each seed,
up to 64, and stops as soon as it leaves out 0 finds a difference that isn't there in a third of all
cases. The intervals C_n here hold all at once: P(the mean lies in each C_n) >= 1 - alpha.

C_n has the means m that the test martingale of Wang and Ramdas (2024, arXiv 2310.03722, the
Gaussian mixture of scale-invariant likelihood ratios; after Lai 1976) doesn't refuse:

    e_n(m) = sqrt(r) ((1 + u) / (1 + r u))^(n / 2)
    u = T^2 / (n - 1),  T = sqrt(n) (mean - m) / s,  r = 1 / (1 + n g)

This is how much likelier T is where the true mean lies some standard deviations beside m, drawn
from N(0, g), than where it is m, whatever the standard deviation. It begins at e_1 = 1 and, where
m is the true mean, ever reaches 1 / alpha with a probability of at most alpha (Ville's inequality).
So

    C_n = mean -+ s sqrt((n - 1) / n (k - 1) / (1 - k r)),  k = (alpha^2 r)^(-1 / n)

where k r < 1, else all numbers: at alpha 0.05 below 5 values. g = 1 expects effects about as large
as the spread; another g is as valid, and wider at some n and narrower at others. Nothing differs
from the source but that it leaves g open.

It assumes independent differences of one normal distribution, looked at in an order that results
don't decide. Heavy tails on both sides make false verdicts rarer; skew, and values of which there
are only a few, make them more frequent. Of 20,000 simulations with 64 looks each at alpha 0.05
some look left out the true mean, here and by the t interval: normal 2.6 and 36 %, Laplace 1.6 and
31 %, t of 3 degrees of freedom 1.5 and 31 %, uniform 4.0 and 39 %; two values of equal probability
8.6 and 63 %, exponential 12 and 47 %, lognormal 23 and 56 %.

Several comparisons: each has alpha by their number (Bonferroni), so that all their intervals hold
at every look with 1 - alpha together, and verdicts, which are read off them, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnlab.compare.statistics import (
    Difference,
    Interval,
    deviation,
    paired_differences,
    turned_back,
)

ALPHA = 0.05
EFFECT_VARIANCE = 1.0  # g


class Judged(NamedTuple):
    """A comparison as it stands after the seeds so far."""

    # its interval holds at every look and for all comparisons together; its p for this one alone
    difference: Difference
    p: float | None  # times the number of comparisons
    verdict: str  # see `verdict`, or `no shared seed`


def judge(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    margin: float | None,
    higher_is_better: bool | None,
    geometric: bool = False,
) -> list[Judged]:
    """Judge comparisons that are looked at together.

    Args:
        pairs: Values (n,) and those of the reference, in the order of the same pairs.
        margin: See `verdict`.
        higher_is_better: See `verdict`.
        geometric: Judge logarithms, so that differences are ratios and the margin is a logarithm.
    """
    judged = []
    for values, reference in pairs:
        differences = paired_differences(values, reference, geometric)
        if not len(differences):
            judged.append(Judged(Difference(0), None, "no shared seed"))
            continue
        interval = sequential_interval(differences, ALPHA / len(pairs))
        p = sequential_p(differences)
        shown = turned_back(interval) if geometric else interval
        judged.append(
            Judged(
                Difference(*shown, p=p),
                None if p is None else min(1.0, len(pairs) * p),
                verdict(interval, margin, higher_is_better),
            )
        )
    return judged


def sequential_interval(
    values: ArrayLike, alpha: float = ALPHA, geometric: bool = False
) -> Interval:
    """C_n of a mean; without ends where it has none yet.

    Where all values are the same, C_n has no width from as many values on as others need.

    Args:
        values: (n,), at least one, such as paired differences.
        alpha: With which probability some C_n may miss the true mean.
        geometric: Take the mean and the interval of the logarithms, and turn them back.
    """
    numbers = np.log(values) if geometric else np.asarray(values, float)
    n, half = len(numbers), radius(len(numbers), alpha)
    mean = float(numbers.mean() if np.ptp(numbers) else numbers[0])
    if math.isinf(half):
        interval = Interval(n, mean)
    else:
        half *= deviation(numbers) if np.ptp(numbers) else 0.0
        interval = Interval(n, mean, mean - half, mean + half)
    return turned_back(interval) if geometric else interval


def radius(n: int, alpha: float = ALPHA) -> float:
    """Half the width of C_n in standard deviations s of n values; infinite where it has no ends."""
    r = 1 / (1 + n * EFFECT_VARIANCE)
    k = (alpha**2 * r) ** (-1 / n)
    return math.sqrt((n - 1) / n * (k - 1) / (1 - k * r)) if k * r < 1 else math.inf


def first_bounded(alpha: float = ALPHA) -> int:
    """From how many values on C_n has ends."""
    return next(n for n in itertools.count(1) if math.isfinite(radius(n, alpha)))


def sequential_p(differences: ArrayLike) -> float | None:
    """1 / e_n(0), at most 1: a p value at every look; None where all differences are the same."""
    numbers = np.asarray(differences, float)
    n = len(numbers)
    if not np.ptp(numbers):
        return None
    numbers = numbers / np.abs(numbers).max()  # whose squares are never too small or large
    r = 1 / (1 + n * EFFECT_VARIANCE)
    u = n * float(numbers.mean()) ** 2 / (float(numbers.var(ddof=1)) * (n - 1))
    log_e = (math.log(r) + n * (math.log1p(u) - math.log1p(r * u))) / 2
    return math.exp(min(0.0, -log_e))


def verdict(
    interval: Interval, margin: float | None = None, higher_is_better: bool | None = True
) -> str:
    """What an interval of differences says; true with 1 - alpha of all that is ever said of it.

    Args:
        interval: Of `sequential_interval`.
        margin: Differences of at most this size don't matter; None where all do.
        higher_is_better: Which way is; None where neither is.

    Returns:
        `undecided`; `equivalent` where the interval lies within the margin, even beside 0; where it
        leaves out 0 `better` or `worse`, or `higher` or `lower`; where all differences are the same
        `identical` or, of other differences than 0, which no chance explains, `no spread`.
    """
    _, mean, low, high = interval
    if low is None or high is None:
        return "undecided"
    if low == high:
        return "no spread" if mean else "identical"
    if margin is not None and -margin <= low and high <= margin:
        return "equivalent"
    if low <= 0 <= high:
        return "undecided"
    if higher_is_better is None:
        return "higher" if low > 0 else "lower"
    return "better" if (low > 0) == higher_is_better else "worse"
