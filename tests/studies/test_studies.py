"""The YAML of a study, the shipped studies, and the comparison with published numbers."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from compared_runs import BETTER, NONE, SAME, write_group
from hydra.core.override_parser.overrides_parser import OverridesParser
from scipy import stats

from attnlab.comparison.charts import baseline_values
from attnlab.comparison.statistics import Interval, t_interval
from attnlab.errors import RequestError
from attnlab.records.run_directory import list_runs
from attnlab.studies import study as studies
from attnlab.studies.results import published_table, results, table_csv, verdict, write_report
from attnlab.studies.study import Published, Study

PUBLISHED = {
    **{"where": {"attention": "none"}, "metric": "mse", "value": 2.6e-5},
    **{"system": "theirs", "source": "a book"},
}
SEVERAL = {key: value for key, value in PUBLISHED.items() if key != "value"}
WHOLE = {
    "question": "Is it so?",
    "runs": ["task=fib attention=none,bahdanau"],
    "by": "attention",
    "seeds": 3,
    "published": [PUBLISHED],
    "quick": {"seeds": 2, "words": ["trainer.epochs=2"]},
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A study of the user, with changes."""
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "study").mkdir()

    def write(**changes):
        (tmp_path / "study/mine.yaml").write_text(yaml.safe_dump({**WHOLE, **changes}))

    return write


def test_the_users_study_is_one_yaml_with_a_quick_form(write):
    write(minutes=3)
    assert "mine" in studies.names()
    study, quick = studies.read("mine"), studies.read("mine", quick=True)
    assert (study.seeds, study.title, study.words, study.minutes) == (3, "mine", [], 3)
    assert study.published[0].where == {"attention": "none"}
    assert (quick.seeds, quick.title) == (2, "mine-quick")
    assert list(quick.words) == ["trainer.epochs=2"]


def test_runs_trained_first_may_be_in_any_folder(write):
    write(first="task=masked_words", runs=["task=classify model.path={first}"])
    study = replace(studies.read("mine"), added=["hydra/launcher=joblib", "++tracking.enabled=0"])
    assert study.title == "mine"  # none of these settings decides results
    first, words = study.commands(Path("/tm'p\\ü, (1)"))
    assert first[3:5] == ["hydra/launcher=joblib", "++tracking.enabled=0"]
    (path,) = [word for word in words if word.startswith("model.path")]
    value = OverridesParser.create().parse_override(path).value()
    assert str(value) == "/tm'p\\ü, (1)/sweeps/study-mine-first"


def test_shipped_studies_can_be_read_and_typed():
    for name in studies.names():
        for study in (studies.read(name), studies.read(name, quick=True)):
            assert study.seeds >= 2
            for words in study.commands(None):
                assert all("=" in word or word[0] in "~-" for word in words), name


def test_a_row_of_a_table_is_one_entry(write):
    where = {"attention": "none", "model.at_once": None}
    write(published=[{**SEVERAL, "where": where, "each": "task.horizon", "values": {1: 0.5, 6: 1}}])
    first, second = studies.read("mine").published
    assert first.where == {"attention": "none", "model.at_once": "null", "task.horizon": "1"}
    assert (first.value, second.where["task.horizon"], second.value) == (0.5, "6", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": ["task='fib"]}, "study mine: runs: No closing quotation."),
        ({"seeds": 1}, "expected at least one grid in runs and two seeds."),
        ({"sedes": 4}, "study mine: sedes: Key 'sedes' not in 'Study'."),
        ({"published": [{**PUBLISHED, "metric": "msee"}]}, "got 'msee'. Did you mean mse?"),
        ({"published": [{**SEVERAL, "values": {1: 0.5}}]}, "values: Key 'values' not in"),
    ],
)
def test_a_wrong_study_is_refused_in_one_sentence(write, changes, message):
    write(**changes)
    with pytest.raises(RequestError) as refused:
        studies.read("mine")
    assert message in str(refused.value)


INTERVAL = Interval(5, 0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("published", "interval", "direction", "expected"),
    [
        (0.45, INTERVAL, -1, "reproduced"),
        (0.7, INTERVAL, -1, "better"),
        (0.7, INTERVAL, 1, "worse"),
        (0.5, Interval(1, 0.5), 1, "too few seeds"),
        (0.1, Interval(4, 0.5, 0.4, 0.6), 1, "too few seeds"),
    ],
)
def test_a_published_number_is_compared_with_the_interval(published, interval, direction, expected):
    assert verdict(published, interval, direction) == expected


def number(attention, value, **more):
    return Published({"attention": attention}, "rmse", value, "theirs", "a paper", **more)


