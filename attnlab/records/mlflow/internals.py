"""What is used of MLflow that it does not promise to keep; seen in MLflow 3.17.2.

tests/records/test_mlflow_internals.py has a test for each function here, which fails by its name
when an upgrade of MLflow breaks it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.records.mlflow.settings import sqlite_uri

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def migrations() -> list[Path]:
    """The scripts that change a store's schema, found without importing MLflow."""
    spec = importlib.util.find_spec("mlflow")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return [path for top in folders for path in Path(top).glob("store/db_migrations/versions/*.py")]


def make_database(path: Path, artifact_root: Path) -> None:
    """Make an SQLite store, whose default experiment keeps artifacts in `artifact_root`."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(sqlite_uri(path), artifact_root.as_uri())
    store.engine.dispose()


def database(client: MlflowClient) -> Any | None:
    """The database of a client, which can remove runs for good; None of a server."""
    found = getattr(client._tracking_client, "store", None)
    return found if hasattr(found, "_hard_delete_run") else None


def remove_run_for_good(database: Any, run_id: str, model_ids: list[str]) -> None:
    """Remove a run that is deleted already, and models, as `mlflow gc` does."""
    for model_id in model_ids:
        database._hard_delete_logged_model(model_id)
    database._hard_delete_run(run_id)


def remove_artifacts(location: str) -> None:
    """Remove all that is at a URI that is no local folder."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    get_artifact_repository(location).delete_artifacts()


def model_description(run_id: str, model_id: str, location: str) -> Any:
    """What makes `mlflow.pyfunc.save_model` write the files of a logged model."""
    from mlflow.models import Model

    return Model(artifact_path=location, model_uuid=model_id, run_id=run_id, model_id=model_id)
