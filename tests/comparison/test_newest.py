"""The runs that are compared without filters."""

from __future__ import annotations

import json

import pytest
from compared_runs import write_run

from attnlab.comparison.selection import Filters, choose_runs
from attnlab.records.run_directory import list_runs


@pytest.fixture
def day(tmp_path):
    """A day's work: a study, two sweeps and single runs of two tasks, the oldest first."""
    write_run(tmp_path, "none", 0, 1.0, status={"sweep": "study-book-1"})
    write_run(tmp_path, "none", 1, 1.0, status={"sweep": "first"})
    write_run(tmp_path, "none", 2, 1.0)
    write_run(tmp_path, "none", 3, 1.0, task="fib")
    write_run(tmp_path, "none", 4, 1.0, status={"sweep": "second"})
    write_run(tmp_path, "none", 5, 1.0, status={"sweep": "study-book-1"})
    return tmp_path


def chosen(runs, **filters):
    found = choose_runs(list_runs(runs), Filters(**filters))
    return {run.status["seed"] for run in found.runs}, found.left_out


def test_without_filters_the_newest_sweep_is_compared(day):
    seeds, (left_out,) = chosen(day)
    assert seeds == {4}
    assert left_out == (
        "5 runs outside sweep second, the newest sweep (attnlab compare --all takes them, too; or "
        "choose with --task, --sweep)"
    )


def test_a_newer_single_run_selects_its_task(day):
    write_run(day, "none", 6, 1.0, task="fib")
    seeds, (left_out,) = chosen(day)
    assert seeds == {3, 6}
    assert "outside task fib, the task of the newest run" in left_out


def test_a_sweep_that_found_all_done_is_the_newest_one(day):
    (folder,) = day.glob("sunspots/none/*_s1")
    sweep = day / "sweeps" / "again"
    sweep.mkdir(parents=True)
    (sweep / "sweep.json").write_text(json.dumps({"updated": "2027-01-01T00:00:00+00:00"}))
    (sweep / "table.csv").write_text(f"number,folder\n1,{folder}\n")
    assert chosen(day)[0] == {1}


def test_runs_of_studies_are_left_out_by_default(day):
    seeds, (left_out,) = chosen(day, tasks=("sunspots",))
    assert seeds == {1, 2, 4}
    assert left_out == "2 runs of studies (attnlab compare --all takes them, too)"
    assert chosen(day, sweep="study-book-1") == ({0, 5}, [])
