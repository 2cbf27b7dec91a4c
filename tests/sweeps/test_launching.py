"""How jobs are handed to launchers, what workers are given, and what is launched again."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from attnlab.sweeps.job import Launch, Record, _prepare_process
from omegaconf import OmegaConf

from attnlab.errors import RequestError, SweepFailed
from attnlab.records.lock import FolderLock
from attnlab.records.processes import this_process
from attnlab.sweeps import job as module
from attnlab.sweeps import launching
from attnlab.sweeps.launching import Launching
from attnlab.sweeps.sweep_folder import SweepFolder

JOBLIB = {"_target_": "hydra_plugins.x.JoblibLauncher", "n_jobs": 3}
BASIC = {"_target_": "hydra._internal.core_plugins.basic_launcher.BasicLauncher"}
SLURM = {"_target_": "hydra_plugins.hydra_submitit_launcher.x.SlurmLauncher"}
GONE = {**this_process(), "pid": 2**22 + 1}


@pytest.fixture
def folder(tmp_path) -> SweepFolder:
    folder = SweepFolder.named(tmp_path, "mine")
    folder.create()
    folder.update(launch="now")
    return folder


@pytest.fixture
def launch(folder) -> Launch:
    return Launch(folder.path, "now", this_process())


def make(folder, launcher) -> Launching:
    hydra = {"sweep": {"dir": "x"}, "overrides": {"hydra": []}, "launcher": launcher}
    return Launching(None, OmegaConf.create({"hydra": hydra}), folder)


def test_threads_are_divided_between_the_workers_of_one_machine(folder, monkeypatch):
    monkeypatch.setattr(launching, "_processors", lambda: 7)
    assert (make(folder, JOBLIB).workers, make(folder, JOBLIB).threads) == (3, 2)
    monkeypatch.setattr(launching, "_processors", lambda: 2)
    assert make(folder, JOBLIB).threads == 1
    for launcher in (BASIC, SLURM):
        assert (make(folder, launcher).workers, make(folder, launcher).threads) == (1, None)
    assert make(folder, {**SLURM, "array_parallelism": 9}).workers == 9


def test_only_jobs_of_a_cluster_outlive_the_command(folder):
    assert [make(folder, launcher).bound for launcher in (BASIC, JOBLIB, SLURM)] == [
        True,
        True,
        False,
    ]


def test_a_worker_gets_its_threads_and_what_the_user_set_stays(folder, monkeypatch):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "5"})
    monkeypatch.setattr(module, "_end_with", lambda owner: None)
    _prepare_process(Launch(folder.path, "now", this_process(), threads=3))
    assert os.environ == {"OMP_NUM_THREADS": "5"}  # not where the sweep itself runs
    _prepare_process(Launch(folder.path, "now", {**this_process(), "pid": 1}, threads=3))
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_jobs_of_an_earlier_launch_do_not_begin(folder, launch):
    assert launch.is_current()
    folder.update(launch="later")
    assert not launch.is_current()


def test_jobs_do_not_begin_once_the_sweep_was_stopped(folder, launch):
    launch.stop_path.touch()
    assert not launch.is_current()


def test_jobs_of_a_sweep_that_has_gone_do_not_begin(folder):
    assert not Launch(folder.path, "now", GONE).is_current()
    assert Launch(folder.path, "now", GONE, bound=False).is_current()


def test_a_job_that_runs_elsewhere_is_known(folder):
    record = Record(folder, "job")
    assert not record.runs_elsewhere()
    for owner, elsewhere in (
        (this_process(), False),
        (GONE, False),
        ({**this_process(), "host": "elsewhere"}, True),
    ):
        folder.write_record("job", state="running", **owner)
        assert record.runs_elsewhere() is elsewhere
    folder.write_record("job", state="completed")
    assert not record.runs_elsewhere()


def test_a_record_that_cannot_be_written_stops_no_run(folder, monkeypatch, caplog):
    def full(path, data):
        raise OSError(28, "No space left on device")

    record = Record(folder, "job")
    monkeypatch.setattr("attnlab.records.files.write_json", full)
    record.report({"epoch": 1})
    record.end("failed", None, "what went wrong")
    (warning,) = caplog.messages
    assert "the sweep's record job can't be written: " in warning and "No space left" in warning


@pytest.fixture
def run_failing(launch, compose, monkeypatch):
    """Have a job's run end with an error; returns what its record says then."""

    def run_failing(error):
        def carry_out(*_):
            raise error

        checked = compose("task=fib", "attention=none")
        monkeypatch.setattr(module.config, "from_hydra", lambda cfg: checked)
        monkeypatch.setattr(
            module.config, "sweep_from_hydra", lambda cfg: SimpleNamespace(trial=None)
        )
        monkeypatch.setattr(module, "_carry_out", carry_out)
        module.run_job(None, launch=launch)
        return SweepFolder(launch.folder).record(checked.digest)

    return run_failing


