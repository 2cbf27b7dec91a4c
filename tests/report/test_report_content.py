"""The content of a page about runs, and its notes on missing files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compared_runs import BETTER, NONE, only, write_group, write_translations
from run_folders import write_run
from scipy import stats

from attnlab.comparison.comparison import Options
from attnlab.errors import RequestError
from attnlab.records.run_directory import list_runs
from attnlab.report.page import runs_page
from attnlab.report.results import result_sentence
from attnlab.tasks.kinds import kinds, load
from attnlab.views.html.page import page_text
from attnlab.views.records import Curves, Intervals, Table, Text


def made(runs, *by: str, **options):
    options = Options(by or ("attention",), **options)
    return runs_page("title", list_runs(runs), options, made="now", about="about")


def parts(page, title: str, kind: type) -> list:
    (section,) = [s for s in page.sections if s.title == title]
    return [part for part in section.parts if isinstance(part, kind)]


def said(page, style: str = "warning") -> str:
    sections = [part for section in page.sections for part in section.parts]
    return "\n".join(p.text for p in sections if isinstance(p, Text) and p.style == style)


def test_the_results_of_groups_and_baselines(three_groups):
    page = made(three_groups)
    table, differences = parts(page, "Results", Table)
    low, high = stats.t.interval(0.95, 4, np.mean(BETTER), stats.sem(BETTER))
    rows = {row[0]: row for row in table.rows}
    assert rows["bahdanau"][1:4] == ["5", "0.958", f"{low:.3f} to {high:.3f}"]
    assert list(rows) == ["bahdanau", "pooling", "none", "baseline persistence"]
    assert rows["baseline persistence"][2] == "2.000"
    assert table.muted == {3}
    assert {row[0]: row[-1] for row in differences.rows}["bahdanau"] == "better"
    (chart,) = parts(page, "Results", Intervals)
    assert {row.label: row.values for row in chart.rows}["no attention"] == list(NONE)
    assert chart.lines == [("persistence", 2.0)]
    (sentence,) = page.result
    assert 2 * stats.ttest_rel(BETTER, NONE).pvalue < 0.001  # Holm: the smaller one of two
    assert sentence.startswith(
        "sunspots: of 3 groups bahdanau has the best mean of the test RMSE, 0.958 sunspots (5 seeds"
    )
    assert "; compared with no attention: better, p < 0.001. The best" in sentence
    assert sentence.endswith("The best baseline, persistence, has 2.000.")
    differing, alike = parts(page, "Settings", Table)
    assert ["seed", "0 (3), 1 (3), 2 (3), 3 (3), 4 (3)"] in differing.rows
    assert ["model.units", "16"] in alike.rows
    (versions,) = parts(page, "Versions and machine", Table)
    assert ["packages.keras", "3.15.1"] in versions.rows


def test_the_sentence_has_the_verdicts_of_paired_tests(tmp_path):
    for number, (none, other, said) in enumerate(
        (
            ([*NONE, *[0.1] * 5], BETTER, "; the others compared with it: better (1 group)."),
            (
                NONE,
                [value + 0.5 for value in NONE],
                "; the others compared with it: no spread (1 group).",
            ),
            (NONE[:2], BETTER[:2], "; compared with no attention: too few seeds."),
        )
    ):
        write_group(tmp_path / str(number), "none", none)
        write_group(tmp_path / str(number), "bahdanau", other)
        assert said in result_sentence(only(tmp_path / str(number)))


def test_curves_are_means_between_the_lowest_and_the_highest_seed(three_groups, tmp_path):
    for seed, loss in enumerate((1.0, 2.0, 6.0)):
        run = write_run(tmp_path, "none", seed, 1.0)
        run.history.replace([{"epoch": n, "seconds": 1, "val_loss": loss / n} for n in (1, 2)])
    (chart,) = parts(made(tmp_path), "Results", Curves)
    (curve,) = chart.curves
    assert (curve.y, curve.low, curve.high) == ([3.0, 1.5], [1.0, 0.5], [6.0, 3.0])
    assert list(chart.x) == [1, 2]


def test_a_note_says_which_runs_represent_their_groups(three_groups, tmp_path):
    (text,) = [p.text for p in parts(made(three_groups), "Forecasts", Text) if p.style == "note"]
    assert "the run with the median result is shown: bahdanau seed 3, pooling seed 0, " in text
    assert (BETTER[3], NONE[3]) == (np.median(BETTER), np.median(NONE))
    for seed in range(8):
        write_run(tmp_path, "none", 0, 1.0 + seed, config={"model.units": seed})
    page = made(tmp_path, "model.units")
    assert "Of the first 6 groups the run with" in said(page, "note")
    assert len(parts(page, "Forecasts", Curves)[0].curves) == 7


def test_runs_of_two_mechanisms_with_folders_of_one_name_are_two(tmp_path):
    for attention, units in (("none", 16), ("bahdanau", 32)):
        path = write_run(tmp_path, attention, 0, 1.0, config={"model.units": units}).path
        path.rename(path.with_name("2026-05-01_000000_s0"))
    page = made(tmp_path)
    assert ["model.units", "16 (1), 32 (1)"] in parts(page, "Settings", Table)[0].rows
    (versions,) = parts(page, "Versions and machine", Table)
    assert versions.title == "the same in all 2 runs"


@pytest.fixture
def one(tmp_path):
    """A run, and a second one that remains if the first is damaged."""
    write_run(tmp_path, "none", 0, 1.0)
    return write_run(tmp_path, "bahdanau", 0, 2.0).path, tmp_path


def test_damaged_files_remove_only_their_part(one):
    path, runs = one
    (path / "history.csv").write_text("epoch,val_loss\n1,2\nx,y\n3,4\n")
    (path / "environment.json").write_text("{")
    for content in (None, "index,time\n1,2\n", "step\n"):
        (path / "predictions.csv").unlink()
        if content:
            (path / "predictions.csv").write_text(content)
        page = made(runs)
        assert "bahdanau: no predictions" in said(page) and "predictions.csv" in said(page)
        forecasts = parts(page, "Forecasts", Curves)[0].curves
        assert "no attention" in [curve.label for curve in forecasts]
        (path / "predictions.csv").touch()
    assert f"so no curve: sunspots/bahdanau/{path.name}." in said(page)
    (chart,) = parts(page, "Results", Curves)
    assert [curve.label for curve in chart.curves] == ["no attention"]
    text = f"environment.json is missing or damaged: sunspots/bahdanau/{path.name}."
    assert text in page_text(page)
    (path / "metrics.json").write_text("{")
    assert "left out" in said(made(runs)) and "metrics.json" in said(made(runs))


def test_runs_without_a_result_have_tables(tmp_path):
    for state, rmse, why in (
        ("failed", 1.0, "no run is completed; there are 1 failed."),
        ("completed", None, "sunspots: no run has a finite rmse"),
    ):
        write_run(tmp_path / state, "none", 0, rmse, state=state)
        page = made(tmp_path / state)
        assert why in page.result[0] and parts(page, "Settings", Table)
        assert parts(page, "Runs", Table)[0].rows[0][2] == state


def test_a_wrong_key_or_metric_is_refused(three_groups):
    for by, metric in (("atention", None), ("attention", "rmes"), ("seed", None)):
        with pytest.raises(RequestError, match="--by|--metric"):
            made(three_groups, by, metric=metric)


def test_several_tasks_have_sections_each(three_groups, tmp_path):
    write_run(tmp_path, "none", 0, 1.0)
    run = write_run(tmp_path, "none", 0, 30.0, task="translate")
    write_translations(run, ["ein Hund", "nichts"], ["ein Hund", "etwas"])
    page = made(tmp_path)
    titles = [section.title for section in page.sections]
    assert titles[0] == "Results: sunspots" and "Translations: translate" in titles
    assert len(page.result) == 2
    (table,) = parts(page, "Translations: translate", Table)
    assert table.rows == [
        ["source 1", "etwas", "nichts", "0.0"],
        ["source 0", "ein Hund", "ein Hund", "100.0"],
    ]


def test_a_hostile_run_folder_stays_text(tmp_path):
    hostile = "</script><b>boo"
    run = write_run(
        tmp_path,
        "none",
        0,
        1.0,
        config={"model.cell": hostile},
        metrics={"units": hostile, "notes": [hostile], "baselines": {hostile: {"rmse": 2.0}}},
        environment={"processor": hostile, "command": hostile, "user": "somebody"},
    )
    table = run.read_predictions()
    run.write_predictions({**table, "time": [hostile] * len(table["time"])})
    other = write_run(tmp_path, "none", 0, 1.0, task="translate")
    write_translations(other, [hostile], [hostile])
    text = page_text(made(tmp_path))
    assert "<b>" not in text and "somebody" not in text
    assert text.count("</script>") == text.count("<script")
    assert "&lt;/script&gt;&lt;b&gt;boo" in text and json.dumps("<").strip('"') in text


def test_every_kind_gives_the_sections_of_its_page():
    for kind in kinds():
        assert all(map(callable, load(kind.views).sections.values()))
