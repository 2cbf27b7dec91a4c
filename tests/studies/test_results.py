"""A study's verdicts, answers and table."""

from __future__ import annotations

import csv
import io

import pytest
from compared_runs import BETTER, NONE, SAME
from scipy import stats

from attnlab.compare.curves import baseline_values
from attnlab.compare.statistics import Interval
from attnlab.records.run_directory import list_runs
from attnlab.studies.page import report_html, report_md
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
        (0.3, INTERVAL, -1, "worse"),
        (0.3, INTERVAL, 1, "better"),
        (0.5, Interval(1, 0.5), 1, "one seed"),
    ],
)
def test_a_published_number_is_held_against_the_interval(published, interval, direction, expected):
    assert verdict(published, interval, direction) == expected


def number(attention, value, **more):
    return Published({"attention": attention}, "rmse", value, "theirs", "a paper", **more)


@pytest.fixture
def found(three_groups):
    published = [
        number("none", 1.05),
        number("bahdanau", 2.0),
        number("pooling", 1.0, why="other windows"),
        number("multi_head", 1.0),
    ]
    study = Study("mine", "Is it so?", ["task=sunspots"], "attention", published=published)
    return results(study, list_runs(three_groups))


def test_each_published_number_has_its_group_and_verdict(found):
    assert [cell.verdict for cell in found.cells] == [
        *("reproduced", "better", "not comparable", "no run")
    ]
    low, high = stats.t.interval(0.95, 4, sum(NONE) / 5, stats.sem(NONE))
    assert found.cells[0].result.interval[2:] == pytest.approx((low, high))
    assert [each.where["attention"] for each in found.missing] == ["multi_head"]


def test_the_table_has_ours_baselines_and_what_was_published(found):
    rows = list(csv.DictReader(io.StringIO(table_csv(found))))
    ours = {row["attention"]: row for row in rows if row["who"] == "ours"}
    assert float(ours["bahdanau"]["mean"]) == pytest.approx(sum(BETTER) / 5)
    assert float(ours["pooling"]["high"]) == pytest.approx(
        stats.t.interval(0.95, 4, sum(SAME) / 5, stats.sem(SAME))[1]
    )
    published = [row for row in rows if row["who"] == "published"]
    assert [row["verdict"] for row in published][1] == "better"
    assert float(published[1]["ours_mean"]) == pytest.approx(sum(BETTER) / 5)
    assert {row["name"] for row in rows if row["who"] == "baseline"} == set(
        baseline_values(found.main.tasks[0])
    )


def test_the_report_has_it_all_in_words(found):
    text = report_md(found)
    assert "| attention=bahdanau | theirs, a paper | rmse | 2 | 0.958 [0.8" in text
    assert "not comparable: other windows" in text
    assert "attnlab -m task=sunspots" in text


def test_the_page_has_what_was_published_and_the_commands(found, three_groups):
    told = {"made": "today", "about": "a test", "told": lambda text: None}
    text = report_html(found, list_runs(three_groups), **told)
    assert "Beside what was published" in text and "not comparable: other windows" in text
    assert text.index("Is it so?") < text.index("Beside what was published")
    assert "attnlab -m task=sunspots" in text
