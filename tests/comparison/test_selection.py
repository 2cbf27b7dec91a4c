"""The runs that filters select, and those that are compared without filters."""

from __future__ import annotations

import json

import pytest
from run_folders import write_run

from attnlab.comparison.selection import Filters, choose_runs, none_fits
from attnlab.records.run_directory import list_runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = {
        "attention.window": None,
        "trainer.learning_rate": 1e-3,
        "trainer.jit": True,
        "data.languages": ["de", "en"],
        "data.name": "New York",
        "tracking.enabled": False,
    }
    runs = tmp_path_factory.mktemp("runs")
    options = {"task": "fib", "config": config, "status": {"sweep": "grid"}}
    return write_run(runs, "luong_local", 3, **options)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["attention=luong_local", "data.languages=[de,en]", "data=New York"], True),
        (["attention=luong"], False),
        (["attention.window=Null", "trainer.jit=True", "seed=3.0"], True),
        (["trainer.jit=1"], False),
        (["trainer.learning_rate=1e-3", "seed=0,1,2"], False),
        (["trainer.learning_rate=1e-3", "seed=0,3"], True),
    ],
    ids=str,
)
def test_conditions_select_settings(run, words, expected):
    entries = list_runs(run.path.parents[2])
    assert bool(Filters(where=tuple(words)).apply(entries)) == expected


def test_the_message_without_matches_names_what_there_is(run):
    entries = list_runs(run.path.parents[2])
    assert Filters(tasks=("fbi",)).apply(entries) == []
    assert none_fits(entries) == (
        "None of the 1 runs satisfies all filters. They have tasks: fib; mechanisms: luong_local; "
        "sweeps: grid."
    )


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
    choice = choose_runs(list_runs(runs), Filters(**filters))
    return {run.status["seed"] for run in choice.runs}, choice.left_out


def test_without_filters_the_newest_sweep_or_task_is_compared(day):
    seeds, (left_out,) = chosen(day)
    assert seeds == {4}
    assert left_out == (
        "5 runs outside sweep second, the newest sweep (attnlab compare --all takes them, too; or "
        "choose with --task, --sweep)"
    )
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
