"""MLflow gets a run's entries during training; a problem of MLflow is one warning."""

from __future__ import annotations

import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import ROOT
from run_folders import add_epoch, locked, make_run, write_metrics

from attnlab.records.files import read_json, write_json
from attnlab.records.mlflow import tracker as tracking
from attnlab.records.mlflow.folder_copy import FolderCopy, sync_run
from attnlab.records.mlflow.internals import TAG, view
from attnlab.records.mlflow.settings import default_uri, store_uri
from attnlab.records.mlflow.store import Store, first_cause
from attnlab.records.mlflow.tracker import Tracker

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here

BEGIN = f"""
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests")!r})
from run_folders import add_epoch, make_run
from attnlab.records.mlflow.settings import store_uri
from attnlab.records.mlflow.tracker import Tracker
runs = Path(sys.argv[1])
run = make_run(runs, seed=int(sys.argv[2]), state="running")
tracker = Tracker(store_uri(runs), run.path, timeout=60)
print(tracker.wait_run_id(60), flush=True)
"""
ENDED = f"{BEGIN}run.status.write('completed'); print(tracker.ended('completed'))"
KILLED = f"{BEGIN}add_epoch(run, 3); os.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, empty_store):
    folder = tmp_path_factory.mktemp("runs with space")
    shutil.copy(empty_store, folder / "mlflow.db")
    return folder


@pytest.fixture
def client(runs):
    return Store(store_uri(runs)).client


def start(run, uri=None, **options):
    uri = uri or store_uri(run.path.parents[2])
    keep = options.pop("on_run_id", lambda run_id: run.status.write(mlflow_run_id=run_id))
    return Tracker(uri, run.path, on_run_id=keep, **{"timeout": 60, **options})


def end(run, tracker, state="completed"):
    run.status.write(state)
    return tracker.ended(state)


def warned(caplog):
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def steps(client, run_id, key):
    return [point.step for point in client.get_metric_history(run_id, key)]


