"""The statistics of a comparison: intervals over seeds, paired tests, Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from attnlab.comparison.metrics import Quantity
from attnlab.comparison.runs import Group
from attnlab.errors import RequestError
from attnlab.tasks.declaration import ItemTest, NoItemTest, load

ALPHA = 0.05
ENOUGH_SEEDS = 5
# A smaller spread, relative to the values, is a rounding error.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """A mean and its 95 % interval, whose ends are None for a single value."""

    n: int  # number of values
    mean: float
    low: float | None = None
    high: float | None = None


class Difference(NamedTuple):
    """The difference between a variant and a reference, over pairs."""

    n: int  # number of pairs
    # mean of variant - reference, or geometric mean of their ratio; None without pairs
    mean: float | None = None
    low: float | None = None  # ends of its 95 % interval; None below two pairs
    high: float | None = None
    # two-sided p value of the paired t test; None below two pairs, or if all differences are equal
    p: float | None = None


class Judged(NamedTuple):
    """The result of one of several comparisons."""

    difference: Difference  # its p is uncorrected
    p_corrected: float | None  # for the number of comparisons
    verdict: str  # `better`, `worse`, `no shared seed`, ...


def mean_interval(values: ArrayLike, geometric: bool = False) -> Interval:
    """Compute Student's t interval of a mean.

    Args:
        values: (n,), at least one.
        geometric: Compute mean and interval of the logarithms, and return their exponentials.
    """
    interval, _ = _t_test(np.asarray(np.log(values) if geometric else values, float))
    return exp_interval(interval) if geometric else interval


def _t_test(numbers: np.ndarray) -> tuple[Interval, float | None]:
    """Return the interval of a mean, and the p value of the hypothesis that it is 0."""
    n, mean = len(numbers), float(numbers.mean())
    if n == 1:
        return Interval(n, mean), None
    if np.ptp(numbers) <= _ROUNDING * np.abs(numbers).max():
        return Interval(n, *[float(numbers[0])] * 3), None
    test = stats.ttest_1samp(numbers, 0)
    low, high = test.confidence_interval(1 - ALPHA)
    return Interval(n, mean, float(low), float(high)), float(test.pvalue)


def exp_interval(interval: Interval) -> Interval:
    """Turn an interval of logarithms into one of the values themselves."""
    n, mean, *ends = interval
    low, high = (None if end is None else float(np.exp(end)) for end in ends)
    return Interval(n, float(np.exp(mean)), low, high)


def within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """Cut an interval of a mean at the smallest and largest possible value of its metric.

    A t interval of few, very different seeds can reach beyond a bound, such as below 0 for an RMSE.
    The true mean can't be there, so the cut interval covers it as often as the whole one.
    """
    n, mean, low, high = interval
    if low is None or high is None:
        return interval
    return Interval(n, mean, max(low, bounds[0]), min(high, bounds[1]))


def paired_difference(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> Difference:
    """Run the paired t test, and compute its interval.

    Args:
        values: (n,) values of a variant.
        reference: (n,) values of the reference, in the same order of pairs.
        geometric: Test the logarithms, so that the difference is a ratio.
    """
    differences = paired_differences(values, reference, geometric)
    if not len(differences):
        return Difference(0)
    interval, p = _t_test(differences)
    return Difference(*(exp_interval(interval) if geometric else interval), p)


def paired_differences(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> np.ndarray:
    """Return (n,) values - reference, or the differences of their logarithms.

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


def judge_once(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], direction: int, geometric: bool
) -> list[Judged]:
    """Judge comparisons by paired t tests, which assume a number of seeds fixed in advance.

    See `sequential.judge` for the arguments. Below five seeds there is no verdict, because a single
    run can decide.
    """
    differences = [paired_difference(*pair, geometric) for pair in pairs]
    corrected = holm([difference.p for difference in differences])
    nothing = 1.0 if geometric else 0.0
    judged = []
    for difference, p in zip(differences, corrected, strict=True):
        if difference.mean is None:
            verdict = "no shared seed"
        elif difference.n < ENOUGH_SEEDS:
            verdict = "too few seeds"
        elif p is None:
            verdict = "identical" if difference.mean == nothing else "no spread"
        elif p >= ALPHA:
            verdict = "no evidence"
        else:
            verdict = in_words(difference.mean > nothing, direction)
        judged.append(Judged(difference, p, verdict))
    return judged


def in_words(is_higher: bool, direction: int) -> str:
    """Return whether a difference is better or worse, or without a direction, higher or lower."""
    if not direction:
        return "higher" if is_higher else "lower"
    return "better" if is_higher == (direction > 0) else "worse"


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
