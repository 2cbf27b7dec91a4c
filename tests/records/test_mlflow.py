"""MLflow gets all that a run folder has, once, whenever and however often it is copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from run_folders import add_epoch, write_metrics, write_run

from attnlab.errors import RequestError
from attnlab.records import mlflow
from attnlab.records.files import read_json, write_json
from attnlab.records.mlflow import (
    connect,
    copy,
    copy_sweep,
    newest_page,
    remove_run,
    sqlite_path,
    store_uri,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own
BEST = {"tracking.weights": "best"}


@pytest.fixture
def runs(tmp_path, empty_store):
    folder = tmp_path / "runs with 'quotes\" and spaces"
    folder.mkdir()
    shutil.copy(empty_store, folder / "mlflow.db")
    return folder


@pytest.fixture
def client(runs):
    return connect(store_uri(runs), runs)


def steps(client, run_id, key):
    return [metric.step for metric in client.get_metric_history(run_id, key)]


def names(client, run_id):
    parts = (None, "plots", "weights")
    entries = [entry for part in parts for entry in client.list_artifacts(run_id, part)]
    return [entry.path for entry in entries if not entry.is_dir]


def models(client, run):
    query = f"source_run_id = '{run.info.run_id}'"
    return client.search_logged_models([run.info.experiment_id], query)


def all_runs(client):
    return client.search_runs([place.experiment_id for place in client.search_experiments()])


def test_a_run_is_copied_while_it_trains_and_when_it_has_ended(runs, client):
    run = write_run(runs, state="running", config=BEST)
    run_id = copy(run.path, client)
    live = client.get_run(run_id)
    assert (live.info.status, live.info.run_name) == ("RUNNING", "sunspots-none-s0")
    assert {"task.name": "sunspots", "seed": "0"}.items() <= live.data.params.items()
    assert steps(client, run_id, "val_loss") == [1, 2, 3]
    for epoch in range(4, 401):  # more metrics than fit into one call
        add_epoch(run, epoch)
    assert copy(run.path, client) == run_id
    assert steps(client, run_id, "val_loss") == list(range(1, 401))
    assert names(client, run_id) == []

    (run.plots / "loss.png").write_bytes(b"png")
    (run.path / "report.html").write_text("a page")
    write_metrics(run, best_epoch=7)
    array = {"values": [[0.5]], "dtype": "float64"}
    run.write_json("served.json", {"input": array, "output": array})
    run.status.write("completed")
    run.lock.release()
    for _ in range(2):  # the second time nothing is sent
        assert copy(run.path, client) == run_id
        done = client.get_run(run_id)
        assert done.info.status == "FINISHED"
        assert done.info.start_time <= done.info.end_time
        assert (steps(client, run_id, "test_rmse"), done.data.metrics["test_rmse"]) == ([7], 0.25)
        assert names(client, run_id) == [
            *("config.yaml", "environment.json", "history.csv", "metrics.json", "report.html"),
            *("plots/loss.png", "weights/epoch_007.weights.h5"),
        ]
        (model,) = models(client, done)
        assert model.status.value == "READY" and model.tags["attnlab.epoch"] == "7"
        assert "test_rmse" in {metric.key for metric in model.metrics}
        assert read_json(run.path / "status.json")["mlflow_run_id"] == run_id
    (place,) = client.search_experiments(filter_string="name = 'sunspots'")
    for column in ("attention.name", "seed", "test_rmse"):
        assert column in place.tags[f"mlflow.sharedViewState.{mlflow.VIEW}"]
    assert place.artifact_location == (runs / "artifacts" / "sunspots").as_uri()
    assert newest_page(client).startswith(f"/#/experiments/{place.experiment_id}/runs?")


def test_a_run_without_a_result_has_its_state_and_its_epochs(runs, client):
    for state, status in (("failed", "FAILED"), ("killed", "KILLED")):
        run_id = copy(write_run(runs, state=state, status={"error": "why"}).path, client)
        assert client.get_run(run_id).info.status == status
        assert steps(client, run_id, "val_loss") == [1, 2, 3]
        assert models(client, client.get_run(run_id)) == []


def test_a_run_that_is_trained_longer_has_its_new_result_and_one_model(runs, client):
    run = write_run(runs, config=BEST)
    run_id = copy(run.path, client)
    run.status.write("running")
    with mlflow.hold(run.path):
        add_epoch(run, 4)
        copy(run.path, client)
        assert client.get_run(run_id).info.status == "RUNNING"
        write_metrics(run, best_epoch=4)
        run.status.write("completed")
    assert copy(run.path, client) == run_id
    assert steps(client, run_id, "test_rmse") == [2, 4]
    (model,) = models(client, client.get_run(run_id))
    assert model.tags["attnlab.epoch"] == "4"


def test_a_folder_has_one_mlflow_run_if_its_id_was_not_written(runs, client):
    run = write_run(runs)
    first = copy(run.path, client)
    status = read_json(run.path / "status.json")
    write_json(run.path / "status.json", {**status, "mlflow_run_id": None})
    assert copy(run.path, client) == first
    client.delete_run(first)
    assert copy(run.path, client) == first
    assert len(all_runs(client)) == 1


def test_a_moved_folder_of_runs_has_its_mlflow_runs_and_a_copied_run_a_new_one(runs, client):
    run = write_run(runs)
    first = copy(run.path, client)
    moved = runs.rename(runs.with_name("moved")) / run.name
    client = connect(store_uri(moved.parents[2]), moved.parents[2])
    assert copy(moved, client) == first
    assert client.get_run(first).data.tags["attnlab.folder"] == str(moved)
    assert copy(Path(shutil.copytree(moved, moved.with_name("copied"))), client) != first


def test_an_incomplete_model_is_logged_again(runs, client):
    run = write_run(runs, config=BEST)
    run_id = copy(run.path, client)
    (model,) = models(client, client.get_run(run_id))
    client.delete_logged_model(model.model_id)
    place = client.get_run(run_id).info.experiment_id
    client.create_logged_model(place, "model", run_id, {"attnlab.epoch": "2"})  # as by a kill
    copy(run.path, client)
    (model,) = models(client, client.get_run(run_id))
    assert model.status.value == "READY"


def test_runs_of_a_sweep_are_children_of_its_run(runs, client):
    folder = runs / "sweeps" / "grid"
    folder.mkdir(parents=True)
    write_json(folder / "sweep.json", {"varying": {"seed": ["0", "1"]}})
    for name in ("table.csv", "report.html"):
        (folder / name).write_text("a\n1\n")
    made = [write_run(runs, seed=seed, status={"sweep": "grid"}) for seed in (0, 1)]
    children = [copy(run.path, client) for run in made]
    parents = {client.get_run(child).data.tags["mlflow.parentRunId"] for child in children}
    (parent,) = parents
    for state, status in (("running", "RUNNING"), ("completed", "FINISHED")):
        copy_sweep(folder, state, client)
        logged = client.get_run(parent)
        assert (logged.info.run_name, logged.info.status) == ("grid", status)
    assert logged.data.params == {"varies": "seed", "seed": "0, 1"}
    assert names(client, parent) == ["report.html", "table.csv"]


def test_a_removed_run_is_among_mlflows_deleted_runs(runs, client):
    run, damaged = write_run(runs), write_run(runs, seed=1)
    run_id, other = copy(run.path, client), copy(damaged.path, client)
    assert remove_run(run.path) and not run.path.exists()
    (damaged.path / "status.json").unlink()
    assert remove_run(damaged.path)
    for copied in (run_id, other):
        assert client.get_run(copied).info.lifecycle_stage == "deleted"
    assert not list(runs.glob("sunspots/none/.*"))


def test_an_mlflow_that_fails_is_one_sentence_without_a_password(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    for uri in ("http://me:secret@127.0.0.1:9", "nonsense://x", "sqlite:////dev/null/mlflow.db"):
        with pytest.raises(RequestError, match="^MLflow: ") as failure:
            connect(uri, tmp_path)
        assert "secret" not in str(failure.value) and "\n" not in str(failure.value)
    (tmp_path / "mlflow.db").write_text("no database")
    with pytest.raises(RequestError, match="file is not a database"):
        connect(store_uri(tmp_path), tmp_path)
    assert (tmp_path / "mlflow.db").read_text() == "no database"


def test_a_store_is_in_its_runs_folder_with_any_name(tmp_path):
    from sqlalchemy.engine import make_url

    for name in ("a?b", "a%20b", "a#b", "ä"):
        uri = store_uri(tmp_path / name)
        assert make_url(uri).database == str(tmp_path / name / "mlflow.db")
        assert sqlite_path(uri) == tmp_path / name / "mlflow.db"