def until(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def test_a_run_is_copied_during_training_and_sync_adds_nothing(runs, client, caplog):
    tracked = {"enabled": True, "uri": None, "weights": "best"}
    run = make_run(runs, state="running", config={"tracking": tracked})
    run.write_json("served.json", {"input": _array([[0.0] * 5]), "output": _array([[0.0]])})
    told = []
    tracker = start(run, on_run_id=lambda run_id: told.append(run_id))
    assert told == [tracker.wait_run_id(60)]
    assert client.get_run(told[0]).info.status == "RUNNING"
    for epoch in range(3, 31):
        add_epoch(run, epoch)
        tracker.changed()
    until(lambda: 30 in steps(client, told[0], "val_loss"))
    (run.plots / "loss.png").write_bytes(b"png")
    write_metrics(run, best_epoch=7)
    run.status.write(mlflow_run_id=told[0])
    assert end(run, tracker) and tracker.ended("completed")
    assert warned(caplog) == []

    logged = client.get_run(told[0])
    assert (logged.info.run_name, logged.info.status) == ("fib-none-s0", "FINISHED")
    assert logged.info.start_time <= logged.info.end_time
    expected = {"task.name": "fib", "seed": "0", "trainer.epochs": "2"}
    assert expected.items() <= logged.data.params.items()
    tags = {"attnlab.folder": str(run.path), "attnlab.config_hash": "abc", "attnlab.epochs": "2"}
    assert tags.items() <= logged.data.tags.items()
    history = client.get_metric_history(told[0], "val_loss")
    assert [(point.step, point.value) for point in history] == [(e, 1 / e) for e in range(1, 31)]
    times = [point.timestamp for point in history]
    assert times == sorted(times)
    assert logged.info.start_time <= times[0] and times[-1] <= logged.info.end_time
    assert (steps(client, told[0], "test_rmse"), logged.data.metrics["test_rmse"]) == ([7], 0.25)
    assert logged.data.tags["baseline.mean"] == "rmse 0.5"
    assert not [name for name in logged.data.metrics if "/" in name]  # each loss has one chart
    (experiment,) = client.search_experiments(filter_string="name = 'fib'")
    assert experiment.tags[TAG] == view("test_rmse")
    inputs = {
        entry.tags[0].value: (entry.dataset.name, entry.dataset.digest, entry.dataset.profile)
        for entry in logged.inputs.dataset_inputs
    }
    assert inputs == {
        "training": ("fib-train", "ab" * 18, '{"num_rows": 7}'),
        "validation": ("fib-validation", "ab" * 18, '{"num_rows": 3}'),
        "testing": ("fib-test", "ab" * 18, '{"num_rows": 5}'),
    }
    found = [
        entry.path for part in (None, "plots", "weights")
        for entry in client.list_artifacts(told[0], part) if not entry.is_dir
    ]  # fmt: skip
    assert found == [
        *("config.yaml", "history.csv", "metrics.json"),
        *("plots/loss.png", "weights/epoch_007.weights.h5"),
    ]
    experiment = client.get_experiment(logged.info.experiment_id)
    location = (runs / "artifacts" / "fib").as_uri()
    assert (experiment.name, experiment.artifact_location) == ("fib", location)
    (model,) = logged.outputs.model_outputs
    described = client.get_logged_model(model.model_id)
    assert (model.step, described.status.value) == (7, "READY")
    assert {(m.key, m.value) for m in described.metrics} >= {("test_rmse", 0.25)}
    assert sync_run(run, Store(store_uri(runs))).added == []


def _array(values):
    return {"values": values, "dtype": "float64"}


def test_two_simultaneous_runs_are_not_mixed_up(runs, client):
    made = [make_run(runs, task, state="running") for task in ("fib", "sunspots")]
    first, second = (start(run) for run in made)
    assert end(made[1], second, "failed")
    assert end(made[0], first, "killed")
    states = [client.get_run(tracker.run_id).info.status for tracker in (first, second)]
    assert states == ["KILLED", "FAILED"]


def test_a_resumed_run_continues_its_mlflow_run_with_every_step_once(runs, client):
    run = make_run(runs, state="running")
    first = start(run)
    run_id = first.wait_run_id(60)
    assert end(run, first, "killed")
    run.status.write("running", pruned=False)
    config = run.read_config()
    config["trainer"] = {"epochs": 3, "new": 1}
    run.write_config(config)
    second = start(run)
    until(lambda: client.get_run(run_id).info.status == "RUNNING")
    run.history.replace([{"epoch": 1, "seconds": 0.5, "val_loss": 1.0}])  # back to the checkpoint
    for epoch in (2, 3):
        add_epoch(run, epoch)
        second.changed()
    write_metrics(run)
    assert end(run, second)
    assert second.run_id == run_id
    logged = client.get_run(run_id)
    assert steps(client, run_id, "val_loss") == [1, 2, 3]
    assert (logged.data.params["trainer.epochs"], logged.data.params["trainer.new"]) == ("2", "1")
    assert (logged.data.tags["attnlab.epochs"], logged.data.tags["attnlab.pruned"]) == (
        *("3", "false"),
    )
    assert logged.info.status == "FINISHED"


def test_an_epoch_that_was_trained_again_has_one_value(runs, client):
    """A run that was killed after epoch 2 and trains it again, in a different time."""
    run = make_run(runs, state="running", config={"tracking": {"enabled": True, "weights": "best"}})
    first = start(run)
    assert end(run, first, "killed")
    run.status.write("running")
    second = start(run)
    again = [{"epoch": epoch, "seconds": 9.5, "val_loss": 1 / epoch} for epoch in (1, 2)]
    run.history.replace(again)
    os.utime(run.weights_path(2), (2e9, 2e9))
    write_metrics(run)
    assert end(run, second)
    for key in ("seconds", "val_loss"):
        assert steps(client, first.run_id, key) == [1, 2]
    assert client.get_run(first.run_id).outputs.model_outputs


def test_a_run_that_trains_longer_gets_the_model_of_its_new_best_epoch(runs, client):
    tracked = {"enabled": True, "uri": None, "weights": "best"}
    run = make_run(runs, state="running", config={"tracking": tracked})
    write_metrics(run, best_epoch=1)
    first = start(run)
    assert end(run, first)
    run.status.write("running")
    second = start(run)
    add_epoch(run, 3)  # metrics.json is that of before
    second.changed()
    until(lambda: steps(client, first.run_id, "val_loss") == [1, 2, 3])
    assert steps(client, first.run_id, "test_rmse") == [1]
    write_metrics(run, best_epoch=3)
    assert end(run, second)
    assert steps(client, first.run_id, "test_rmse") == [1, 3]
    weights = [entry.path for entry in client.list_artifacts(first.run_id, "weights")]
    assert weights == [f"weights/epoch_00{epoch}.weights.h5" for epoch in (1, 3)]
    logged = client.get_run(first.run_id)
    found = f"source_run_id = '{first.run_id}'"
    (model,) = client.search_logged_models([logged.info.experiment_id], found)
    assert (model.model_id, 3) in {(m.model_id, m.step) for m in logged.outputs.model_outputs}
    assert sync_run(run, Store(store_uri(runs))).added == []


@pytest.mark.parametrize("known", ["0" * 32, None])
def test_the_mlflow_run_of_a_resumed_folder_is_found_or_created(runs, client, known):
    run = make_run(runs, state="running", mlflow_run_id=known)
    if known is None:  # as one leaves it that was killed before it could write the id down
        assert start(run, on_run_id=None).ended("killed")
    tracker = start(run)
    assert end(run, tracker)
    assert run.status.read()["mlflow_run_id"] == tracker.run_id != known
    folder = f"tags.`attnlab.folder` = '{run.path}'"
    experiment = client.get_experiment_by_name("fib").experiment_id
    assert len(client.search_runs([experiment], folder)) == 1


def test_the_late_helper_of_a_killed_process_changes_nothing(runs, client):
    """It reads that the run is running after another process has completed it."""
    run, store = make_run(runs, "late", state="running"), Store(store_uri(runs))
    first = FolderCopy(store, run.path)
    run_id = first.update("running")[1].run_id

    def copied_late() -> None:
        late = FolderCopy(store, run.path)  # waits for the lock
        late.update("running")
        late.close()

    with ThreadPoolExecutor() as pool:
        late = pool.submit(copied_late)
        run.status.write("completed")
        first.update("completed")
        first.close()
        late.result(60)
    (found,) = client.search_runs([client.get_experiment_by_name("late").experiment_id])
    assert (found.info.run_id, found.info.status) == (run_id, "FINISHED")


def test_a_deleted_experiment_is_restored(runs, client):
    for _ in range(2):
        run = make_run(runs, "gone", state="running")
        assert end(run, start(run))
        client.delete_experiment(client.get_experiment_by_name("gone").experiment_id)


def test_a_failing_call_gives_one_warning_and_the_rest_is_logged(runs, client, caplog):
    (runs / "artifacts").mkdir(exist_ok=True)
    (runs / "artifacts" / "full").write_text("no folder, so nothing can be written into it")
    run = make_run(runs, "full", state="running")
    (run.plots / "loss.png").write_bytes(b"png")
    tracker = start(run)
    for epoch in (3, 4):
        add_epoch(run, epoch)
        tracker.changed()
    assert end(run, tracker, "failed") is False
    assert len(warned(caplog)) == 1
    assert "the run folder is complete, and attnlab runs sync copies it again" in warned(caplog)[0]
    (found,) = client.search_runs([client.get_experiment_by_name("full").experiment_id])
    assert steps(client, found.info.run_id, "val_loss") == [1, 2, 3, 4]
    assert found.info.status == "FAILED"


@pytest.mark.parametrize(
    "uri", ["sqlite:////dev/null/mlflow.db", "nonsense://x", "http://127.0.0.1:9"]
)
def test_an_unusable_store_is_one_warning(tmp_path, uri, caplog):
    run = make_run(tmp_path, state="running")
    tracker = start(run, uri=uri)
    for _ in range(5):
        tracker.changed()
    assert end(run, tracker) is False and tracker.ended("completed") is False
    assert (tracker.wait_run_id(0), len(warned(caplog))) == (None, 1)


@pytest.mark.slow
def test_a_hanging_store_delays_a_run_only_for_a_limited_time(runs, caplog):
    run, next_run = make_run(runs, state="running"), make_run(runs, state="running")
    with locked(runs / "mlflow.db"):
        tracker = start(run, timeout=0.2)
        assert end(run, tracker) is False
    assert len(warned(caplog)) == 1 and "not done after 0.2 s" in warned(caplog)[0]
    caplog.clear()
    assert sync_run(run, Store(store_uri(runs))).is_new
    assert end(next_run, start(next_run)) and warned(caplog) == []  # that one is not harmed


@pytest.mark.slow
def test_a_helper_process_that_dies_is_one_warning(runs, caplog):
    run, next_run = make_run(runs, state="running"), make_run(runs, state="running")
    tracker = start(run)
    assert tracker.wait_run_id(60)
    tracker._helper._process.kill()
    tracker.changed()
    assert end(run, tracker) is False
    assert len(warned(caplog)) == 1
    assert end(next_run, start(next_run))
    assert "status" in sync_run(run, Store(store_uri(runs))).added


def test_a_helper_process_that_cannot_start_is_one_warning(runs, caplog, monkeypatch):
    def refuse(*given):
        raise OSError("no memory")

    monkeypatch.setattr(tracking.HelperProcess, "current", refuse)
    run = make_run(runs, state="running")
    tracker = start(run)
    tracker.changed()
    assert end(run, tracker) is False
    assert len(warned(caplog)) == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_two_processes_may_make_the_store_at_once_and_a_killed_one_is_marked_so(tmp_path):
    whole, killed = (
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), seed], stdout=subprocess.PIPE)
        for code, seed in ((ENDED, "0"), (KILLED, "1"))
    )
    run_id, ended = whole.communicate(timeout=120)[0].split()
    killed_id = killed.communicate(timeout=120)[0].decode().strip()
    assert (ended, killed.returncode) == (b"True", -signal.SIGKILL)
    client = Store(store_uri(tmp_path)).client
    until(lambda: client.get_run(killed_id).info.status == "KILLED")
    assert steps(client, killed_id, "val_loss") == [1, 2, 3]
    assert client.get_run(run_id.decode()).info.status == "FINISHED"
    assert not list(tmp_path.glob(".mlflow*"))


