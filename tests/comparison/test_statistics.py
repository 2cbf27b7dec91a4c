"""Intervals and tests, compared with scipy.stats and published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attnlab.comparison.statistics import Interval, holm, judge, t_interval, within

FIVE = np.array([0.31, 0.29, 0.42, 0.35, 0.27])
OTHER = np.array([0.33, 0.35, 0.41, 0.44, 0.30])


def test_the_interval_is_students():
    found = t_interval(FIVE)
    expected = stats.t.interval(0.95, 4, FIVE.mean(), stats.sem(FIVE))
    assert (found.n, found.mean) == (5, FIVE.mean())
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)


def test_an_interval_ends_where_its_metric_does():
    """The mean is unchanged."""
    found = t_interval([0.1, 0.2, 1.5])
    assert (found.low, found.high) == pytest.approx((-1.3402, 2.5402), abs=1e-4)
    assert within(found, (0.0, math.inf)) == found._replace(low=0.0)
    assert within(found, (0.0, 1.0)) == found._replace(low=0.0, high=1.0)
    assert within(Interval(1, 0.5), (0.0, 1.0)) == Interval(1, 0.5)


def difference(values, reference, geometric=False):
    (judged,) = judge([(values, reference)], 1, geometric)
    return judged.difference


def test_the_difference_is_paired():
    found = difference(FIVE, OTHER)
    expected = stats.ttest_rel(FIVE, OTHER)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.mean == pytest.approx((FIVE - OTHER).mean())
    assert found.p < stats.ttest_ind(FIVE, OTHER).pvalue


@pytest.mark.parametrize(
    ("values", "reference", "expected"),
    [
        ([], [], None),
        ([2.0], [1.5], (1, 0.5, None, None, None)),
        ([2.0, 3.0], [2.0, 3.0], (2, 0.0, 0.0, 0.0, None)),
        ([2.0, 3.0], [1.0, 2.0], (2, 1.0, 1.0, 1.0, None)),
    ],
    ids=["no pair", "one pair", "identical", "the same difference"],
)
def test_an_undefined_test_has_no_p(values, reference, expected):
    assert difference(values, reference) == expected


@pytest.mark.parametrize(("geometric", "nothing"), [(False, 0.0), (True, 1.0)])
def test_rounding_doesnt_count_as_difference(geometric, nothing):
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = difference(values + 0.2 - 0.2, values, geometric)
    assert (values + 0.2 - 0.2 != values).any()
    assert found == (5, nothing, nothing, nothing, None)
    near = np.full(5, np.nextafter(1, 2))
    assert difference(near, np.ones(5), geometric) == (5, nothing, nothing, nothing, None)


def test_ratios_are_differences_of_logarithms():
    found, plain = difference(FIVE, OTHER, True), difference(np.log(FIVE), np.log(OTHER))
    assert found[1:4] == tuple(map(pytest.approx, np.exp(plain[1:4])))
    assert found.p == pytest.approx(plain.p)


def test_holm_steps_down():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.04]) == [pytest.approx(0.02), None, pytest.approx(0.04)]


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_raw_value_and_bonferroni(p_values):
    for raw, corrected in zip(p_values, holm(p_values), strict=True):
        assert raw <= corrected <= min(1.0, len(p_values) * raw)
