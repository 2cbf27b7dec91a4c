"""Sweep folders of the version before, which had a record for each job, go on."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from sweep_examples import InProcess, table

pytestmark = pytest.mark.usefixtures("no_figures")
FIXTURE = Path(__file__).parents[1] / "fixtures" / "before.tar.xz"
SETTINGS = (
    *("task=fib_random", "model.units=3", "trainer.epochs=2", "task.train_windows=200"),
    *("task.validation_windows=50", "task.test_windows=20", "tracking.enabled=false"),
)
GRID = ("-m", *SETTINGS, "attention=none,bahdanau", "seed=0,1", "sweep.name=grid")
SEARCH = ("-m", "search=learning_rate", *SETTINGS, "sweep.name=search")


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> InProcess:
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return InProcess(folder)


def test_a_grid_finds_all_its_runs_done(before):
    runs = before.run_folders()
    code, out, err = before(*GRID)
    assert (code, err) == (0, "attnlab: 4 jobs: 4 done before, 0 to run\n")
    assert "sweep grid: 4 completed (4 of them before)" in out
    assert before.run_folders() == runs
    rows = table(before.runs / "sweeps" / "grid")
    assert {Path(row["folder"]) for row in rows} <= set(runs)


def test_a_search_finds_all_its_trials_done(before):
    runs = before.run_folders()
    code, out, err = before(*SEARCH, "search.trials=2")
    assert (code, err) == (0, "")
    assert "sweep search: 2 completed (2 of them before)" in out
    assert "best: trial 1: optimizer.learning_rate=0.08311" in out
    assert before.run_folders() == runs
    rows = table(before.runs / "sweeps" / "search")
    assert {Path(row["folder"]) for row in rows} <= set(runs)
    code, out, _ = before(*SEARCH, "search.trials=3", "sweep.dry_run=true")
    assert out.startswith("1 of 3 trials would run, chosen by tpe over optimizer.learning_rate.")


@pytest.mark.parametrize(("sweep", "count"), [("grid", 4), ("search", 2)])
def test_verbs_know_which_runs_are_theirs(before, sweep, count):
    code, out, _ = before("runs", "--sweep", sweep)
    assert code == 0 and out.count("completed") == count
    assert before("compare", "--sweep", sweep, "--by", "attention").code == 0


@pytest.mark.slow
def test_a_run_that_is_missing_is_made_again(before, tmp_path):
    here = InProcess(tmp_path)
    shutil.copytree(before.runs, here.runs)
    (missing,) = here.runs.glob("fib_random/none/*_s1")
    shutil.rmtree(missing)
    code, _, err = here(*GRID)
    assert code == 0 and err.startswith("attnlab: 4 jobs: 3 done before, 1 to run\n")
    assert len([*here.runs.glob("fib_random/none/*_s1")]) == 1