def test_a_sweep_is_copied_from_its_folder(runs, client):
    folder = runs / "sweeps" / "grid"
    folder.mkdir(parents=True)
    run = make_run(runs, state="running", sweep="grid")
    document = {"varying": {"seed": ["0", "1"]}, "fixed": {"task": "fib"}, "command": ["seed=0,1"]}
    write_json(folder / "sweep.json", {**document, "updated": run.status.read()["updated"]})
    first, second = (
        Tracker(store_uri(runs), folder, task="fib", timeout=60)
        for _ in range(2)  # as of a search with two processes
    )
    parent = first.wait_run_id(60)
    assert second.wait_run_id(60) == parent
    tracker = start(run)
    assert tracker.wait_run_id(60)
    assert client.get_run(tracker.run_id).data.tags["mlflow.parentRunId"] == parent
    assert end(run, tracker)
    results = {
        "jobs": "2 completed",
        "by": "validation",
        "best": "seed=1",
        "monitored": "val_loss 0.5",
    }
    updated = {**read_json(folder / "sweep.json"), "results": {"fib": results}}
    write_json(folder / "sweep.json", updated)
    (folder / "table.csv").write_text("a\n1\n")
    (folder / "plots").mkdir()
    (folder / "plots" / "history.png").write_bytes(b"png")
    assert first.ended("running") and client.get_run(parent).info.status == "RUNNING"
    assert second.ended("completed")
    logged = client.get_run(parent)
    assert (logged.info.run_name, logged.info.status) == ("grid", "FINISHED")
    assert logged.data.params == {"varies": "seed", "seed": "0, 1", "task": "fib"}
    assert logged.data.metrics == {}  # of which there would be charts
    assert logged.data.tags["attnlab.best"] == "by validation: seed=1 with val_loss 0.5"
    assert logged.data.tags["attnlab.command"] == "seed=0,1"
    assert [entry.path for entry in client.list_artifacts(parent)] == ["plots", "table.csv"]


def test_a_tracker_that_was_not_started_records_nothing(monkeypatch):
    monkeypatch.setattr(tracking.HelperProcess, "current", lambda *_: pytest.fail("it was started"))
    tracker = Tracker(None, None)
    tracker.changed()
    assert (tracker.wait_run_id(9), tracker.ended("completed")) == (None, True)


def test_the_default_uri_is_the_environments_or_the_runs_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert default_uri(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server")
    assert default_uri(tmp_path) == "http://server"


def test_the_first_cause_of_an_error_has_no_passwords():
    try:
        try:
            raise OSError("cannot reach http://me:secret@host/x\n  at all")
        except OSError as error:
            raise RuntimeError("request failed") from error
    except RuntimeError as error:
        assert first_cause(error) == "cannot reach http://host/x at all"


def test_a_cause_without_a_message_is_skipped():
    try:
        try:
            raise queue.Empty
        except queue.Empty:
            {}["connection"]
    except KeyError as error:
        assert first_cause(error) == "'connection'"
    assert first_cause(queue.Empty()) == "Empty"
