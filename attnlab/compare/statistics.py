"""The statistics of a comparison: intervals over seeds, paired tests, Holm.

Student's t comes from `scipy.special`, whose import takes a fraction of that of `scipy.stats`;
tests hold every result against `scipy.stats`.
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
# A spread below this part of the values is what rounding leaves of none.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """A mean and its 95 % interval.

    Without ends where one value says nothing of the spread, or where an end is beyond all numbers.
    """

    n: int  # how many values
    mean: float  # their mean
    low: float | None = None  # the lower end
    high: float | None = None  # the upper end


class Difference(NamedTuple):
    """What a variant gains or loses over another one, paired."""

    n: int  # how many pairs
    # mean of variant - reference, or geometric mean of their ratio; None without pairs
    mean: float | None = None
    low: float | None = None  # lower end of its 95 % interval; see `Interval`
    high: float | None = None  # upper end
    # two-sided p value of the paired t test; None where it isn't defined: below two pairs, or where
    # all differences are the same
    p: float | None = None


def mean_interval(values: ArrayLike, geometric: bool = False) -> Interval:
    """Student's t interval of a mean: mean -+ t(0.975, n - 1) s / sqrt(n).

    Args:
        values: (n,), at least one.
        geometric: Take the mean and the interval of the logarithms, and turn them back.
    """
    numbers = _numbers(values, geometric)
    n, mean = len(numbers), float(numbers.mean())
    if n > 1 and not np.ptp(numbers):  # no sum rounds what is the same
        return Interval(n, *[float(np.asarray(values, float)[0])] * 3)
    interval = Interval(n, mean)
    if n > 1:
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation(numbers) / math.sqrt(n)
        interval = Interval(n, mean, mean - half, mean + half)
    return turned_back(interval) if geometric else interval


def turned_back(interval: Interval) -> Interval:
    """An interval of logarithms as one of what they are of."""
    n, mean, low, high = interval
    if low is None or high is None or math.isinf(exp(high)):
        return Interval(n, exp(mean))
    return Interval(n, exp(mean), exp(low), exp(high))


def within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """Cut an interval of a mean at the smallest and the largest value that its metric can have.

    The t interval knows no bounds: of few seeds that differ much, an RMSE's can begin below 0. Its
    mean can't, so the part beyond a bound never holds the mean: without that part the interval
    covers the mean as often as before. An interval of logarithms ends above 0, too, but it is one
    of another quantity, the geometric mean; `geometric` asks for it.
    """
    n, mean, low, high = interval
    if low is None or high is None:
        return interval
    return Interval(n, mean, max(low, bounds[0]), min(high, bounds[1]))


def exp(number: float) -> float:
    """The exponential, infinite where it is too large a number."""
    with np.errstate(over="ignore"):
        return float(np.exp(number))


def paired_difference(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> Difference:
    """The paired t test and its interval.

    Args:
        values: (n,) of a variant.
        reference: (n,) of what it is held against, in the order of the same pairs.
        geometric: Test the logarithms, so that the difference is a ratio.
    """
    differences = paired_differences(values, reference, geometric)
    n = len(differences)
    if not n:
        return Difference(0)
    interval = mean_interval(differences)
    if geometric:
        interval = turned_back(interval)
    if not np.ptp(differences):
        return Difference(*interval)
    statistic = differences.mean() / (deviation(differences) / math.sqrt(n))
    return Difference(*interval, p=float(2 * stdtr(n - 1, -abs(statistic))))


def paired_differences(
    values: ArrayLike, reference: ArrayLike, geometric: bool = False
) -> np.ndarray:
    """(n,) values - reference, or of their logarithms, without what only rounding makes of them.

    Equal ones where only rounding differs, zeros where only rounding sets them apart from 0.
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
    """The standard deviation of a sample (n,) whose squares may be beyond float64."""
    largest = float(np.abs(numbers).max())
    return largest * float((numbers / largest).std(ddof=1)) if largest else 0.0


def _numbers(values: ArrayLike, geometric: bool) -> np.ndarray:
    return np.log(values) if geometric else np.asarray(values, float)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction for several tests (1979, step-down Bonferroni); None counts for no test."""
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
    """Test over test items whether groups differ from a reference, as the metric's kind says how.

    `bootstrap` is what `ItemTester` calls `always`. Notes say why a group has none.
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
