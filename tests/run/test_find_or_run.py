"""Find the run of a configuration among several, or start one."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from attnlab.config.parsing import parse
from attnlab.errors import CannotResume, Pruned, RequestError, RunBusy, RunFailed
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import Status, this_process
from attnlab.run import find_or_run, resume, runner
from attnlab.run.find_or_run import RunIndex, run_once
from attnlab.run.runner import SweepMember

GONE = {**this_process(), "pid": 2**22 + 1}
ELSEWHERE = {**this_process(), "host": "elsewhere"}
SWEEP = SweepMember("mine")


@pytest.fixture(scope="module")
def composed(compose):
    return compose("task=fib", "attention=none", "task.count=61", "task.history=5")


@pytest.fixture
def config(composed, tmp_path):
    document = {**composed.document, "paths": {"runs": str(tmp_path), "data": "data"}}
    return parse(document, {})


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
    """Record which runs would be trained and resumed, without training them."""
    calls = []
    monkeypatch.setattr(
        runner, "run_in", lambda folder, *_: calls.append(("new", folder.path)) or folder.path
    )
    monkeypatch.setattr(
        find_or_run,
        "resume",
        lambda folder, changes, sweep: calls.append(("on", folder.path)) or folder.path,
    )
    return calls


def found(config, runs):
    run = RunIndex(runs).refresh().find(config.digest)
    return (run.state, run.path) if run else None


def test_a_completed_run_counts_before_any_other(tmp_path, config, make, trained):
    done = make("completed").path
    make("failed", error="no")
    make("running")
    assert found(config, tmp_path) == ("completed", done)
    assert (run_once(config, SWEEP), trained) == (done, [])


def test_the_newest_killed_run_is_resumed(tmp_path, config, make, trained):
    make("killed")
    newest = make("running", **GONE).path
    assert found(config, tmp_path) == ("killed", newest)
    assert run_once(config, SWEEP) == newest
    assert trained == [("on", newest)]


def test_a_pruned_run_stays_pruned_in_its_search_and_is_resumed_elsewhere(make, config, trained):
    run = make("killed", sweep="mine", pruned=True, error="pruned: after epoch 2")
    with pytest.raises(Pruned, match="^after epoch 2$"):
        run_once(config, SweepMember("mine", on_epoch=print))
    assert trained == []
    run_once(config, SweepMember("another", on_epoch=print))
    assert trained == [("on", run.path)]


def test_a_failed_run_is_retried_only_on_request(config, make, trained):
    failed = make("failed", error="RunFailed: epoch 2").path
    with pytest.raises(RunFailed, match="epoch 2"):
        run_once(config, SWEEP)
    assert trained == []
    run_once(config, SweepMember("mine", retry_failed=[failed]))
    assert [what for what, _ in trained] == ["new"]


@pytest.mark.parametrize("damage", [lambda m: m.unlink(), None])
def test_a_damaged_or_different_run_is_not_found(tmp_path, config, make, compose, damage):
    if damage:
        damage(make("completed").path / "metrics.json")
        assert found(config, tmp_path) is None
    else:
        make("completed")
        assert found(compose("task=fib", "attention=none", "seed=1"), tmp_path) is None


def test_settings_that_do_not_fit_their_data_leave_a_failed_run(config, monkeypatch):
    def refuse(*_):
        raise RequestError("task.history: expected less")

    monkeypatch.setattr(runner, "refuse_what_does_not_fit", refuse)
    with pytest.raises(RequestError, match="task.history: expected less"):
        run_once(config, SWEEP)
    run = find_or_run.find_run(config)
    assert (run.state, run.status["sweep"]) == ("failed", "mine")
    assert run.status["error"] == "RequestError: task.history: expected less"
    assert (run.path / "config.yaml").is_file()
    with pytest.raises(RunFailed, match="task.history: expected less"):
        run_once(config, SWEEP)
    # A run of its own refuses before it leaves anything.
    with pytest.raises(RequestError):
        runner.run(config)
    assert len([*find_or_run.runs_folder(config).glob("*/*/*")]) == 1


def test_a_killed_run_that_cannot_be_resumed_can_be_restarted(config, make, trained, monkeypatch):
    def refuse(*_, **__):
        raise CannotResume("data: they have changed since.")

    killed = make("killed").path
    with monkeypatch.context() as patch:
        patch.setattr(find_or_run, "resume", resume.resume)
        patch.setattr(resume, "_go_on", refuse)
        with pytest.raises(RequestError, match="they have changed since"):
            run_once(config, SWEEP)
    assert find_or_run.find_run(config).state == "failed"
    run_once(config, SweepMember("mine", retry_failed=[killed]))
    assert [what for what, _ in trained] == ["new"]


@pytest.mark.parametrize("error", [RunBusy("another process"), RequestError("a disk is away")])
def test_a_temporary_error_doesnt_fail_a_killed_run(config, make, monkeypatch, error):
    def refuse(*_, **__):
        raise error

    make("killed")
    monkeypatch.setattr(find_or_run, "resume", refuse)
    with pytest.raises(type(error)):
        run_once(config, SWEEP)
    assert find_or_run.find_run(config).state == "killed"


def test_a_file_that_changed_during_the_command_is_reported(compose, tmp_path):
    """Fixed: later jobs of a sweep failed with a bare KeyError, or trained new data as the old."""
    path = tmp_path / "my.csv"
    path.write_text("v\n" + "\n".join(map(str, range(99))))
    config = compose("task=series", "attention=none", "task.column=v", f"task.path={path}")
    config.require_same_files()
    before = config.digest_of_settings
    path.write_text("v\n" + "\n".join(map(str, range(1, 100))))
    again = compose("task=series", "attention=none", "task.column=v", f"task.path={path}")
    assert again.digest != config.digest and again.digest_of_settings == before
    with pytest.raises(RequestError, match="task.path: .* has changed since the command started"):
        run_once(config, SWEEP)


def test_all_trials_of_a_search_use_the_initial_files(compose, tmp_path):
    """Fixed: trials on changed data were ranked with the earlier ones."""
    from attnlab.sweeps.plan import SweepPlan

    path, words = tmp_path / "my.csv", ("task=series", "attention=none", "task.column=v")
    path.write_text("v\n" + "\n".join(map(str, range(99))))
    first = compose(*words, f"task.path={path}")
    path.write_text("v\n" + "\n".join(map(str, range(1, 100))))
    composer = SimpleNamespace(check=lambda _: compose(*words, f"task.path={path}", "seed=1"))
    plan = SimpleNamespace(words=(), first=first, composer=composer)
    trial = SweepPlan.trial(plan, 1, [])
    assert trial.config.file_hashes == first.file_hashes and trial.config.seed == 1
    with pytest.raises(RequestError, match="has changed since the command started"):
        run_once(trial.config, SWEEP)


def test_an_index_reads_only_what_has_changed(tmp_path, config, make, monkeypatch):
    runs = [make("killed") for _ in range(3)]
    index, read = RunIndex(tmp_path), []
    original = Status.read
    monkeypatch.setattr(Status, "read", lambda self: read.append(self) or original(self))
    assert index.refresh().find(config.digest).path == runs[-1].path
    assert len(read) == 3
    index.refresh()
    assert len(read) == 3
    runs[0].write_json("metrics.json", {})
    runs[0].status.write("completed")
    assert index.refresh().find(config.digest).path == runs[0].path
    assert len(read) == 4
    index.forget(config.digest)
    index.refresh()
    assert len(read) == 7
    for path in runs[0].path.iterdir():
        path.unlink() if path.is_file() else path.rmdir()
    assert index.refresh().find(config.digest).path == runs[-1].path


def test_a_damaged_run_is_ignored(tmp_path, config, make):
    (make("completed").path / "status.json").write_text(json.dumps([]))
    assert found(config, tmp_path) is None
