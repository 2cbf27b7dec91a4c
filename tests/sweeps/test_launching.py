"""The choice of launcher, and the settings of its workers."""

from __future__ import annotations

import os
from functools import partial
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from attnlab.records.status import hold, this_process
from attnlab.run import find_or_run
from attnlab.sweeps import internals, launching, ray_launcher, worker
from attnlab.sweeps.launching import Launcher, LauncherDied
from attnlab.sweeps.worker import Launch, StoppedEarly, prepare_process, run_or_find, run_points

JOBLIB = {"_target_": "hydra_plugins.x.JoblibLauncher", "n_jobs": 3}
BASIC = {"_target_": "hydra._internal.core_plugins.basic_launcher.BasicLauncher"}
RAY = {"_target_": ray_launcher.TARGET, "address": None, "num_cpus": 2.5, "num_gpus": 0}
SLURM = {"_target_": "hydra_plugins.hydra_submitit_launcher.x.SlurmLauncher"}


def make(folder, launcher) -> Launcher:
    hydra = {"sweep": {"dir": "x"}, "overrides": {"hydra": []}, "launcher": launcher}
    return Launcher(None, OmegaConf.create({"hydra": hydra}), folder)


def test_threads_are_divided_between_the_workers_of_one_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(launching, "processors", lambda: 7)
    assert (make(tmp_path, JOBLIB).workers, make(tmp_path, JOBLIB).threads) == (3, 2)
    monkeypatch.setattr(launching, "processors", lambda: 2)
    assert make(tmp_path, JOBLIB).threads == 1
    for launcher in (BASIC, SLURM):
        assert (make(tmp_path, launcher).workers, make(tmp_path, launcher).threads) == (1, None)
    assert make(tmp_path, {**SLURM, "array_parallelism": 9}).workers == 9


def test_only_cluster_jobs_outlive_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: name)
    launchers = [make(tmp_path, launcher) for launcher in (BASIC, JOBLIB, RAY, SLURM)]
    assert [each.bound for each in launchers] == [True, True, True, False]
    assert [each.here for each in launchers] == [True, False, False, False]
    assert [each.spreads for each in launchers] == [False, False, True, True]


def test_a_job_of_ray_has_the_threads_of_its_processors(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: name)
    assert make(tmp_path, RAY).threads == 2
    assert make(tmp_path, {**RAY, "num_cpus": 0.5}).threads == 1


def test_a_launcher_is_divided_into_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(launching, "processors", lambda: 7)
    launcher = make(tmp_path, BASIC)
    launcher.divide(3)
    assert (launcher.workers, launcher.threads) == (3, 2)
    assert launcher.bound and not launcher.here


def test_files_of_launchers_are_in_the_sweeps_folder(tmp_path):
    folder = tmp_path / "it's mine"
    hydra = make(folder, BASIC)._config.hydra
    assert hydra.sweep.dir == str(folder)
    (word,) = hydra.overrides.hydra
    assert word == f"hydra.sweep.dir='{tmp_path}/it\\'s mine'"


def test_the_cause_of_a_launchers_death_is_one_line(tmp_path, monkeypatch):
    def dies(*_):
        raise RuntimeError("a worker\nwas killed")

    monkeypatch.setattr(internals, "launch", dies)
    with pytest.raises(LauncherDied, match="^RuntimeError: a worker was killed$"):
        make(tmp_path, BASIC)(print, [[]])


def test_a_worker_gets_its_threads_unless_the_user_set_them(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "5"})
    monkeypatch.setattr(worker, "end_with", lambda owner: None)
    prepare_process(Launch(tmp_path, 1, threads=3))
    assert os.environ == {"OMP_NUM_THREADS": "5"}  # not where the sweep itself runs
    prepare_process(Launch(tmp_path, 1, {**this_process(), "pid": 1}, threads=3))
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_a_process_of_another_host_with_an_equal_pid_is_a_worker(tmp_path):
    assert Launch(tmp_path, 1).is_owner()
    assert not Launch(tmp_path, 1, {**this_process(), "host": "node7"}).is_owner()


@pytest.fixture
def launch(tmp_path):
    return Launch(tmp_path, 1, fail_fast=True)


@pytest.fixture
def ending(compose, launch, monkeypatch):
    """Let a run end with an error; return its outcome."""
    config = compose("task=fib", "attention=none")
    monkeypatch.setattr(worker.composing, "from_hydra", lambda cfg: config)

    def ending(error, work=None):
        def run_once(*_):
            raise error

        monkeypatch.setattr(find_or_run, "run_once", run_once)
        return work() if work else run_or_find(config, launch)

    return ending


def test_a_run_that_another_process_makes_has_not_failed(ending, tmp_path):
    with hold(tmp_path), pytest.raises(ValueError) as busy:
        with hold(tmp_path, 0):
            pass
    assert ending(busy.value).state == "running"
    assert ending(worker.Pruned("hopeless")).state == "pruned"


def test_a_failure_is_one_line_and_may_stop_its_launch(ending, launch, compose):
    outcome = ending(worker.RequestError("task.history:\n expected less"))
    assert (outcome.state, outcome.error) == ("failed", "task.history: expected less")
    assert ending(TypeError("what")).error == "TypeError: what"
    assert launch.is_active()
    config = compose("task=fib", "attention=none")
    given = {"launch": launch, "groups": {config.digest: [config]}}
    with pytest.raises(StoppedEarly, match="TypeError: what"):
        ending(TypeError("what"), partial(run_points, SimpleNamespace(), **given))
    assert not launch.is_active()
    (outcome,) = run_points(SimpleNamespace(), **given)
    assert outcome.state == "new"


def test_a_full_disk_gives_only_a_warning_when_a_launch_stops(launch, monkeypatch, caplog):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attnlab.records.files.write_json", full)
    launch.stop()
    (warning,) = caplog.messages
    assert "can't be written: " in warning and "No space left" in warning
