"""The statistics of a comparison: intervals over seeds, paired tests, Holm's correction.

Student's t comes from `scipy.special`, which imports much faster than `scipy.stats`; the tests
check every result against `scipy.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from attnlab.compare.metrics import Quantity
from attnlab.compare.runs import Group
from attnlab.errors import RequestError
from attnlab.tasks.declaration import ItemTest, NoItemTest, load

LEVEL = 0.95
# A smaller spread, relative to the values, is a rounding error.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """A mean and its 95 % interval.

    The ends are None for a single value, and if they are too large for a float.
    """

    n: int  # how many values
    mean: float  # their mean
    low: float | None = None  # the lower end
    high: float | None = None  # the upper end


class Difference(NamedTuple):
    """The difference between a variant and a reference, over pairs."""

    n: int  # number of pairs
    # mean of variant - reference, or geometric mean of their ratio; None without pairs
    mean: float | None = None
    low: float | None = None  # lower end of its 95 % interval; see `Interval`
    high: float | None = None  # upper end
    # two-sided p value of the paired t test; None if undefined: below two pairs, or if all
    # differences are equal
    p: float | None = None


def mean_interval(values: ArrayLike, geometric: bool = False) -> Interval:
    """Student's t interval of a mean: mean -+ t(0.975, n - 1) s / sqrt(n).

    Args:
        values: (n,), at least one.
        geometric: Compute mean and interval of the logarithms, and return their exponentials.
    """
    numbers = _numbers(values, geometric)
    n, mean = len(numbers), float(numbers.mean())
    if n > 1 and not np.ptp(numbers):  # exactly, without the rounding of a sum
        return Interval(n, *[float(np.asarray(values, float)[0])] * 3)
    interval = Interval(n, mean)
    if n > 1:
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation(numbers) / math.sqrt(n)
        interval = Interval(n, mean, mean - half, mean + half)
    return exp_interval(interval) if geometric else interval


def exp_interval(interval: Interval) -> Interval:
    """Turn an interval of logarithms into one of the values themselves."""
    n, mean, low, high = interval
    if low is None or high is None or math.isinf(exp(high)):
        return Interval(n, exp(mean))
    return Interval(n, exp(mean), exp(low), exp(high))


def within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """Cut an interval of a mean at the smallest and largest possible value of its metric.

    A t interval of few, very different seeds can reach beyond a bound, such as below 0 for an RMSE.
    The true mean can't be there, so the cut interval covers it as often as the whole one.
    """
    n, mean, low, high = interval
    if low is None or high is None:
        return interval
    return Interval(n, mean, max(low, bounds[0]), min(high, bounds[1]))


def exp(number: float) -> float:
    """Return the exponential; infinite if it is too large for a float."""
    with np.errstate(over="ignore"):
        return float(np.exp(number))


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
    n = len(differences)
    if not n:
        return Difference(0)
    interval = mean_interval(differences)
    if geometric:
        interval = exp_interval(interval)
    if not np.ptp(differences):
        return Difference(*interval)
    statistic = differences.mean() / (deviation(differences) / math.sqrt(n))
    return Difference(*interval, p=float(2 * stdtr(n - 1, -abs(statistic))))


def paired_differences(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> np.ndarray:
    """Return (n,) values - reference, or the differences of their logarithms, cleaned of rounding.

    If the differences are 0 up to rounding, all are exactly 0; if they are equal up to rounding,
    all are exactly equal.
    """
    own, base = _numbers(values, geometric), _numbers(reference, geometric)
    differences = own - base
    if len(own):
        sizes = np.abs([own, base]).max()
        rounding = _ROUNDING * (max(1.0, sizes) if geometric else sizes)
        if np.abs(differences).max() <= rounding:
            return np.zeros(len(own))
        if np.ptp(differences) <= rounding:
            return np.full(len(own), differences[0])
    return differences


def deviation(numbers: np.ndarray) -> float:
    """Return the standard deviation of a sample (n,), also if squares would overflow float64."""
    largest = float(np.abs(numbers).max())
    return largest * float((numbers / largest).std(ddof=1)) if largest else 0.0


def _numbers(values: ArrayLike, geometric: bool) -> np.ndarray:
    return np.log(values) if geometric else np.asarray(values, float)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for several tests by Holm (1979, step-down Bonferroni); None: no test."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[place] = largest
    return corrected


def item_tests(
    groups: Sequence[Group], reference: Group, metric: Quantity, bootstrap: bool | None
) -> tuple[list[ItemTest | None], list[str]]:
    """Test over test items whether groups differ from a reference, by the test of the metric.

    Args:
        groups: The groups.
        reference: The reference group.
        metric: The metric, whose declaration names the test.
        bootstrap: See `always` of `ItemTester`.

    Returns:
        A test or None for each group, and notes on why tests are missing.
    """
    tests: list[ItemTest | None] = [None] * len(groups)
    way = metric.metric.item_test if metric.metric and metric.is_test else None
    pairs = {}
    for place, group in enumerate(groups):
        if seeds := group.shared_seeds(reference):
            runs = [group.runs[seed].run for seed in seeds]
            pairs[place] = runs, [reference.runs[seed].run for seed in seeds]
    if way is None or not pairs:
        return tests, []
    try:
        found = load(way)(metric.leaf, list(pairs.values()), always=bootstrap)
    except NoItemTest as error:
        return tests, [str(error)]
    except RequestError as error:
        return tests, [f"no test over test items: {error}"]
    corrected = holm([test.p if test else None for test in found])
    for place, test, p in zip(pairs, found, corrected, strict=True):
        tests[place] = replace(test, p_holm=p) if test else None
    return tests, []
