"""Intervals and tests, compared with scipy.stats, numeric integration and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from attnlab.comparison.statistics import (
    enough_seeds,
    holm,
    judge,
    radius,
    sequential_interval,
    t_interval,
)

FIVE = np.array([0.31, 0.29, 0.42, 0.35, 0.27])
OTHER = np.array([0.33, 0.35, 0.41, 0.44, 0.30])
SEVEN = np.array([0.31, 0.29, 0.42, 0.35, 0.27, -0.05, 0.4])
ZEROS = np.zeros(7)


def difference(values, reference, geometric=False):
    """The number of pairs, mean, ends of the interval and p."""
    (row,) = judge([(values, reference)], 1, geometric)
    return row[:5]


def test_intervals_are_students_and_differences_are_paired():
    interval = stats.t.interval(0.95, 4, FIVE.mean(), stats.sem(FIVE))
    assert t_interval(FIVE)[:4] == pytest.approx((5, FIVE.mean(), *interval), rel=1e-12)
    test = stats.ttest_rel(FIVE, OTHER)
    expected = (5, (FIVE - OTHER).mean(), *test.confidence_interval(0.95), test.pvalue)
    assert difference(FIVE, OTHER) == pytest.approx(expected, rel=1e-12)
    n, *ends, p = difference(np.log(FIVE), np.log(OTHER))
    assert difference(FIVE, OTHER, geometric=True) == pytest.approx((n, *np.exp(ends), p))


def test_an_undefined_test_has_no_p():
    assert difference([], []) == (0, None, None, None, None)
    assert difference([2.0], [1.5]) == (1, 0.5, None, None, None)
    assert difference([2.0, 3.0], [2.0, 3.0]) == (2, 0.0, 0.0, 0.0, None)
    assert difference([2.0, 3.0], [1.0, 2.0]) == (2, 1.0, 1.0, 1.0, None)


@pytest.mark.parametrize(("geometric", "nothing"), [(False, 0.0), (True, 1.0)])
def test_rounding_doesnt_count_as_difference(geometric, nothing):
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    assert (values + 0.2 - 0.2 != values).any()
    identical = (5, nothing, nothing, nothing, None)
    assert difference(values + 0.2 - 0.2, values, geometric) == identical
    assert difference(np.full(5, np.nextafter(1, 2)), np.ones(5), geometric) == identical


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_steps_down_between_the_raw_value_and_bonferroni(p_values):
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.04]) == [pytest.approx(0.02), None, pytest.approx(0.04)]
    for raw, corrected in zip(p_values, holm(p_values), strict=True):
        assert raw <= corrected <= min(1.0, len(p_values) * raw)


# Differences of mean 0, and how often one of 64 looks leaves 0 out: of the sequential interval, and
# of the t interval. The docstring has these numbers.
RATES = {
    "normal": (lambda draw, size: draw.normal(size=size), 0.026, 0.36),
    "Laplace": (lambda draw, size: draw.laplace(size=size), 0.016, 0.31),
    "t of 3 degrees": (lambda draw, size: draw.standard_t(3, size), 0.015, 0.31),
    "uniform": (lambda draw, size: draw.uniform(-1, 1, size), 0.040, 0.39),
    "two values": (
        lambda draw, size: draw.choice([-1.0, 1.0], size) + draw.normal(0, 1e-6, size),
        *(0.086, 0.63),
    ),
    "exponential": (lambda draw, size: draw.exponential(size=size) - 1, 0.12, 0.47),
    "lognormal": (lambda draw, size: draw.lognormal(size=size) - math.exp(0.5), 0.23, 0.56),
}


def missed(differences, half_width):
    """(trials,) whether the interval of the first n excludes 0 for any n."""
    is_missed = np.zeros(len(differences), bool)
    for n in range(2, 65):
        part = differences[:, :n]
        is_missed |= np.abs(part.mean(axis=1)) > half_width(n) * part.std(axis=1, ddof=1)
    return is_missed


@pytest.mark.parametrize(("draw", "sequential", "once"), RATES.values(), ids=RATES)
def test_looking_after_each_seed_has_the_promised_error_rate(draw, sequential, once):
    differences = draw(np.random.default_rng(1), (4000, 64))
    rate = missed(differences, radius).mean()
    assert rate == pytest.approx(sequential, abs=0.015) and (rate < 0.05 or sequential > 0.05)
    t_rate = missed(differences, lambda n: stats.t.ppf(0.975, n - 1) / math.sqrt(n)).mean()
    assert t_rate == pytest.approx(once, abs=0.025)


def test_several_comparisons_together_miss_rarely():
    """Four groups compared with one reference, so that their differences are correlated."""
    runs = np.random.default_rng(2).normal(size=(5, 2000, 64))
    split = [missed(run - runs[0], lambda n: radius(n, 0.05 / 4)) for run in runs[1:]]
    assert np.any(split, axis=0).mean() < 0.05
    whole = [missed(run - runs[0], radius) for run in runs[1:]]
    assert np.any(whole, axis=0).mean() > 0.05


@pytest.mark.parametrize("n", [2, 5, 7])
def test_sequential_p_is_the_ratio_of_likelihoods_by_numeric_integration(n):
    """Of the t statistic: central, to noncentral with standard normal effects."""
    for shift in (-0.6, -0.3, 0.0, 0.2):
        t = stats.ttest_1samp(SEVEN[:n] + shift, 0).statistic
        mixed, _ = integrate.quad(
            lambda d, t=t: stats.nct.pdf(t, n - 1, d * math.sqrt(n)) * stats.norm.pdf(d),
            *(-8, 8),
            points=[0],
            limit=200,
        )
        expected = min(1.0, stats.t.pdf(t, n - 1) / mixed)
        assert sequential_interval(SEVEN[:n] + shift).p == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40)
@given(st.integers(5, 40), st.integers(0, 99), st.sampled_from([0.05, 0.2]))
def test_the_sequential_ends_are_where_p_is_alpha(n, seed, alpha):
    values = np.random.default_rng(seed).normal(3, 2, n)
    _, _, low, high, _ = sequential_interval(values, alpha)
    assert sequential_interval(values - low).p == pytest.approx(alpha)
    assert sequential_interval(values - high).p == pytest.approx(alpha)


def test_there_are_no_sequential_ends_with_too_few_seeds_for_a_verdict():
    assert enough_seeds() == enough_seeds(1, sequential=True) == 5
    assert [math.isinf(radius(n)) for n in (1, 2, 3, 4, 5)] == [True] * 4 + [False]
    assert sequential_interval(SEVEN[:4])[:4] == (4, pytest.approx(SEVEN[:4].mean()), None, None)
    assert sequential_interval([0.5]) == (1, 0.5, None, None, None)
    assert [enough_seeds(n, sequential=True) for n in (6, 7)] == [6, 7]


@pytest.mark.parametrize(
    ("differences", "direction", "verdict"),
    [
        (SEVEN[:4] + 9, 1, "too few seeds"),  # too few for an interval
        (SEVEN - 0.2, 1, "undecided"),
        (SEVEN + 1, -1, "worse"),
        (-1 - SEVEN, -1, "better"),
        (SEVEN + 1, 0, "higher"),
        (np.ones(7), 1, "no spread"),
        (ZEROS, 1, "identical"),
    ],
)
def test_sequential_verdicts(differences, direction, verdict):
    (row,) = judge([(differences, ZEROS[: len(differences)])], direction, sequential=True)
    assert row.verdict == verdict


def test_sequential_comparisons_share_alpha():
    pairs = [(SEVEN + 1, ZEROS), (ZEROS, SEVEN + 1), ([], [])]
    first, second, third = judge(pairs, 1, sequential=True)
    assert first[:5] == pytest.approx(sequential_interval(SEVEN + 1, 0.05 / 3))
    assert first.p_corrected == pytest.approx(3 * first.p)
    assert [row.verdict for row in (first, second, third)] == ["better", "worse", "no shared seed"]
