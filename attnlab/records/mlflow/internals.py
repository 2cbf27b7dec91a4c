"""Uses of MLflow's private interfaces and of the UI's undocumented tags; seen in MLflow 3.17.2.

tests/records/test_mlflow_internals.py has a test for each function, which fails by name if an
upgrade of MLflow breaks it. A view that somebody shares in the UI is a tag of the experiment, and
its key is part of the address. Our view shows the most useful columns, and the loss charts first.
"""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attnlab.records.mlflow.settings import sqlite_uri

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def migrations() -> list[Path]:
    """Return the scripts that migrate a store's schema, without importing MLflow."""
    spec = importlib.util.find_spec("mlflow")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return [path for top in folders for path in Path(top).glob("store/db_migrations/versions/*.py")]


def make_database(path: Path, artifact_root: Path) -> None:
    """Make an SQLite store, whose default experiment stores artifacts in `artifact_root`."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(sqlite_uri(path), artifact_root.as_uri())
    store.engine.dispose()


def database(client: MlflowClient) -> Any | None:
    """Return the database of a client, which can remove runs permanently; None for a server."""
    found = getattr(client._tracking_client, "store", None)
    return found if hasattr(found, "_hard_delete_run") else None


def remove_run_for_good(database: Any, run_id: str, model_ids: list[str]) -> None:
    """Remove a deleted run and its models permanently, as `mlflow gc` does."""
    for model_id in model_ids:
        database._hard_delete_logged_model(model_id)
    database._hard_delete_run(run_id)


def remove_artifacts(location: str) -> None:
    """Remove all artifacts at a URI that isn't a local folder."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    get_artifact_repository(location).delete_artifacts()


def model_description(run_id: str, model_id: str, location: str) -> Any:
    """Return an argument with which `mlflow.pyfunc.save_model` writes a logged model's files."""
    from mlflow.models import Model

    return Model(artifact_path=location, model_uuid=model_id, run_id=run_id, model_id=model_id)


VIEW_TAG, VIEW_PARAMETER, _KEY = "mlflow.sharedViewState.", "viewStateShareKey", "attnlab"
TAG = f"{VIEW_TAG}{_KEY}"
# The UI's other mode is about traces of language models.
_MODE = "workflowType=machine_learning"
# Widths in pixels.
_WIDTHS = {"attributes.`Run Name`": 260, "params.`attention.name`": 140, "params.`seed`": 70}
_METRIC_WIDTH = 170
_LOSSES = ("train_loss", "val_loss")
_NEWEST = """
    SELECT experiment_id FROM runs JOIN experiment_tags USING (experiment_id)
    WHERE runs.lifecycle_stage = 'active' AND experiment_tags.key = ?
    ORDER BY runs.start_time DESC LIMIT 1
"""


def view(metric: str | None) -> str:
    """Return the view of an experiment as JSON, with a column for a metric."""
    widths = {**_WIDTHS, **({f"metrics.`{metric}`": _METRIC_WIDTH} if metric else {})}
    sections = [("attnlab", "loss"), ("default", "Model metrics")]
    state = {
        "selectedColumns": [*widths][1:],
        "columnOrder": [*widths],
        "columnWidths": widths,
        "compareRunSections": [
            {"uuid": uuid, "name": name, "display": True, "isReordered": False}
            for uuid, name in sections
        ],
        "compareRunCharts": [_chart(loss) for loss in _LOSSES],
    }
    return json.dumps(state)


def _chart(metric: str) -> dict[str, Any]:
    """Return a chart of a metric by epoch, which replaces the one that MLflow generates."""
    return {
        "type": "LINE",
        "uuid": f"autogen-{metric}",
        "metricSectionId": "attnlab",
        "isGenerated": True,
        "deleted": False,
        "metricKey": metric,
        "selectedMetricKeys": [metric],
        "runsCountToCompare": 10,
        "scaleType": "linear",
        "xAxisKey": "step",
        "xAxisScaleType": "linear",
        "lineSmoothness": 0,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }


def newest_page(store: Path) -> str:
    """Return the address of the experiment with the newest run; empty if there is no run."""
    address = f"file:{quote(store.as_posix())}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as database:
        if found := database.execute(_NEWEST, [TAG]).fetchone():
            return f"/#/experiments/{found[0]}/runs?{_MODE}&{VIEW_PARAMETER}={_KEY}"
    return ""
