"""Models of runs for MLflow's server, and versions in its registry of models."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.mlflow.folder_copy import sync_run
from attnlab.records.mlflow.model import save_model
from attnlab.records.mlflow.snapshot import model_of
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory


def write_model(run: RunDirectory, folder: Path) -> dict[str, Any]:
    """Write a completed run's best weights as an MLflow model; returns an example request.

    Raises:
        RequestError: the run isn't completed, or its weights or assets are gone.
    """
    run.status.require_completed()
    model = model_of(run, run.read_metrics()["best_epoch"])
    if model is None:
        raise RequestError(f"{run.path}: the weights of the best epoch or the assets are missing.")
    with tempfile.TemporaryDirectory() as scratch:
        save_model(model, None, folder, Path(scratch, "data"))
    return {"inputs": model.served[0]["values"] if model.served else []}


def model_server(folder: Path, host: str, port: int) -> tuple[list[str], dict[str, str]]:
    """Return arguments of uvicorn for MLflow's model server, and variables that it needs.

    `mlflow models serve` runs the same, but only where uvicorn is on the path.
    """
    from mlflow.pyfunc import scoring_server

    # MLflow annotates the host as a number.
    command, environment = scoring_server.get_cmd(str(folder), port, host, nworkers=1)  # type: ignore[arg-type]
    before = dict(os.environ)
    own = {key: value for key, value in environment.items() if before.get(key) != value}
    own["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return [*shlex.split(command)[1:], "--log-level", "error"], own


def register(run: RunDirectory, store: Store, name: str) -> str:
    """Make a version of a registered model from a run's logged model; returns its number.

    The run is copied to the store before, if it isn't complete there.

    Raises:
        RequestError: the run isn't completed, it has no logged model, or the store can't be used.
    """
    from mlflow.exceptions import MlflowException

    run.status.require_completed()
    run_id = sync_run(run, store).run_id
    with store.explained():
        found = store.client.get_run(run_id)
        logged = store.client.search_logged_models(
            [found.info.experiment_id], f"source_run_id = '{run_id}'"
        )
        if not logged:
            raise RequestError(
                f"--register: {run.path} has no logged model (tracking.weights=none): "
                "train it with tracking.weights=best."
            )
        try:
            store.client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        model = logged[0]
        version = store.client.create_model_version(
            name, model.artifact_location, run_id, model_id=model.model_id
        )
    return str(version.version)
