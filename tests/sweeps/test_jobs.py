"""How jobs stand, by the runs there are."""

from __future__ import annotations

import json

import pytest

from attnlab.records.processes import this_process
from attnlab.records.run_directory import RunDirectory
from attnlab.sweeps.jobs import Job, label, record_key, survey, without_twins

GONE = {**this_process(), "pid": 2**22 + 1}


@pytest.fixture
def config(compose):
    return compose("task=fib", "attention=none")


@pytest.fixture
def make(tmp_path, config):
    """Make a run of the configuration, in some state."""

    def make(state: str, **entries) -> RunDirectory:
        run = RunDirectory.create(tmp_path, "fib", "none", 0, config_hash=config.digest)
        if state == "completed":
            results = {"metric": "rmse", "test": {"rmse": 3.0}, "best_value": 2.0, "monitor": "v"}
            run.write_json("metrics.json", {**results, "seconds": 1.0})
        run.status.write(state, **entries)
        return run

    return make


def standing(config, runs, record=None) -> Job:
    job = Job(1, (), {"seed": "0"}, config)
    survey([job], runs, {job.key: record or {}})
    return job


def test_without_runs_a_job_is_new(tmp_path, config):
    job = standing(config, tmp_path)
    assert (job.state, job.folder, job.results) == ("new", None, {})


def test_a_completed_run_counts_before_any_other(tmp_path, config, make):
    done = make("completed")
    make("failed", error="no")
    make("running")
    job = standing(config, tmp_path)
    assert (job.state, job.folder) == ("completed", done.path)
    assert job.results == {
        "monitor": "v",
        "best": 2.0,
        "metric": "rmse",
        "test": 3.0,
        "seconds": 1.0,
    }


def test_the_newest_of_equal_ones_counts(tmp_path, config, make):
    make("killed")
    newest = make("running", **GONE)
    job = standing(config, tmp_path)
    assert (job.state, job.folder) == ("killed", newest.path)


def test_a_run_that_is_under_way_is_left_alone(tmp_path, config, make):
    make("failed", error="no")
    make("killed")
    make("running")
    assert standing(config, tmp_path).state == "running"


def test_a_failed_run_says_why(tmp_path, config, make):
    make("failed", error="RunFailed: epoch 2")
    job = standing(config, tmp_path)
    assert (job.state, job.error) == ("failed", "RunFailed: epoch 2")


def test_half_a_completed_run_is_none(tmp_path, config, make):
    (make("completed").path / "metrics.json").unlink()
    assert standing(config, tmp_path).state == "new"


def test_a_job_that_failed_before_it_had_a_folder_has_failed(tmp_path, config):
    record = {"state": "failed", "folder": None, "error": "task.history: expected less"}
    job = standing(config, tmp_path, record)
    assert (job.state, job.error) == ("failed", "task.history: expected less")


def test_a_record_of_a_run_that_was_removed_counts_for_nothing(tmp_path, config):
    assert standing(config, tmp_path, {"state": "failed", "folder": "gone"}).state == "new"
    assert standing(config, tmp_path, {"state": "completed", "folder": "gone"}).state == "new"


def test_runs_of_other_configurations_count_for_nothing(tmp_path, compose, make):
    make("completed")
    assert standing(compose("task=fib", "attention=none", "seed=1"), tmp_path).state == "new"


def test_twins_are_left_out_and_trials_are_none(config):
    jobs = [Job(number, (), {}, config) for number in (1, 2, 3)]
    assert without_twins(jobs) == (jobs[:1], 2)
    trials = [Job(number, (), {}, config, trial=number) for number in (0, 1)]
    assert without_twins(trials) == (trials, 0)
    assert trials[1].key == record_key("any", 1) == "trial_0001"


def test_equal_trials_go_on_with_runs_of_their_own(tmp_path, config, make):
    older, newer = make("killed"), make("killed")
    trials = [Job(number, (), {}, config, trial=number) for number in range(3)]
    survey(trials, tmp_path, {})
    assert [(t.state, t.folder) for t in trials] == [
        ("killed", newer.path),
        ("killed", older.path),
        ("new", None),
    ]
    done = make("completed")
    survey(trials, tmp_path, {})
    assert [t.folder for t in trials] == [done.path] * 3


def test_a_run_that_a_search_gave_up_is_finished_by_a_grid(tmp_path, config, make):
    pruned = make("killed", pruned=True, error="pruned: given up after epoch 2")
    job = standing(config, tmp_path, {"state": "pruned", "folder": str(pruned.path)})
    assert (job.state, job.folder) == ("killed", pruned.path)
    pruned.write_json("metrics.json", {})
    pruned.status.write("completed", pruned=False)
    job = standing(config, tmp_path)
    assert (job.state, job.folder) == ("completed", pruned.path)


def test_a_job_has_a_name():
    assert label({"attention": "none", "seed": "0"}, "fib", "none") == "attention=none seed=0"
    assert label({}, "fib", "none") == "fib / none"


def test_a_damaged_result_is_no_result(tmp_path, config, make):
    (make("completed").path / "metrics.json").write_text(json.dumps([]))
    assert standing(config, tmp_path).results == {}
