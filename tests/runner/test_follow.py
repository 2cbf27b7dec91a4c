"""A process follows a run: it outlives it, and nothing is lost if it is killed itself."""

from __future__ import annotations

import logging
import shutil
import signal
import sqlite3
import time
from contextlib import closing

import pytest
from command_line import ROOT
from run_folders import add_epoch, mlflow_runs, write_run

from attnlab.records.environment import processors
from attnlab.records.mlflow import connect, store_uri
from attnlab.records.run_directory import RunDirectory, run_lock
from attnlab.runner.follow import complete
from attnlab.runner.resume import start_following, wait_for

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here


@pytest.fixture
def runs(tmp_path, empty_store, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return tmp_path


@pytest.fixture
def started():
    """Start processes that follow folders, and kill those that are left."""
    followers = []

    def start(folder):
        followers.append(start_following(folder))
        return followers[-1]

    yield start
    for follower in followers:
        follower.kill()
        follower.communicate()


def until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def epochs(runs, seed=0):
    client = connect(store_uri(runs), runs)
    copies = [r for r in mlflow_runs(runs).values() if r.data.params.get("seed") == str(seed)]
    points = [client.get_metric_history(run.info.run_id, "val_loss") for run in copies]
    return [point.step for some in points for point in some]


def state(runs):
    return [run.info.status for run in mlflow_runs(runs).values()]


def test_epochs_appear_while_a_run_trains_and_its_end_is_copied(runs, started, caplog):
    run = write_run(runs, state="running")
    follower = started(run.path)
    until(lambda: epochs(runs) == [1, 2, 3])
    add_epoch(run, 4)
    until(lambda: epochs(runs) == [1, 2, 3, 4])
    assert state(runs) == ["RUNNING"]
    run.status.write("failed", error="why")
    run.lock.release()
    wait_for(follower, 60)
    assert state(runs) == ["FAILED"] and caplog.records == []
    assert len(RunDirectory(run.path).status.read()["mlflow_run_id"]) == 32


@pytest.mark.slow
def test_two_processes_and_a_killed_one_make_one_mlflow_run(runs, started, caplog):
    run = write_run(runs, state="running")
    first, second = started(run.path), started(run.path)
    until(lambda: epochs(runs) == [1, 2, 3])
    first.send_signal(signal.SIGKILL)
    wait_for(first, 60)
    (record,) = caplog.records
    assert "their process died; attnlab runs sync completes both" in record.message
    run.lock.release()  # as by a kill of the run
    wait_for(second, 60)
    assert state(runs) == ["KILLED"]


@pytest.mark.slow
def test_a_sweep_is_followed_as_a_whole(runs, started):
    folder = runs / "sweeps" / "grid"
    folder.mkdir(parents=True)
    lock = run_lock(folder)
    lock.acquire()
    follower = started(folder)
    write_run(runs, seed=0, state="failed", status={"sweep": "grid"})
    until(lambda: epochs(runs, 0) == [1, 2, 3])
    late = write_run(runs, seed=1, state="running", status={"sweep": "grid"})
    until(lambda: epochs(runs, 1) == [1, 2, 3])
    write_run(runs, seed=2, state="failed")  # of no sweep
    lock.release()
    time.sleep(1)
    assert follower.poll() is None  # a run of the sweep is still in progress
    late.status.write("failed")
    late.lock.release()
    wait_for(follower, 60)
    there = mlflow_runs(runs)
    assert {run.info.run_name: run.info.status for run in there.values()} == {
        "grid": "FAILED", "sunspots-none-s0": "FAILED", "sunspots-none-s1": "FAILED"
    }  # fmt: skip
    parent = there["sweeps/grid"].info.run_id
    assert sum(run.data.tags.get("mlflow.parentRunId") == parent for run in there.values()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["server", "locked"])
def test_a_store_in_trouble_is_one_warning_and_sync_completes_it(
    runs, started, caplog, kind, monkeypatch
):
    run = write_run(runs, state="running")
    with closing(sqlite3.connect(runs / "mlflow.db", isolation_level=None)) as holder:
        if kind == "locked":
            holder.execute("BEGIN EXCLUSIVE")
        else:
            monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        follower = started(run.path)
        add_epoch(run, 4)
        run.status.write("failed")
        run.lock.release()
        wait_for(follower, 5 if kind == "locked" else 60)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "attnlab runs sync" in record.message
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    follower.wait(60)  # with the lock released it continues alone
    assert complete(RunDirectory(run.path)) == []
    assert epochs(runs) == [1, 2, 3, 4] and state(runs) == ["FAILED"]


def test_figures_that_cannot_be_drawn_are_a_sentence_and_the_copy_is_made(runs):
    run = write_run(runs)
    (run.path / "predictions.csv").unlink()
    (problem,) = complete(run)
    assert "the figures could not be drawn" in problem
    assert state(runs) == ["FINISHED"]


@pytest.mark.slow
def test_figures_of_runs_that_end_together_are_drawn(trained, attnlab):
    """As those of stacked runs, which several processes draw."""
    folder = attnlab.runs / "sweeps" / "grid"
    folder.mkdir(parents=True)
    for number in range(2 * processors() + 1):
        place = attnlab.runs / "series" / "luong_global" / f"2026-05-01_00000{number}_s0"
        shutil.copytree(trained.folder, place, ignore=shutil.ignore_patterns("*.png", "*.lock"))
        RunDirectory(place).status.write(sweep="grid", mlflow_run_id=None)
    done = attnlab("runs", "sync", "--follow", folder)
    assert (done.code, done.out) == (0, "")
    names = {path.name for path in trained.folder.glob("plots/*.png")}
    for place in attnlab.run_folders():
        assert {path.name for path in place.glob("plots/*.png")} == names
    assert len(mlflow_runs(attnlab.runs, "series")) == 2 * processors() + 2  # and the sweep's
