"""What MLflow has of a run is what was logged; what goes wrong there is a single warning."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attnlab.records.mlflow.tracker import NullTracker, Tracker, default_uri, store_uri
from attnlab.records.mlflow.tracking import reason
from attnlab.records.mlflow.worker import Worker

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here

TWO_AT_ONCE = """
import sys
from pathlib import Path
from attnlab.records.mlflow.tracker import Tracker, store_uri
runs = Path(sys.argv[1])
tracker = Tracker.start(store_uri(runs), "fib", sys.argv[2], {}, {}, runs / "artifacts")
print("ok" if tracker.finish("FINISHED") else "failed", tracker.run_id)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from attnlab.records.mlflow.tracker import Tracker, store_uri
runs = Path(sys.argv[1])
tracker = Tracker.start(store_uri(runs), "fib", "run", {}, {}, runs / "artifacts")
print(tracker.wait_run_id(60), flush=True)
tracker.log_metrics(1, {"train_loss": 0.5})
import time; time.sleep(0.5)  # the message is out of the process before it dies
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def mlflow():
    import mlflow
    import mlflow.pyfunc

    return mlflow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs with space")


@pytest.fixture
def client(runs, mlflow):
    return mlflow.MlflowClient(store_uri(runs))


def start(runs, uri=None, **options):
    params = {"task": {"name": "fib", "_target_": "x"}, "seed": 0, "paths": {"runs": "here"}}
    return Tracker.start(
        uri or store_uri(runs),
        options.pop("experiment", "fib"),
        "fib-none-s0",
        params,
        {"code": "abc"},
        runs / "artifacts",
        **{"timeout": 60, **options},
    )


def warned(caplog):
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def test_everything_logged_reads_back(runs, client, tmp_path, caplog):
    file, folder = tmp_path / "config.yaml", tmp_path / "plots"
    file.write_text("a: 1")
    folder.mkdir()
    (folder / "loss.png").write_bytes(b"png")
    told = []
    tracker = start(runs, on_run_id=told.append)
    for epoch in range(1, 31):
        tracker.log_metrics(epoch, {"train_loss": 1 / epoch, "val_loss": np.float32(0.5)})
    tracker.log_metrics(7, {"test_rmse": float("nan")})
    tracker.log_dataset("fib", "computed", "ab" * 32, {"train": 7, "validation": 3, "test": 5})
    tracker.log_artifacts(file, folder)
    tracker.log_artifacts(file, folder="weights")
    tracker.set_tags({"best": 7})
    assert tracker.finish("FINISHED") is True
    assert warned(caplog) == []
    assert told == [tracker.run_id]

    run = client.get_run(tracker.run_id)
    assert (run.info.run_name, run.info.status) == ("fib-none-s0", "FINISHED")
    assert run.info.start_time <= run.info.end_time
    assert run.data.params == {"task.name": "fib", "seed": "0"}
    assert {"code": "abc", "best": "7"}.items() <= run.data.tags.items()
    history = client.get_metric_history(tracker.run_id, "train_loss")
    assert [(point.step, point.value) for point in history] == [(e, 1 / e) for e in range(1, 31)]
    assert client.get_metric_history(tracker.run_id, "test_rmse")[0].step == 7
    inputs = {
        entry.tags[0].value: (entry.dataset.name, entry.dataset.digest, entry.dataset.profile)
        for entry in run.inputs.dataset_inputs
    }
    assert inputs == {
        "training": ("fib-train", "ab" * 18, '{"num_rows": 7}'),
        "validation": ("fib-validation", "ab" * 18, '{"num_rows": 3}'),
        "testing": ("fib-test", "ab" * 18, '{"num_rows": 5}'),
    }
    top = {entry.path for entry in client.list_artifacts(tracker.run_id)}
    assert top == {"config.yaml", "plots", "weights"}
    assert client.list_artifacts(tracker.run_id, "plots")[0].path == "plots/loss.png"
    experiment = client.get_experiment(run.info.experiment_id)
    assert (experiment.name, experiment.artifact_location) == (
        "fib",
        (runs / "artifacts" / "fib").as_uri(),
    )


