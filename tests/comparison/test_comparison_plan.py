"""The number of seeds that a difference needs: power by G*Power and simulation, runs by hand."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import BETTER, NONE, write_group
from run_folders import write_run
from scipy import stats

from attnlab.comparison.comparison import Options
from attnlab.comparison.plan import plan, power, seeds_for
from attnlab.errors import RequestError
from attnlab.records.run_directory import list_runs


@pytest.fixture
def two_groups(tmp_path):
    """Synthetic runs of five seeds for none and bahdanau; tests may add runs."""
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER)
    return tmp_path


def plans(runs, difference="0.02", **options):
    return plan(list_runs(runs), Options(**options), difference)


def rows(runs, *words, **options):
    return {row.group.label: row for row in plans(runs, *words, **options)[0]}


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_power_and_seeds_are_those_of_gpower(effect, seeds):
    """Its manual's example of matched pairs (Cohen 1969, page 48): 50 pairs, dz 0.421637."""
    assert power(0.421637, 50) == pytest.approx(0.832114, abs=1e-6)
    assert seeds_for(effect, 0.8) == seeds
    assert (seeds_for(1e6, 0.8), seeds_for(0.02, 0.8)) == (2, None)


def test_simulated_tests_find_the_effect_as_often_as_computed():
    differences = np.random.default_rng(0).normal(0.9, 1, (20_000, 7))
    is_found = stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05
    assert is_found.mean() == pytest.approx(power(0.9, 7), abs=0.01)


def test_the_seeds_follow_from_the_paired_differences(two_groups, three_groups):
    row = rows(two_groups)["bahdanau"]
    deviation = np.std(np.subtract(BETTER, NONE), ddof=1)
    low, high = stats.chi2.ppf([0.025, 0.975], 4)
    assert row.deviations == pytest.approx(deviation * np.sqrt([1, 4 / high, 4 / low]))
    assert row.seeds[1] <= row.seeds[0] <= row.seeds[2]
    for seeds, end in zip(row.seeds, row.deviations, strict=True):
        assert power(0.02 / end, seeds) >= 0.8
        assert seeds == 5 or power(0.02 / end, seeds - 1) < 0.8
    for row in rows(three_groups).values():  # two tests share alpha
        effect = 0.02 / row.deviations[0]
        assert power(effect, row.seeds[0] - 1, 0.025) < 0.8 <= power(effect, row.seeds[0], 0.025)


def test_percentages_are_relative_to_the_references_mean(two_groups):
    for geometric, size in ((False, 0.05 * np.mean(NONE)), (True, np.log(1.05))):
        row = rows(two_groups, "5%", geometric=geometric)["bahdanau"]
        assert row.difference == pytest.approx(size)


def test_existing_runs_are_not_counted_again_and_those_of_a_stack_share_its_time(tmp_path):
    stacked = {"together": 5}
    write_group(tmp_path, "none", [*NONE, 1.0, 1.1], metrics={"seconds": 10})
    write_group(tmp_path, "bahdanau", BETTER, metrics={"seconds": 100}, status=stacked)
    row = rows(tmp_path, "0.015")["bahdanau"]
    assert (row.seeds[0], row.missing) == (9, 4 + 2)
    assert row.seconds == 4 * 100 / 5 + 2 * 10


def test_groups_that_say_nothing_about_the_spread_are_left_out(two_groups, tmp_path_factory):
    write_run(two_groups, "pooling", 0, 1.0)
    write_group(two_groups, "luong_global", np.add(NONE, 0.5))
    (row,), left_out = plans(two_groups)
    assert row.group.label == "bahdanau"
    assert any("pooling: fewer than two shared seeds" in text for text in left_out)
    assert any("luong_global: equal differences" in text for text in left_out)
    one_group = tmp_path_factory.mktemp("one")
    write_group(one_group, "none", NONE)
    with pytest.raises(RequestError, match="two groups that share two seeds. .* one group"):
        plans(one_group)
