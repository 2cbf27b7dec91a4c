"""Power, compared with scipy.stats, G*Power's manual, Cohen's tables and a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attnlab.compare.planning.power import MOST_SEEDS, detectable, power, seeds_for, spread


def test_the_power_is_that_of_the_manual_of_gpower():
    """The manual's example of matched pairs (Cohen 1969, page 48): 50 pairs, dz 0.421637."""
    assert power(0.421637, 50) == pytest.approx(0.832114, abs=1e-6)


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_cohens_small_medium_and_large_effects_need_as_many_pairs_as_in_gpower(effect, seeds):
    assert seeds_for(effect, 0.8) == seeds


@settings(max_examples=60)
@given(st.floats(-3, 3), st.integers(2, 300), st.sampled_from([0.001, 0.05, 0.2]))
def test_the_power_is_that_of_the_noncentral_t(effect, n, alpha):
    critical = stats.t.isf(alpha / 2, n - 1)
    noncentrality = abs(effect) * np.sqrt(n)
    lower = np.nan_to_num(stats.nct.cdf(-critical, n - 1, noncentrality))  # NaN where it is tiny
    expected = lower + stats.nct.sf(critical, n - 1, noncentrality)
    assert power(effect, n, alpha) == pytest.approx(expected, abs=1e-9)


def test_without_an_effect_the_power_is_the_level():
    assert [power(0.0, n, 0.03) for n in (2, 7)] == pytest.approx([0.03, 0.03])


def test_simulated_tests_find_the_effect_as_often_as_computed():
    differences = np.random.default_rng(0).normal(0.9, 1, (20_000, 7))
    found = stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(power(0.9, 7), abs=0.01)


@pytest.mark.parametrize("wanted", [0.1, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("effect", [0.05, 0.4, 0.9])
def test_the_fewest_seeds_are_enough_and_one_fewer_is_not(effect, wanted):
    seeds = seeds_for(effect, wanted)
    assert power(effect, seeds) >= wanted > power(effect, seeds - 1)


def test_two_seeds_find_huge_effects_and_no_number_finds_tiny_ones():
    assert seeds_for(1e6, 0.8) == 2
    assert seeds_for(0.02, 0.8) is None
    assert MOST_SEEDS / 2 < seeds_for(0.03, 0.8) < MOST_SEEDS


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("wanted", [0.06, 0.8, 0.999])
def test_the_effect_that_seeds_detect_has_the_power(n, wanted):
    assert power(detectable(n, wanted), n) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
@pytest.mark.parametrize("n", [2, 3])
def test_few_seeds_at_a_small_level_find_only_huge_effects(n, alpha):
    """With T ~ (Z + noncentrality) / S, by the quantiles of S."""
    found = detectable(n, 0.8, alpha)
    spreads = np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, n - 1) / (n - 1))
    critical = stats.t.isf(alpha / 2, n - 1)
    expected = stats.norm.sf(critical * spreads - found * np.sqrt(n)).mean()
    assert expected == pytest.approx(0.8, abs=1e-3)


def test_the_power_is_defined_for_huge_effects():
    below, above = (power(factor * 1000 / np.sqrt(2), 2, 1e-3) for factor in (0.9999, 1.0001))
    assert below == pytest.approx(above, abs=1e-3)
    assert below < above < 1


def test_the_spread_has_the_interval_of_chi_square():
    values = [0.31, 0.29, 0.42, 0.35, 0.27]
    found = spread(values)
    low, high = stats.chi2.ppf([0.025, 0.975], 4)
    assert found[:2] == (5, pytest.approx(np.std(values, ddof=1)))
    assert found.low == pytest.approx(found.deviation * np.sqrt(4 / high))
    assert found.high == pytest.approx(found.deviation * np.sqrt(4 / low))


def test_its_interval_has_the_promised_coverage():
    drawn = np.random.default_rng(0).normal(0, 2, (4000, 4))
    held = [found.low < 2 < found.high for found in map(spread, drawn)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)


def test_equal_values_have_no_spread():
    assert spread([0.1, 0.1, 0.1]) == (3, 0.0, 0.0, 0.0)