def test_a_run_that_another_process_goes_on_with_has_not_failed(run_failing, tmp_path):
    with FolderLock(tmp_path), pytest.raises(RequestError) as busy:
        FolderLock(tmp_path).acquire()
    assert run_failing(busy.value)["state"] == "killed"
    assert run_failing(RequestError("task.history: expected less"))["state"] == "failed"


class Launcher:
    """Does with each job what a test says, once for every launch."""

    def __init__(self, folder, *plans):
        self.folder, self.plans, self.launched = folder, list(plans), []

    def launch(self, overrides, initial_job_idx):
        keys = [words[0] for words in overrides]
        self.launched.append(keys)
        for key, state in self.plans.pop(0).items():
            if isinstance(state, Exception):
                raise state
            self.folder.write_record(key, **state)
        return [SimpleNamespace(_return_value=None) for _ in keys]


@pytest.fixture
def carry_out(folder, launch, monkeypatch):
    from hydra.core.plugins import Plugins

    def carry_out(*plans):
        launcher = Launcher(folder, *plans)
        monkeypatch.setattr(Plugins.instance(), "instantiate_launcher", lambda **_: launcher)
        jobs = [SimpleNamespace(key=key, overrides=[key]) for key in "abc"]
        for job in jobs:
            folder.write_record(job.key, state="waiting")
        make(folder, BASIC)(jobs, launch)
        states = {key: json.loads(folder.record_path(key).read_text()) for key in "abc"}
        return launcher.launched, {key: record["state"] for key, record in states.items()}

    return carry_out


DONE = {"state": "completed"}
DEAD = {"state": "running", **GONE}
LIVING = {"state": "running", **this_process(), "host": "elsewhere"}
DEATH = {"": RuntimeError("a worker\nwas killed")}


def test_jobs_are_launched_together(carry_out):
    done = carry_out({"a": DONE, "b": DONE, "c": DONE})
    assert done == ([["a", "b", "c"]], dict.fromkeys("abc", "completed"))


def test_what_a_dead_process_left_is_launched_again(carry_out):
    launched, states = carry_out({"a": DONE, "b": DEAD, **DEATH}, {"b": DONE}, {"c": DONE})
    assert launched == [["a", "b", "c"], ["b"], ["c"]]
    assert states == dict.fromkeys("abc", "completed")


def test_one_that_dies_of_memory_takes_no_neighbour_along(carry_out):
    launched, states = carry_out(
        {"a": DEAD, "b": DEAD, **DEATH}, {"a": DEAD, **DEATH}, {"b": DONE}, {"c": DONE}
    )
    assert launched == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert states == {"a": "failed", "b": "completed", "c": "completed"}


def test_a_death_in_a_crowd_is_not_counted(carry_out):
    launched, states = carry_out(
        {"a": DEAD, **DEATH}, {"a": DONE}, {"b": DEAD, **DEATH}, {"b": DONE}, {"c": DONE}
    )
    assert launched == [["a", "b", "c"], ["a"], ["b", "c"], ["b"], ["c"]]
    assert states == dict.fromkeys("abc", "completed")


def test_a_job_whose_process_dies_twice_has_failed(carry_out, folder):
    launched, states = carry_out({"a": DONE, "b": DEAD, **DEATH}, {"b": DEAD, **DEATH}, {"c": DONE})
    assert launched == [["a", "b", "c"], ["b"], ["c"]]
    assert states == {"a": "completed", "b": "failed", "c": "completed"}
    assert folder.record("b")["error"] == (
        "its process died again (RuntimeError: a worker was killed)"
    )


def test_what_runs_elsewhere_is_not_launched_again(carry_out):
    launched, states = carry_out({"a": DONE, "b": LIVING, **DEATH}, {"c": DONE})
    assert launched == [["a", "b", "c"], ["c"]]
    assert states["b"] == "running"


def test_a_launcher_that_does_nothing_is_given_up(carry_out):
    with pytest.raises(SweepFailed, match="the launcher failed: RuntimeError: a worker was killed"):
        carry_out(DEATH)
