"""Intervals and tests, compared with scipy.stats and published values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attnlab.comparison.statistics import holm, judge, t_interval

FIVE = np.array([0.31, 0.29, 0.42, 0.35, 0.27])
OTHER = np.array([0.33, 0.35, 0.41, 0.44, 0.30])


def difference(values, reference, geometric=False):
    """The number of pairs, mean, ends of the interval and p."""
    (row,) = judge([(values, reference)], 1, geometric)
    return row[:5]


def test_intervals_are_students_and_differences_are_paired():
    interval = stats.t.interval(0.95, 4, FIVE.mean(), stats.sem(FIVE))
    assert t_interval(FIVE)[:4] == pytest.approx((5, FIVE.mean(), *interval), rel=1e-12)
    test = stats.ttest_rel(FIVE, OTHER)
    ends = test.confidence_interval(0.95)
    expected = (5, (FIVE - OTHER).mean(), *ends, test.pvalue)
    assert difference(FIVE, OTHER) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "reference", "expected"),
    [
        ([], [], (0, None, None, None, None)),
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
    assert (values + 0.2 - 0.2 != values).any()
    identical = (5, nothing, nothing, nothing, None)
    assert difference(values + 0.2 - 0.2, values, geometric) == identical
    assert difference(np.full(5, np.nextafter(1, 2)), np.ones(5), geometric) == identical


def test_ratios_are_differences_of_logarithms():
    n, *ends, p = difference(np.log(FIVE), np.log(OTHER))
    assert difference(FIVE, OTHER, True) == pytest.approx((n, *np.exp(ends), p))


def test_holm_steps_down():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.04]) == [pytest.approx(0.02), None, pytest.approx(0.04)]


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_raw_value_and_bonferroni(p_values):
    for raw, corrected in zip(p_values, holm(p_values), strict=True):
        assert raw <= corrected <= min(1.0, len(p_values) * raw)
