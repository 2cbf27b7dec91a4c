"""The statistics of a comparison: intervals over seeds, paired tests, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from attnlab.comparison.metrics import Quantity
from attnlab.comparison.runs import Group
from attnlab.comparison.sequential import ALPHA, first_bounded, radius, sequential_p
from attnlab.errors import RequestError
from attnlab.tasks.declaration import ItemTest, NoItemTest, load

ENOUGH_SEEDS = 5
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


class Judged(NamedTuple):
    """The result of one of several comparisons."""

    # of variant - reference, or of their ratio, with an uncorrected p; None without pairs
    difference: Interval | None
    p_corrected: float | None  # for the number of comparisons
    verdict: str  # `better`, `worse`, `no shared seed`, ...


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


def sequential_interval(values: ArrayLike, alpha: float = ALPHA) -> Interval:
    """Compute C_n of a mean and its p value; see `sequential`.

    The ends are None as long as C_n contains all numbers. If all values are equal, C_n then has
    width 0.

    Args:
        values: (n,), at least one, such as paired differences.
        alpha: The probability that any C_n misses the true mean is at most this.
    """
    numbers = np.asarray(values, float)
    n, half, has_spread = len(numbers), radius(len(numbers), alpha), np.ptp(numbers) > 0
    mean, p = float(numbers.mean() if has_spread else numbers[0]), sequential_p(numbers)
    if math.isinf(half):
        return Interval(n, mean, p=p)
    half *= float(numbers.std(ddof=1)) if has_spread else 0.0
    return Interval(n, mean, mean - half, mean + half, p)


def exp_interval(interval: Interval) -> Interval:
    """Turn an interval of logarithms into one of the values themselves."""
    n, mean, *ends, p = interval
    low, high = (None if end is None else float(np.exp(end)) for end in ends)
    return Interval(n, float(np.exp(mean)), low, high, p)


def within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """Cut an interval of a mean at the smallest and largest possible value of its metric.

    A t interval of few, very different seeds can reach beyond a bound, such as below 0 for an RMSE.
    The true mean can't be there, so the cut interval covers it as often as the whole one.
    """
    if interval.low is None or interval.high is None:
        return interval
    return interval._replace(low=max(interval.low, bounds[0]), high=min(interval.high, bounds[1]))


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
) -> list[Judged]:
    """Judge several comparisons.

    The paired t test with Holm's correction assumes a number of seeds fixed in advance. Below five
    seeds it gives no verdict, because a single run can decide. With `sequential`, all intervals and
    verdicts are valid together, at every look.

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
    enough = first_bounded(alpha) if sequential else ENOUGH_SEEDS
    judged = []
    for interval, p in zip(intervals, corrected, strict=True):
        if interval is None:
            judged.append(Judged(None, None, "no shared seed"))
            continue
        if interval.n < enough:
            verdict = "undecided" if sequential else "too few seeds"
        elif p is None:
            verdict = "no spread" if interval.mean else "identical"
        elif p >= ALPHA:
            verdict = "undecided" if sequential else "no evidence"
        elif direction:
            verdict = "better" if interval.mean * direction > 0 else "worse"
        else:
            verdict = "higher" if interval.mean > 0 else "lower"
        judged.append(Judged(exp_interval(interval) if geometric else interval, p, verdict))
    return judged


def item_tests(
    groups: Sequence[Group], reference: Group, metric: Quantity, bootstrap: bool | None
) -> tuple[list[ItemTest | None], list[str]]:
    """Test over test items whether groups differ from a reference, by the test of the metric.

    Returns a test or None for each group, and notes on why tests are missing. `bootstrap` is
    `always` of `ItemTester`.
    """
    tests: list[ItemTest | None] = [None] * len(groups)
    tester = metric.metric.item_test if metric.metric and metric.is_test else None
    pairs = {}
    for place, group in enumerate(groups):
        seeds = group.rows.index.intersection(reference.rows.index)
        if len(seeds):
            sides = [[run.run for run in side.rows["RUN"][seeds]] for side in (group, reference)]
            pairs[place] = sides[0], sides[1]
    if tester is None or not pairs:
        return tests, []
    try:
        results = load(tester)(metric.leaf, list(pairs.values()), always=bootstrap)
    except NoItemTest as error:
        return tests, [str(error)]
    except RequestError as error:
        return tests, [f"no test over test items: {error}"]
    corrected = holm([test.p if test else None for test in results])
    for place, test, p in zip(pairs, results, corrected, strict=True):
        tests[place] = replace(test, p_holm=p) if test else None
    return tests, []
