"""The number of seeds that a difference needs, computed from run folders."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from compared_runs import BETTER, NONE, SAME, write_group, write_run
from scipy import stats

from attnlab.compare.grouping import Choice
from attnlab.compare.metrics import Amount
from attnlab.compare.planning import formats
from attnlab.compare.planning.plan import Goal, plan
from attnlab.compare.planning.power import power
from attnlab.compare.selection import Filters
from attnlab.errors import RequestError
from attnlab.records.run_directory import list_runs
from attnlab.terminal import duration


@pytest.fixture
def two_groups(tmp_path):
    """Synthetic runs of five seeds for none and bahdanau; tests may add runs."""
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER)
    return tmp_path


def plans(runs, difference="0.02", *, power=0.8, alpha=0.05, **choice):
    goal = Goal(Amount.parse("--difference", difference), power, alpha)
    return plan(list_runs(runs), Choice(**choice), goal)


def only(runs, *words, **options):
    (found,) = plans(runs, *words, **options).tasks
    return found


def group_plans(found):
    return {each.group.label: each for each in found.plans}


def test_the_seeds_follow_from_the_paired_differences(two_groups):
    (found,) = only(two_groups).plans
    deviation = np.std(np.subtract(BETTER, NONE), ddof=1)
    assert (found.n, found.spread.deviation) == (5, pytest.approx(deviation))
    seeds, low, high = found.needed
    assert low < seeds < high
    for number, end in ((seeds, deviation), (high, found.spread.high)):
        assert power(0.02 / end, number) >= 0.8 > power(0.02 / end, number - 1)
    assert found.detectable < deviation * 2.1  # power(2.024, 5) is 0.8
    assert power(found.detectable / deviation, 5) == pytest.approx(0.8)


def test_no_fewer_seeds_than_a_comparison_judges(two_groups):
    (found,) = only(two_groups, "100").plans
    assert found.needed == (5, 5, 5)
    assert (found.missing, only(two_groups, "100").missing) == (0, 0)


def test_several_tests_share_alpha(three_groups):
    found = only(three_groups, alpha=0.04)
    assert [each.group.label for each in found.plans] == ["bahdanau", "pooling"]
    assert found.level == 0.02
    needed = group_plans(found)["pooling"].needed.seeds
    effect = 0.02 / np.std(np.subtract(SAME, NONE), ddof=1)
    assert power(effect, needed, 0.02) >= 0.8 > power(effect, needed - 1, 0.02)


def test_another_reference_and_metric(three_groups):
    found = only(three_groups, reference="pooling", metric="mae")
    assert found.groups.reference.label == "pooling"
    assert found.groups.metric.path == "mae"
    assert set(group_plans(found)) == {"none", "bahdanau"}


def test_percentages_are_relative_to_the_references_mean(two_groups):
    assert only(two_groups, "5%").difference == pytest.approx(0.05 * np.mean(NONE))
    assert only(two_groups, "5%", geometric=True).difference == pytest.approx(np.log(1.05))


def test_ratios_have_the_spread_of_logarithms(two_groups):
    (found,) = only(two_groups, "5%", geometric=True).plans
    logs = np.log(BETTER) - np.log(NONE)
    assert found.spread.deviation == pytest.approx(np.std(logs, ddof=1))
    low = stats.chi2.ppf(0.975, 4)
    assert found.spread.low == pytest.approx(found.spread.deviation * np.sqrt(4 / low))


def test_a_ratio_that_is_too_large_is_written_as_infinite(tmp_path):
    write_group(tmp_path, "none", [1e-30, 1e30])
    write_group(tmp_path, "bahdanau", [1e30, 1e-30])
    assert "| inf |" in formats.markdown(plans(tmp_path, "5%", geometric=True))


def test_existing_runs_are_not_counted_again(tmp_path):
    write_group(tmp_path, "none", [*NONE, 1.0, 1.1], metrics={"seconds": 10})
    write_group(tmp_path, "bahdanau", BETTER, metrics={"seconds": 20})
    found = only(tmp_path, "0.015")
    (own,) = found.plans
    assert own.needed.seeds == 9
    # Each begins a minute after the one before: seeds 5 to 8 of the one, 7 and 8 of the other.
    assert own.missing == found.missing == 4 + 2
    assert own.seconds_per_seed == 30
    assert own.seconds == found.seconds == 4 * 20 + 2 * 10


def test_the_references_runs_are_counted_once(tmp_path):
    for name, values in (("none", NONE), ("bahdanau", BETTER), ("pooling", SAME)):
        write_group(tmp_path, name, values, metrics={"seconds": 10})
    found = only(tmp_path)
    more = [each.needed.seeds - 5 for each in found.plans]
    assert [each.missing for each in found.plans] == [2 * number for number in more]
    assert found.missing == sum(more) + max(more)


def test_seconds_of_stacked_runs_are_shared(tmp_path):
    """Two runs at once for 40 s, then one of them for 20 s."""
    started = {"started": "2026-05-01T00:00:00+00:00"}
    write_run(tmp_path, "none", 0, 1.0, metrics={"seconds": 40}, status=started)
    write_run(tmp_path, "bahdanau", 0, 1.1, metrics={"seconds": 60}, status=started)
    later = {"started": "2026-05-01T01:00:00+00:00"}
    write_run(tmp_path, "none", 1, 1.0, metrics={"seconds": 30}, status=later)
    write_run(tmp_path, "bahdanau", 1, 1.2, metrics={"seconds": 30}, status=later)
    (found,) = only(tmp_path).plans
    assert found.seconds_per_seed == pytest.approx((20 + 15) / 2 + (40 + 15) / 2)


def test_runs_that_are_left_out_shared_their_time_too(tmp_path):
    together = {"started": "2026-05-01T00:00:00+00:00"}
    for name in ("none", "bahdanau"):
        write_group(tmp_path, name, NONE[:4], metrics={"seconds": 40}, status=together)
    filters = Filters(where=("seed=0,1",))
    everything = list_runs(tmp_path)
    goal = Goal(Amount.parse("--difference", "1"))
    (found,) = plan(filters.apply(everything), Choice(), goal, others=everything).tasks
    assert (found.plans[0].n, found.plans[0].seconds_per_seed) == (2, pytest.approx(10))


def test_without_recorded_seconds_there_is_no_time_estimate(two_groups):
    (found,) = only(two_groups).plans
    assert (found.seconds_per_seed, found.seconds) == (None, None)
    assert "| - | - |" in formats.markdown(plans(two_groups))


def test_groups_with_too_few_shared_seeds_have_no_numbers(two_groups):
    write_run(two_groups, "pooling", 0, 1.0)
    write_group(two_groups, "luong_global", np.add(NONE, 0.5))
    found = plans(two_groups)
    own = group_plans(found.tasks[0])
    assert (own["pooling"].n, own["pooling"].spread, own["pooling"].missing) == (1, None, None)
    assert own["luong_global"].spread.deviation == 0.0
    assert own["luong_global"].needed is own["luong_global"].detectable is None
    assert (found.tasks[0].missing, found.tasks[0].seconds) == (None, None)
    text = formats.markdown(found)
    assert "the total number of missing runs is unknown" in text
    assert "| `pooling` | 1 | - | - | - | - | - | - |" in text
    assert "if all differences are equal" in text


def test_too_small_a_difference_needs_more_seeds_than_are_counted(two_groups):
    found = plans(two_groups, "1e-6")
    assert found.tasks[0].plans[0].needed == (None, None, None)
    assert ">10,000 (>10,000 to >10,000) | - |" in formats.markdown(found)
    assert "no run is missing" not in formats.markdown(found)
    (task,) = json.loads(formats.as_json(found))["tasks"]
    assert (task["missing_runs"], task["missing_seconds"]) == (None, None)


def test_with_equal_differences_the_missing_runs_are_counted(two_groups):
    write_group(two_groups, "luong_global", np.add(NONE, 0.5))
    found = only(two_groups)
    assert found.missing == group_plans(found)["bahdanau"].missing > 0


def test_equal_differences_of_few_seeds_decide_nothing(tmp_path):
    write_group(tmp_path, "none", NONE[:2])
    write_group(tmp_path, "bahdanau", np.add(NONE[:2], 0.5))
    assert only(tmp_path).missing is None


def test_ratios_near_one_show_their_difference_from_one(tmp_path):
    write_group(tmp_path, "none", np.add(NONE, 50))
    write_group(tmp_path, "bahdanau", [50 + v + at / 1e3 for at, v in enumerate(NONE)])
    text = formats.markdown(plans(tmp_path, "0.002%", geometric=True))
    assert "a ratio of 1.000020 to no attention" in text and "| 1 |" not in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"difference": "0"}, r"--difference=0: must be a number above 0 such as 0\.5"),
        ({"difference": "-1"}, "--difference=.*: must be a number above 0"),
        ({"difference": "nan%"}, "--difference=.*: must be a number above 0"),
        ({"difference": "five"}, "--difference=five: "),
        ({"geometric": True}, "--difference=.*: must be a percentage such as 5% with --geometric"),
        ({"power": 1.0}, r"--power=1: must be between --alpha \(0\.05\) and 1\."),
        ({"power": 0.04}, "--power=0.04: must"),
        ({"power": float("nan")}, "--power=nan: must"),
        ({"alpha": 0.0}, "--alpha=0: must be between 0 and 1"),
        ({"metric": "rmsee"}, r"--metric: expected one of .* Did you mean rmse\?"),
        ({"reference": "luong"}, "--reference: no group is 'luong'. Groups: bahdanau, none."),
    ],
    ids=str,
)
def test_a_wrong_goal_gets_one_sentence(two_groups, words, text):
    with pytest.raises(RequestError, match=text) as caught:
        plans(two_groups, **words)
    assert "\n" not in str(caught.value)


def test_two_groups_with_two_shared_seeds_are_needed(tmp_path):
    write_group(tmp_path, "none", NONE)
    with pytest.raises(RequestError, match="two groups that share two seeds. .* one group"):
        plans(tmp_path)
    write_run(tmp_path, "bahdanau", 0, 1.0)
    write_run(tmp_path, "pooling", 7, 1.0)
    with pytest.raises(RequestError, match="no attention: bahdanau 1, pooling 0"):
        plans(tmp_path)


def test_a_share_of_nothing_is_refused(tmp_path):
    write_group(tmp_path, "none", [-1.0, 1.0], metrics={"extra": {"gain": 0.0}})
    write_group(tmp_path, "bahdanau", [-1.0, 1.5])
    with pytest.raises(RequestError, match="because the reference's mean is 0"):
        plans(tmp_path, "5%")


def test_another_task_with_too_few_runs_is_left_out(two_groups):
    write_group(two_groups, "none", NONE, task="fib")
    found = plans(two_groups)
    assert [each.groups.task for each in found.tasks] == ["sunspots"]
    assert found.left_out == [
        "fib: there is only one group, so there is nothing to compare it with"
    ]


def test_csv_and_json_have_full_digits(three_groups):
    found = plans(three_groups)
    rows = list(csv.DictReader(io.StringIO(formats.comma_separated(found))))
    (task,) = json.loads(formats.as_json(found))["tasks"]
    first = found.tasks[0].plans[0]
    for row, group in zip(rows, task["groups"], strict=True):
        assert (row["attention"], float(row["sd"])) == (group["attention"], group["sd"])
        assert row["difference"] == "0.02" and row["power"] == "0.8"
    assert task["groups"][0]["seeds_high"] == int(rows[0]["seeds_high"]) == first.needed.high
    assert float(rows[0]["detectable"]) == first.detectable


@pytest.mark.parametrize("columns", [80, 100])
def test_the_table_fits_the_terminal(three_groups, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    file = io.StringIO()
    file.isatty = lambda: columns < 100
    formats.print_plans(plans(three_groups), file)
    lines = file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert lines[1] == "to find a difference of 0.02 to no attention"
    (row,) = [line.split() for line in lines if line.startswith("bahdanau")]
    assert row[1] == "5" and row[2].startswith("0.01")
    assert ("a wider terminal also shows" in file.getvalue()) == (columns < 100)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.0, "0 s"),
        (63.2, "63 s"),
        (120.0, "2 min"),
        (8000.0, "2.2 h"),
        (1e6, "12 days"),
        (99.6, "100 s"),
        (1.2e9, "13,889 days"),
    ],
)
def test_times_are_written_in_units_that_fit(seconds, written):
    assert duration(seconds) == written
