"""A study's verdicts, answers and table."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from compared_runs import BETTER, NONE, SAME, write_run
from scipy import stats

from attnlab.comparison.shown import baseline_values
from attnlab.comparison.statistics import Interval, t_interval
from attnlab.records.run_directory import list_runs
from attnlab.studies.page import published_tables, study_page
from attnlab.studies.results import results, table_csv, verdict
from attnlab.studies.study import Published, Study

INTERVAL = Interval(5, 0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("published", "interval", "direction", "expected"),
    [
        (0.45, INTERVAL, -1, "reproduced"),
        (0.6, INTERVAL, 1, "reproduced"),
        (0.7, INTERVAL, -1, "better"),
        (0.7, INTERVAL, 1, "worse"),
        (0.3, INTERVAL, 1, "better"),
        (0.5, Interval(1, 0.5), 1, "one seed"),
        (0.1, Interval(2, 0.5, -0.4, 1.4), 1, "too few seeds"),
        (0.1, Interval(2, 0.5, 0.4, 0.6), 1, "better"),
    ],
)
def test_a_published_number_is_compared_with_the_interval(published, interval, direction, expected):
    assert verdict(published, interval, direction) == expected


def number(attention, value, **more):
    return Published({"attention": attention}, "rmse", value, "theirs", "a paper", **more)


def study(published, **more):
    question, runs = "Is it so?", ["task=sunspots"]
    return Study("mine", question, runs, "attention", published=published, **more)


@pytest.fixture
def found(three_groups):
    published = [
        number("none", 1.05),
        number("bahdanau", 2.0),
        number("pooling", 1.0, why="other windows"),
        number("multi_head", 1.0),
    ]
    return results(study(published), list_runs(three_groups))


def test_the_table_has_our_results_baselines_and_published_numbers(found):
    rows = list(csv.DictReader(io.StringIO(table_csv(found))))
    ours = {row["attention"]: row for row in rows if row["who"] == "ours"}
    assert float(ours["bahdanau"]["mean"]) == pytest.approx(sum(BETTER) / 5)
    assert float(ours["pooling"]["high"]) == pytest.approx(
        stats.t.interval(0.95, 4, sum(SAME) / 5, stats.sem(SAME))[1]
    )
    published = [row for row in rows if row["who"] == "published"]
    assert [row["verdict"] for row in published] == [
        *("reproduced", "better", "not comparable", "no run")
    ]
    assert float(published[1]["ours_mean"]) == pytest.approx(sum(BETTER) / 5)
    assert {row["name"] for row in rows if row["who"] == "baseline"} == set(
        baseline_values(found.main.tasks[0])
    )


def test_cells_are_compared_with_runs_of_their_own_table(tmp_path):
    """`within` separates horizons, whose errors differ; `where` may choose one of them."""
    for horizon, times in ((1, 1.0), (6, 3.0)):
        config = {"task.horizon": horizon}
        for attention, values in (("none", NONE), ("bahdanau", BETTER)):
            for seed, value in enumerate(values):
                write_run(tmp_path, attention, seed, times * value, config=config)
    wanted = [
        Published({"attention": "none", "task.horizon": str(h)}, "rmse", 1.05, "theirs", "a paper")
        for h in (1, 6)
    ]
    found = results(study(wanted, within="task.horizon"), list_runs(tmp_path))
    assert [each.name for each in found.main.tasks] == ["sunspots horizon=1", "sunspots horizon=6"]
    assert [len(each.results) for each in found.main.tasks] == [2, 2]
    assert [cell.verdict for cell in found.cells] == ["reproduced", "worse"]
    either = [replace(wanted[0], where={"attention": "none"})]
    assert (
        results(study(either, within="task.horizon"), list_runs(tmp_path)).cells[0].result is None
    )  # which is meant?
    rows = list(csv.DictReader(io.StringIO(table_csv(found))))
    ours = {(row["data"], row["attention"]): row for row in rows if row["who"] == "ours"}
    assert float(ours["horizon=6", "none"]["mean"]) == pytest.approx(3 * sum(NONE) / 5)


def test_a_result_different_from_a_published_number_is_written_differently(three_groups):
    low = t_interval(BETTER).low
    published = round(low, 3)
    found = results(study([number("bahdanau", published)]), list_runs(three_groups))
    (table,) = published_tables(found)
    assert f"{published:g}" in table.rows[0] and f"[{published:.3f}," not in table.rows[0][5]


def test_baselines_that_beat_published_numbers_are_named(tmp_path):
    baselines = {"persistence": {"rmse": 0.9}, "linear": {"rmse": 0.5}, "train_mean": {"rmse": 1.1}}
    for seed, value in enumerate(NONE):
        write_run(tmp_path, "none", seed, value, metrics={"baselines": baselines})
    found = results(study([number("none", 1.05)]), list_runs(tmp_path))
    assert found.cells[0].beaten_by == ["linear", "persistence"]
    (table,) = published_tables(found)
    assert table.rows[0][:5] == [
        *("attention=none", "theirs, a paper", "linear, persistence", "rmse", "1.05")
    ]


def test_the_page_has_published_numbers_and_commands(found, three_groups):
    entries, announced = list_runs(three_groups), list[str]()
    text = study_page(
        found, entries, made="now", about="a test", announce=announced.append, runs="my runs"
    )
    assert "Compared with published numbers" in text and "not comparable: other windows" in text
    assert text.index("Is it so?") < text.index("Compared with published numbers")
    assert "attnlab -m task=sunspots" in text and "paths.runs=" in text


def test_published_numbers_without_a_counterpart_are_reported(three_groups):
    published = [replace(number("none", 1.0), metric="mase.of.nothing")]
    found = results(study(published, reference="dot"), list_runs(three_groups))
    told = found.main.left_out
    assert told[0] == "No run of the reference, dot, is completed."
    assert told[1].startswith("--metric: expected one of ") and "mase.of.nothing" in told[1]
