"""Sequential intervals, compared with scipy.stats, numeric integration and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from attnlab.comparison.statistics import (
    ENOUGH_SEEDS,
    first_bounded,
    judge,
    radius,
    sequential_interval,
    sequential_p,
)

SEVEN = np.array([0.31, 0.29, 0.42, 0.35, 0.27, -0.05, 0.4])
LOOKS = range(2, 65)
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


def t_radius(n):
    return stats.t.ppf(0.975, n - 1) / math.sqrt(n)


def missed(differences, half_width):
    """(trials,) whether the interval of the first n excludes 0 for any n."""
    is_missed = np.zeros(len(differences), bool)
    for n in LOOKS:
        part = differences[:, :n]
        is_missed |= np.abs(part.mean(axis=1)) > half_width(n) * part.std(axis=1, ddof=1)
    return is_missed


@pytest.mark.parametrize(("draw", "sequential", "once"), RATES.values(), ids=RATES)
def test_looking_after_each_seed_has_the_promised_error_rate(draw, sequential, once):
    differences = draw(np.random.default_rng(1), (4000, 64))
    rate = missed(differences, radius).mean()
    assert rate == pytest.approx(sequential, abs=0.015) and (rate < 0.05 or sequential > 0.05)
    assert missed(differences, t_radius).mean() == pytest.approx(once, abs=0.025)


def test_several_comparisons_together_miss_rarely():
    """Four groups compared with one reference, so that their differences are correlated."""
    runs = np.random.default_rng(2).normal(size=(5, 2000, 64))
    split = [missed(run - runs[0], lambda n: radius(n, 0.05 / 4)) for run in runs[1:]]
    assert np.any(split, axis=0).mean() < 0.05
    whole = [missed(run - runs[0], radius) for run in runs[1:]]
    assert np.any(whole, axis=0).mean() > 0.05


@pytest.mark.parametrize("shift", [-0.6, -0.3, 0.0, 0.2])
@pytest.mark.parametrize("n", [2, 5, 7])
def test_p_is_the_ratio_of_likelihoods_by_numeric_integration(n, shift):
    """Of the t statistic: central, to noncentral with standard normal effects."""
    differences = SEVEN[:n] + shift
    statistic = stats.ttest_1samp(differences, 0).statistic

    def likelihood(effect):
        density = stats.nct.pdf(statistic, n - 1, effect * math.sqrt(n))
        return density * stats.norm.pdf(effect)

    mixed, _ = integrate.quad(likelihood, -8, 8, points=[0], limit=200)
    expected = min(1.0, stats.t.pdf(statistic, n - 1) / mixed)
    assert sequential_p(differences) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40)
@given(st.integers(5, 40), st.integers(0, 99), st.sampled_from([0.05, 0.2]))
def test_the_ends_are_where_p_is_alpha(n, seed, alpha):
    values = np.random.default_rng(seed).normal(3, 2, n)
    _, _, low, high, _ = sequential_interval(values, alpha)
    assert sequential_p(values - low) == pytest.approx(alpha)
    assert sequential_p(values - high) == pytest.approx(alpha)


def test_there_are_no_ends_with_too_few_seeds_for_a_verdict():
    assert first_bounded() == ENOUGH_SEEDS
    assert [math.isinf(radius(n)) for n in (1, 2, 3, 4, 5)] == [True] * 4 + [False]
    assert sequential_interval(SEVEN[:4])[:4] == (4, pytest.approx(SEVEN[:4].mean()), None, None)
    assert sequential_interval([0.5]) == (1, 0.5, None, None, None)
    assert first_bounded(0.05 / 6) == 6 and first_bounded(0.05 / 7) == 7


@pytest.mark.parametrize(
    ("differences", "direction", "words"),
    [
        (SEVEN[:4] + 9, 1, "undecided"),  # too few for an interval
        (SEVEN - 0.2, 1, "undecided"),
        (SEVEN + 1, -1, "worse"),
        (-1 - SEVEN, -1, "better"),
        (SEVEN + 1, 0, "higher"),
        (np.ones(7), 1, "no spread"),
        (np.zeros(7), 1, "identical"),
        ([], 1, "no shared seed"),
    ],
)
def test_verdicts(differences, direction, words):
    pair = differences, np.zeros(len(differences))
    (row,) = judge([pair], direction, sequential=True)
    assert row.verdict == words


def test_comparisons_share_alpha():
    zeros = np.zeros(7)
    first, second, third = judge(
        [(SEVEN + 1, zeros), (zeros, SEVEN + 1), ([], [])], 1, sequential=True
    )
    expected = sequential_interval(SEVEN + 1, 0.05 / 3)
    assert first[:5] == pytest.approx(expected)
    assert first.p_corrected == pytest.approx(3 * first.p)
    assert (first.verdict, second.verdict) == ("better", "worse")
    assert (third.shared_seeds, third.verdict) == (0, "no shared seed")