def compared_study(runs, published, **more):
    study = Study("mine", "Is it so?", ["task=sunspots"], "attention", published=published, **more)
    return results(study, list_runs(runs))


def csv_rows(outcome, who):
    rows = csv.DictReader(io.StringIO(table_csv(outcome)))
    return [row for row in rows if row["who"] == who]


def test_the_report_has_our_results_baselines_and_published_numbers(three_groups, tmp_path):
    published = [
        number("none", 1.05),
        number("bahdanau", 2.0),
        number("pooling", 1.0, why="other windows"),
        number("multi_head", 1.0),
    ]
    outcome = compared_study(three_groups, published)
    ours = {row["attention"]: row for row in csv_rows(outcome, "ours")}
    assert float(ours["bahdanau"]["mean"]) == pytest.approx(sum(BETTER) / 5)
    assert float(ours["pooling"]["high"]) == pytest.approx(
        stats.t.interval(0.95, 4, sum(SAME) / 5, stats.sem(SAME))[1]
    )
    rows = csv_rows(outcome, "published")
    assert [row["verdict"] for row in rows] == [
        *("reproduced", "better", "not comparable", "no run")
    ]
    assert float(rows[1]["ours_mean"]) == pytest.approx(sum(BETTER) / 5)
    names = [row["name"] for row in csv_rows(outcome, "baseline")]
    assert names == [*baseline_values(outcome.main.tasks[0])]

    folder, runs = tmp_path / "report", Path("my runs")
    write_report(outcome, list_runs(three_groups), folder, runs=runs, announce=lambda text: None)
    page = (folder / "report.html").read_text()
    assert "Compared with published numbers" in page and "not comparable: other windows" in page
    assert page.index("Is it so?") < page.index("Compared with published numbers")
    assert "attnlab -m task=sunspots" in page and "paths.runs=" in page
    assert (folder / "table.csv").is_file() and (folder / "comparison.png").is_file()


def test_published_numbers_are_compared_with_runs_of_their_own_table(tmp_path):
    """`within` separates horizons, whose errors differ; `where` may choose one of them."""
    for horizon, times in ((1, 1.0), (6, 3.0)):
        for attention, values in (("none", NONE), ("bahdanau", BETTER)):
            config = {"task.horizon": horizon}
            write_group(tmp_path, attention, [times * value for value in values], config=config)
    where = {"attention": "none", "task.horizon": "1"}
    published = [
        replace(number("none", 1.05), where=where),
        replace(number("none", 1.05), where={**where, "task.horizon": "6"}),
        number("none", 1.05),  # which horizon?
    ]
    outcome = compared_study(tmp_path, published, within="task.horizon")
    assert [task.name for task in outcome.main.tasks] == [
        *("sunspots horizon=1", "sunspots horizon=6")
    ]
    assert [cell.verdict for cell in outcome.cells] == ["reproduced", "worse", "several groups"]
    ours = {(row["data"], row["attention"]): row for row in csv_rows(outcome, "ours")}
    assert float(ours["horizon=6", "none"]["mean"]) == pytest.approx(3 * sum(NONE) / 5)


def test_a_result_different_from_a_published_number_is_written_differently(three_groups):
    published = round(t_interval(BETTER).low, 3)
    row = published_table(compared_study(three_groups, [number("bahdanau", published)])).rows[0]
    assert f"{published:g}" in row and f"[{published:.3f}," not in row[5]


@pytest.mark.parametrize(("scale", "text"), [(2.603e-5, "0.000026"), (1e-5, "2.6e-05")])
def test_a_row_has_one_notation(tmp_path, scale, text):
    write_group(tmp_path, "none", [value * scale / 1.06 for value in NONE])
    (row,) = published_table(compared_study(tmp_path, [number("none", 2.6e-5)])).rows
    assert row[4] == text and ("e-" in row[5]) == ("e-" in text)


def test_baselines_that_beat_published_numbers_are_named(tmp_path):
    baselines = {"persistence": {"rmse": 0.9}, "linear": {"rmse": 0.5}, "train_mean": {"rmse": 1.1}}
    write_group(tmp_path, "none", NONE, metrics={"baselines": baselines})
    row = published_table(compared_study(tmp_path, [number("none", 1.05)])).rows[0]
    assert row[:5] == ["attention=none", "theirs, a paper", "linear, persistence", "rmse", "1.05"]


def test_published_numbers_without_a_counterpart_are_reported(three_groups):
    published = [replace(number("none", 1.0), metric="mase.of.nothing")]
    first, second = compared_study(three_groups, published, reference="dot").main.left_out
    assert first == "No run of the reference, dot, is completed."
    assert second.startswith("--metric: expected one of ") and "mase.of.nothing" in second