def test_more_params_than_one_call_takes(runs, client):
    params = {f"p{number}": number for number in range(233)}
    tracker = Tracker.start(store_uri(runs), "fib", "many", params, {}, runs / "artifacts")
    assert tracker.finish("FINISHED")
    assert len(client.get_run(tracker.run_id).data.params) == 233


def test_model_is_loaded_by_pyfunc(runs, client, mlflow, tmp_path, monkeypatch):
    (tmp_path / "doubling.py").write_text(
        "class Doubler:\n"
        "    def __init__(self, path): self.path = path\n"
        "    def predict(self, data, params=None): return data * 2\n"
        "def _load_pyfunc(path): return Doubler(path)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    (data / "weights").write_text("w")
    tracker = start(runs)
    tracker.log_model(
        data,
        loader_module="doubling",
        requirements=["numpy"],
        input_example=np.zeros((1, 5)),
        output_example=np.zeros((1, 1)),
        step=7,
    )
    assert tracker.finish("FINISHED")
    output = client.get_run(tracker.run_id).outputs.model_outputs[0]
    assert output.step == 7
    mlflow.set_tracking_uri(store_uri(runs))
    model = mlflow.pyfunc.load_model(f"models:/{output.model_id}")
    predicted = model.predict(np.full((3, 5), 1.5))
    assert predicted.tolist() == [[3.0] * 5] * 3
    assert model.metadata.signature.inputs.inputs[0].shape == (-1, 5)


def test_two_runs_at_a_time_are_told_apart(runs, client):
    first, second = start(runs), start(runs, experiment="sunspots")
    second.log_metrics(1, {"loss": 2.0})
    first.log_metrics(1, {"loss": 1.0})
    assert second.finish("FAILED")
    assert first.finish("KILLED")
    for tracker, loss, status in ((first, 1.0, "KILLED"), (second, 2.0, "FAILED")):
        run = client.get_run(tracker.run_id)
        assert (run.data.metrics["loss"], run.info.status) == (loss, status)


def test_resumed_run_keeps_its_params_and_goes_on(runs, client):
    first = start(runs)
    first.log_metrics(1, {"loss": 1.0})
    assert first.finish("KILLED")
    second = Tracker.start(
        store_uri(runs),
        "fib",
        "fib-none-s0",
        {"seed": 99, "new": 1},
        {},
        runs / "artifacts",
        run_id=first.run_id,
    )
    second.log_metrics(2, {"loss": 0.5})
    assert second.finish("FINISHED")
    assert second.run_id == first.run_id
    run = client.get_run(first.run_id)
    assert run.data.params == {"task.name": "fib", "seed": "0", "new": "1"}
    assert run.info.status == "FINISHED"
    assert [m.step for m in client.get_metric_history(first.run_id, "loss")] == [1, 2]


def test_a_run_that_is_gone_from_the_store_is_made_again(runs, client, caplog):
    told = []
    tracker = start(runs, run_id="0" * 32, resumed=True, on_run_id=told.append)
    tracker.log_metrics(1, {"loss": 1.0})
    assert tracker.finish("FINISHED")
    assert warned(caplog) == []
    assert told != ["0" * 32]
    assert client.get_run(told[0]).data.metrics == {"loss": 1.0}


def test_deleted_experiment_comes_back(runs, client):
    assert start(runs, experiment="gone").finish("FINISHED")
    client.delete_experiment(client.get_experiment_by_name("gone").experiment_id)
    assert start(runs, experiment="gone").finish("FINISHED")


def test_one_failing_step_is_warned_of_and_the_rest_is_kept(runs, client, tmp_path, caplog):
    tracker = start(runs)
    tracker.log_artifacts(tmp_path / "missing")
    tracker.log_artifacts(tmp_path / "also missing")
    tracker.log_metrics(1, {"loss": 1.0})
    assert tracker.finish("FINISHED") is False
    assert len(warned(caplog)) == 1
    assert "missing" in warned(caplog)[0]
    assert "the run folder has all" in warned(caplog)[0]
    run = client.get_run(tracker.run_id)
    assert (run.data.metrics["loss"], run.info.status) == (1.0, "FINISHED")


@pytest.mark.parametrize("uri", ["sqlite:////dev/null/mlflow.db", "nonsense://x"])
def test_unusable_store_is_one_warning(runs, uri, caplog):
    tracker = start(runs, uri=uri)
    for epoch in range(1, 6):
        tracker.log_metrics(epoch, {"loss": 1.0})
    assert tracker.finish("FINISHED") is False
    assert tracker.finish("FINISHED") is False
    assert tracker.wait_run_id(0) is None
    assert len(warned(caplog)) == 1


def test_dead_server_is_one_warning_and_a_bounded_wait(runs, caplog):
    tracker = start(runs, uri="http://127.0.0.1:9", timeout=0.2)
    tracker.log_metrics(1, {"loss": 1.0})
    assert tracker.finish("FINISHED") is False
    assert tracker.run_id is None
    assert len(warned(caplog)) == 1
    caplog.clear()
    assert start(runs).finish("FINISHED") is True  # a run to come is not harmed
    assert warned(caplog) == []


def test_helper_process_that_dies_is_one_warning(runs, caplog):
    tracker = start(runs)
    assert tracker.wait_run_id(60)
    tracker._worker._process._process.kill()
    tracker.log_metrics(1, {"loss": 1.0})
    assert tracker.finish("FINISHED") is False
    assert len(warned(caplog)) == 1
    assert start(runs).finish("FINISHED") is True


def test_helper_process_that_cannot_start_is_one_warning(runs, caplog, monkeypatch):
    def refuse():
        raise OSError("no memory")

    monkeypatch.setattr(Worker, "current", refuse)
    tracker = start(runs)
    tracker.log_metrics(1, {"loss": 1.0})
    assert tracker.finish("FINISHED") is False
    assert len(warned(caplog)) == 1


def test_two_processes_may_make_the_store_at_once(tmp_path, mlflow):
    command = [sys.executable, "-c", TWO_AT_ONCE, str(tmp_path)]
    both = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    answers = [process.communicate(timeout=60) for process in both]
    assert [out.split()[0] for out, _ in answers] == [b"ok", b"ok"], answers
    found = mlflow.MlflowClient(store_uri(tmp_path))
    experiment = found.get_experiment_by_name("fib")
    names = {run.info.run_name for run in found.search_runs([experiment.experiment_id])}
    assert names == {"one", "two"}
    assert sorted(os.listdir(tmp_path)) == ["mlflow.db"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_run_whose_process_is_killed_is_marked_killed(runs, client):
    done = subprocess.run([sys.executable, "-c", KILLED, str(runs)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    run_id = done.stdout.strip()
    for _ in range(200):
        if client.get_run(run_id).info.status == "KILLED":
            break
        time.sleep(0.05)
    run = client.get_run(run_id)
    assert (run.info.status, run.data.metrics) == ("KILLED", {"train_loss": 0.5})


def test_unknown_status_is_refused(runs):
    with pytest.raises(ValueError, match="expected one of FINISHED, FAILED, KILLED"):
        Tracker(1, None).finish("DONE")


def test_null_tracker_has_every_method_and_keeps_nothing(tmp_path):
    tracker = NullTracker()
    tracker.log_metrics(1, {"loss": 1.0})
    tracker.log_artifacts(tmp_path)
    tracker.log_dataset("a", "b", "c", {})
    tracker.log_model(tmp_path)
    tracker.set_tags({})
    assert (tracker.wait_run_id(0), tracker.finish("FINISHED")) == (None, True)


def test_default_uri_is_the_environments_or_the_runs_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert default_uri(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server")
    assert default_uri(tmp_path) == "http://server"


def test_reason_is_the_first_cause_without_passwords():
    try:
        try:
            raise OSError("cannot reach http://me:secret@host/x\n  at all")
        except OSError as error:
            raise RuntimeError("request failed") from error
    except RuntimeError as error:
        assert reason(error) == "cannot reach http://host/x at all"
