"""Which run of a configuration counts among several; whether it is reused, resumed or started."""

from __future__ import annotations

import json

import pytest
from filelock import FileLock

from attnlab.config.sections import parse
from attnlab.errors import CannotResume, Pruned, RequestError, RunBusy, RunFailed
from attnlab.records.run_directory import RunDirectory
from attnlab.runner import resume
from attnlab.runner.resume import find_run, only_here, run, runs_by_digest
from attnlab.runner.train import SweepMember

SWEEP = SweepMember("mine")


@pytest.fixture(scope="module")
def composed(compose):
    return compose("task=fib", "attention=none", "task.count=61", "task.history=5")


@pytest.fixture
def config(composed, tmp_path):
    return composed.with_values({"paths.runs": str(tmp_path)})


@pytest.fixture
def make(tmp_path, config):
    """Make a run of the configuration, in some state."""

    def make(state: str, **entries) -> RunDirectory:
        run = RunDirectory.create(
            tmp_path, "fib", "none", 0, config.document, config_hash=config.digest
        )
        if state == "completed":
            run.write_json("metrics.json", {})
        run.status.write(state, **entries)
        return run

    return make


@pytest.fixture
def trained(monkeypatch):
    """Record the folders of runs that would be trained, and whether they are resumed."""
    calls = []

    def train(config, task, data, folder, shown, started, sweep, resumed=False):
        calls.append((folder.path, resumed))
        folder.write_json("metrics.json", {})
        folder.status.write("completed")

    monkeypatch.setattr(resume, "train", train)
    return calls


def that_counts(config, runs):
    match = find_run(config)
    listed = runs_by_digest(runs).get(config.digest)
    assert (match and match.path) == (listed and listed.path)
    return (match.state, match.path) if match else None


def test_a_completed_run_counts_before_any_other(tmp_path, config, make, trained):
    done = make("completed").path
    make("failed", error="no")
    make("running")
    assert that_counts(config, tmp_path) == ("completed", done)
    assert (run(config, SWEEP), trained) == (done, [])


def test_the_newest_killed_run_is_resumed(tmp_path, config, make, trained):
    make("killed")
    newest = make("running").path
    assert that_counts(config, tmp_path) == ("killed", newest)
    assert run(config, SWEEP) == newest
    assert trained == [(newest, True)]


def test_a_pruned_run_stays_pruned_in_its_search_and_is_resumed_elsewhere(make, config, trained):
    folder = make("killed", sweep="mine", pruned=True, error="pruned: after epoch 2").path
    with pytest.raises(Pruned, match="^after epoch 2$"):
        run(config, SweepMember("mine", on_epoch=print))
    assert trained == []
    run(config, SweepMember("another", on_epoch=print))
    assert trained == [(folder, True)]


def test_a_failed_run_is_retried_only_on_request(config, make, trained):
    failed = make("failed", error="RunFailed: epoch 2").path
    with pytest.raises(RunFailed, match="epoch 2"):
        run(config, SWEEP)
    assert trained == []
    new = run(config, SweepMember("mine", retry_failed=True))
    assert new != failed and trained == [(new, False)]


def test_a_damaged_or_different_run_does_not_count(tmp_path, config, make, compose):
    (make("completed").path / "metrics.json").unlink()
    (make("completed").path / "status.json").write_text(json.dumps([]))
    assert that_counts(config, tmp_path) is None
    make("completed")
    assert that_counts(compose("task=fib", "attention=none", "seed=1"), tmp_path) is None


def test_settings_that_do_not_fit_their_data_leave_a_failed_run_in_a_sweep_only(config, tmp_path):
    document = {**config.document, "schedule": {"name": "plateau"}}
    document["task"] = {**document["task"], "validation": 0}
    config = parse(document, {})
    for sweep in (None, SWEEP):
        assert [*tmp_path.iterdir()] == []
        with pytest.raises(RequestError, match="schedule=plateau needs validation data"):
            run(config, sweep)
    match = find_run(config)
    assert (match.state, match.status["sweep"]) == ("failed", "mine")
    with pytest.raises(RunFailed, match="RequestError: schedule=plateau needs validation data"):
        run(config, SWEEP)


def test_a_run_whose_data_have_changed_fails_in_a_sweep(config, make):
    make("killed", data_digest="another")
    with pytest.raises(CannotResume, match="data: the data have changed since the run was trained"):
        run(config, SWEEP)
    assert find_run(config).state == "failed"


def test_a_file_that_changed_during_the_command_is_reported(compose, tmp_path):
    """Fixed: later jobs of a sweep failed with a bare KeyError, or trained new data as the old."""
    path = tmp_path / "my.csv"
    path.write_text("v\n" + "\n".join(map(str, range(99))))
    config = compose("task=series", "attention=none", "task.column=v", f"task.path={path}")
    path.write_text("v\n" + "\n".join(map(str, range(1, 100))))
    again = compose("task=series", "attention=none", "task.column=v", f"task.path={path}")
    assert again.digest != config.digest
    with pytest.raises(RequestError, match="task.path: .* has changed since the command started"):
        run(config, SWEEP)


def test_a_second_process_waits_for_the_first_or_is_refused(config, make, tmp_path):
    done = make("completed").path
    with only_here(FileLock(tmp_path / ".locks" / config.digest[:32]), "this"):
        with pytest.raises(RunBusy, match="another process is running task=fib attention=none"):
            run(config, SWEEP, wait=False)
    assert run(config, SWEEP, wait=False) == done
