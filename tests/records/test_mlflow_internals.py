"""Private interfaces of MLflow that this project uses, one test each."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from attnlab.records.mlflow import internals
from attnlab.records.mlflow.internals import VIEW_PARAMETER, VIEW_TAG, view
from attnlab.records.mlflow.settings import store_uri
from attnlab.records.mlflow.store import Store
from attnlab.records.mlflow.store_check import schema_versions

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


@pytest.fixture
def client(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return Store(store_uri(tmp_path), tmp_path / "artifacts").client


def ask(database, query):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_make_database(empty_store):
    assert ask(empty_store, "SELECT name FROM experiments") == [("Default",)]
    ((location,),) = ask(empty_store, "SELECT artifact_location FROM experiments")
    assert location == (empty_store.parent / "artifacts" / "0").as_uri()


def test_migrations(empty_store):
    assert internals.migrations()
    known, followed = schema_versions()
    newest = [(version,) for version in known - followed]
    assert ask(empty_store, "SELECT version_num FROM alembic_version") == newest


def test_database_and_remove_run_for_good(client, tmp_path):
    run = client.create_run("0")
    model = client.create_logged_model("0", "model", run.info.run_id)
    client.delete_logged_model(model.model_id)
    client.delete_run(run.info.run_id)
    database = internals.database(client)
    internals.remove_run_for_good(database, run.info.run_id, [model.model_id])
    for table in ("runs", "logged_models"):
        assert ask(tmp_path / "mlflow.db", f"SELECT COUNT(*) FROM {table}") == [(0,)]


def test_database_of_a_server():
    from mlflow.tracking import MlflowClient

    assert internals.database(MlflowClient("http://127.0.0.1:9")) is None


def test_remove_artifacts(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    internals.remove_artifacts((tmp_path / "kept").as_uri())
    assert not (tmp_path / "kept" / "file").exists()


def test_model_description(tmp_path):
    import mlflow.pyfunc

    (tmp_path / "data").mkdir()
    mlflow.pyfunc.save_model(
        str(tmp_path / "model"),
        loader_module="json",
        data_path=str(tmp_path / "data"),
        pip_requirements=["numpy"],
        mlflow_model=internals.model_description("run", "m-1", "file:///there"),
    )
    said = yaml.safe_load((tmp_path / "model" / "MLmodel").read_text())
    assert (said["run_id"], said["model_id"]) == ("run", "m-1")
    assert said["flavors"]["python_function"]["loader_module"] == "json"


def test_view():
    """The UI knows the words that choose what it shows."""
    (package,) = importlib.util.find_spec("mlflow").submodule_search_locations
    scripts = Path(package, "server/js/build/static/js")
    texts = [path.read_text(encoding="utf-8") for path in scripts.glob("*.js")]
    words = [VIEW_TAG, VIEW_PARAMETER, "workflowType", "machine_learning", *json.loads(view(None))]
    assert [word for word in words if not any(word in text for text in texts)] == []
