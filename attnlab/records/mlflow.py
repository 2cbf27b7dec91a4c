"""MLflow, which gets a copy of run folders: `copy` adds what it lacks, as often as it is called.

The run folder is the source of truth, so nothing is lost if MLflow fails. A folder has one MLflow
run, which is found by its id in status.json or by its tags. MLflow is imported by the functions
that need it, because that takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import string
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from attnlab import __version__
from attnlab.errors import RequestError
from attnlab.process import variable
from attnlab.records import files
from attnlab.records.run_directory import REPORT, RunDirectory
from attnlab.records.status import hold

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

# Give up soon on a server that does not answer (MLflow's own default is four minutes), print
# nothing, send no telemetry.
QUIET_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_UV_AUTO_DETECT": "false",
}
_STATES = {"running": "RUNNING", "completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}
_FILES = (
    *("config.yaml", "environment.json", "metrics.json", "history.csv", "predictions.csv"),
    REPORT,
)
_NAME, _FOLDER, _SENT, _PARENT = (
    *("attnlab.run", "attnlab.folder", "attnlab.files"),
    "mlflow.parentRunId",
)
_LONGEST_COMMAND = 3000
_NEEDED = ("tensorflow", "keras", "numpy")  # by a model
_LEFT_OUT = ("hydra", "paths", "tracking")  # sections that only say where a run is stored
# MLflow's limits: characters of a parameter's name and value; entries of one call.
_LONGEST_KEY, _LONGEST_VALUE, _PARAMS_PER_CALL, _METRICS_PER_CALL = 250, 6000, 100, 900
# The UI shows the columns of this view, a tag of the experiment, if the address names its key.
VIEW = "attnlab"
_VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
_WIDTHS = {"attributes.`Run Name`": 260, "params.`attention.name`": 140, "params.`seed`": 70}
_METRIC_WIDTH = 170


# Stores


def default_uri(runs: Path) -> str:
    """Return the store to use: `$MLFLOW_TRACKING_URI`, else an SQLite file in the runs folder."""
    return variable("MLFLOW_TRACKING_URI") or store_uri(runs)


def store_uri(runs: Path) -> str:
    """Return the URI of the SQLite store in a runs folder."""
    path = (Path(runs).absolute() / "mlflow.db").as_posix()
    return f"sqlite:///{quote(path, safe=''.join({*string.printable} - {*'%?#'}))}"


def own_uri(folder: Path, config: Mapping[str, Any]) -> str:
    """Return the tracking URI of a run in `folder` with this configuration."""
    return (config.get("tracking") or {}).get("uri") or default_uri(folder.parents[2])


def sqlite_path(uri: str) -> Path | None:
    """Return the file of an SQLite store; None for other stores."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(unquote(uri.removeprefix("sqlite:///").partition("?")[0]))


@contextmanager
def mlflow_errors(uri: str) -> Iterator[None]:
    """Turn errors of MLflow into a `RequestError` of one sentence without passwords."""
    try:
        yield
    except RequestError:
        raise
    except Exception as error:
        cause: BaseException = error
        said = str(error)
        while cause.__cause__ or cause.__context__:
            cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
            said = str(cause).strip() or said
        text = f"MLflow: {uri}: {' '.join(said.split()) or type(cause).__name__}"
        raise RequestError(re.sub(r"//[^/@\s]+@", "//", text)[:400]) from error


@cache
def connect(uri: str, runs: Path) -> MlflowClient:
    """Return a client of a store; the SQLite store of a runs folder is made if it is missing.

    Raises:
        RequestError: The store can't be used.
    """
    for name, value in QUIET_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", module="mlflow")
    with mlflow_errors(uri):
        from mlflow import MlflowClient

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        path = sqlite_path(uri)
        if path is not None and not path.exists():
            with _exclusive(runs):
                if not path.exists():
                    # Tables are made in a temporary file, because a kill would leave only some.
                    temporary = files.temporary(path)
                    MlflowClient(f"sqlite:///{temporary.as_posix()}").search_experiments()
                    os.replace(temporary, path)
        client = MlflowClient(uri)
        client.search_experiments(max_results=1)
        return client


@contextmanager
def _exclusive(runs: Path) -> Iterator[None]:
    """Let one process at a time make stores, experiments and MLflow runs."""
    from filelock import FileLock

    with FileLock(runs / ".mlflow.lock"):
        yield


def newest_page(client: MlflowClient) -> str:
    """Return the path of the UI's page with the newest run; empty if there is no run."""
    with mlflow_errors(client.tracking_uri):
        places = [place.experiment_id for place in client.search_experiments()]
        runs = client.search_runs(places, order_by=["attributes.start_time DESC"], max_results=1)
    if not runs:
        return ""
    place = runs[0].info.experiment_id
    return f"/#/experiments/{place}/runs?workflowType=machine_learning&viewStateShareKey={VIEW}"


def serve(uri: str, runs: Path, host: str, port: int) -> None:
    """Serve MLflow's UI in this process until it is interrupted.

    `mlflow ui` would serve it in a child process, which outlives a killed command.
    """
    import uvicorn
    from mlflow.server import handlers
    from mlflow.server.fastapi_app import app

    handlers.initialize_backend_stores(uri, uri, (runs / "artifacts").as_uri())
    uvicorn.run(app, host=host, port=port, log_level="warning")


def import_ahead() -> None:
    """Import what `copy` needs for a model, which takes seconds."""
    import mlflow.pyfunc  # noqa: F401


def delete(folder: Path, client: MlflowClient) -> bool:
    """Mark the MLflow run of a run folder as deleted; returns whether it has one."""
    status, task = {}, folder.parts[-3]
    with suppress(RequestError):
        status = RunDirectory(folder).status.read()
    experiment = client.get_experiment_by_name(task)
    run = _find(folder, status.get("mlflow_run_id"), experiment, client) if experiment else None
    if run is None:
        return False
    if run.info.lifecycle_stage != "deleted":
        client.delete_run(run.info.run_id)
    return True


# Copies


def copy(folder: Path, client: MlflowClient) -> str:
    """Add to MLflow what it lacks of a run's folder; returns the id of the MLflow run.

    The run may be in progress: then MLflow gets its parameters and the epochs so far. The result,
    the files and the model follow when no process works on the run.

    Raises:
        RequestError: The folder is damaged, or MLflow failed; the next call continues.
    """
    run = RunDirectory(folder)
    with mlflow_errors(client.tracking_uri):
        status, config, runs = run.status.read(), run.read_config(), folder.parents[2]
        state, sweep, run_id = status["state"], status.get("sweep"), status.get("mlflow_run_id")
        try:
            task, attention = config["task"]["name"], config["attention"]["name"]
            name = f"{task}-{attention}-s{config['seed']}"
            started, ended = _milliseconds(status["started"]), _milliseconds(status["updated"])
        except (KeyError, TypeError) as error:
            raise RequestError(f"{folder}: a file of it is damaged: {error!r}.") from error
        tags = {
            **_origin(folder),
            "attnlab.config_hash": status.get("config_hash"),
            "attnlab.sweep": sweep,
            "attnlab.pruned": "true" if status.get("pruned") else None,
        }
        with _exclusive(runs):
            place = _experiment(task, runs, client)
            copied = _find(folder, run_id, place, client)
            if sweep and (copied is None or _PARENT not in copied.data.tags):
                tags[_PARENT] = _sweep_run(runs / "sweeps" / sweep, place, started, client)
            if copied is None:
                copied = _create_run(place, name, started, tags, client)
            elif copied.info.lifecycle_stage == "deleted":
                client.restore_run(copied.info.run_id)
        _add_params_and_tags(copied, config, tags, client)
        _add_epochs(copied, run.history.read(), started, client)
        if state != "running":
            _add_end(copied, run, config, state, ended, client)
            if run_id != copied.info.run_id and own_uri(folder, config) == client.tracking_uri:
                _write_id(run, copied.info.run_id)
        _set_state(copied, state, ended, client)
        return copied.info.run_id


def _add_end(
    copied: Run,
    run: RunDirectory,
    config: Mapping[str, Any],
    state: str,
    ended: int,
    client: MlflowClient,
) -> None:
    """Add the result, the files and the model of a run that no process works on."""
    metrics = run.read_metrics() if state == "completed" else {}
    best, which = metrics.get("best_epoch"), (config.get("tracking") or {}).get("weights", "best")
    epochs = {"all": run.weights_epochs(), "best": [best] if best else []}.get(which, [])
    paths = [*(run.path / name for name in _FILES), *sorted(run.plots.glob("[!.]*.*"))]
    if metrics:
        _add_result(copied, metrics, ended, client)
    _add_files(copied, run.path, [*paths, *map(run.weights_path, epochs)], client)
    if best and which != "none" and run.weights_path(best).is_file():
        _add_model(copied, run, best, client)


def copy_sweep(folder: Path, state: str, client: MlflowClient) -> None:
    """Bring the MLflow runs of a sweep, one per task, up to date; its runs are their children.

    Raises:
        RequestError: MLflow failed.
    """
    document: dict[str, Any] = {}
    with suppress(RequestError):
        document = files.read_json(folder / "sweep.json")
    varying = {key: ", ".join(map(str, v)) for key, v in document.get("varying", {}).items()}
    params = {"varies": ", ".join(varying), **document.get("fixed", {}), **varying}
    ended = document.get("ended") or datetime.now(timezone.utc).isoformat()
    paths = [folder / "table.csv", folder / REPORT, *sorted(folder.glob("plots/*.png"))]
    with mlflow_errors(client.tracking_uri):
        for place in client.search_experiments():
            if copied := _find(folder, None, place, client):
                _add_params_and_tags(copied, params, _origin(folder), client)
                if state != "running":
                    _add_files(copied, folder, paths, client)
                _set_state(copied, state, _milliseconds(ended), client)


def _find(folder: Path, run_id: str | None, place: Experiment, client: MlflowClient) -> Run | None:
    """Return the MLflow run of a folder, even a deleted one; None if there is none.

    A copy of a folder has the id of the original, whose MLflow run belongs to the original.
    """
    from mlflow.entities import ViewType
    from mlflow.exceptions import MlflowException

    runs: list[Run] = []
    if run_id:
        try:
            runs.append(client.get_run(run_id))
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
    if not runs:
        query = f"tags.`{_NAME}` = '{_name(folder)}'"
        runs += client.search_runs([place.experiment_id], query, ViewType.ALL)
    for run in runs:
        origin = Path(run.data.tags.get(_FOLDER, folder))
        # A copy of a whole runs folder has a copy of its store.
        elsewhere = default_uri(_runs_folder(origin)) != client.tracking_uri
        if origin == folder or elsewhere or not origin.exists():
            return run
    return None


def _create_run(
    place: Experiment, name: str, started: int, tags: Mapping[str, Any], client: MlflowClient
) -> Run:
    return client.create_run(place.experiment_id, started, _texts(tags), name)


def _sweep_run(folder: Path, place: Experiment, started: int, client: MlflowClient) -> str:
    """Return the id of the MLflow run of a sweep in the experiment of a task, made if missing."""
    run = _find(folder, None, place, client)
    if run is None:
        tags = {**_origin(folder), "attnlab.sweep": folder.name, "attnlab.kind": "sweep"}
        with suppress(RequestError, KeyError):
            started = _milliseconds(files.read_json(folder / "sweep.json")["started"])
        run = _create_run(place, folder.name, started, tags, client)
    return run.info.run_id


def _experiment(name: str, runs: Path, client: MlflowClient) -> Experiment:
    """Return the experiment of a task, made if missing and restored if deleted."""
    found = client.get_experiment_by_name(name)
    if found is None:
        database = sqlite_path(client.tracking_uri)
        location = (runs / "artifacts" / name).as_uri() if database else None
        tags = {"mlflow.experimentKind": "custom_model_development", _VIEW_TAG: _view(None)}
        return client.get_experiment(client.create_experiment(name, location, tags))
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found


def _view(metric: str | None) -> str:
    """Return the columns of the UI's table as JSON, a metric among them."""
    widths = {**_WIDTHS, **({f"metrics.`{metric}`": _METRIC_WIDTH} if metric else {})}
    columns = {"selectedColumns": [*widths][1:], "columnOrder": [*widths], "columnWidths": widths}
    return json.dumps(columns)


def _add_params_and_tags(
    copied: Run, document: Mapping[str, Any], tags: Mapping[str, Any], client: MlflowClient
) -> None:
    from mlflow.entities import Param, RunTag

    there = copied.data
    params = [Param(*item) for item in parameters(document).items() if item[0] not in there.params]
    changed = [RunTag(*item) for item in _texts(tags).items() if item not in there.tags.items()]
    for start in range(0, max(len(params), len(changed)), _PARAMS_PER_CALL):
        some = slice(start, start + _PARAMS_PER_CALL)
        client.log_batch(copied.info.run_id, params=params[some], tags=changed[some])


def _add_epochs(
    copied: Run, history: Mapping[str, Sequence[float]], started: int, client: MlflowClient
) -> None:
    """Add the epochs that MLflow lacks: an epoch is a step, and all its metrics are one call."""
    from mlflow.entities import Metric

    run_id, key, moment = copied.info.run_id, "seconds", float(started)
    there = client.get_metric_history(run_id, key) if key in copied.data.metrics else ()
    steps = {metric.step for metric in there}
    batch: list[Metric] = []
    for values in zip(*history.values(), strict=True):
        row = dict(zip(history, values, strict=True))
        epoch, moment = int(row.pop("epoch")), moment + 1000 * row[key]
        if epoch not in steps:
            if len(batch) + len(row) > _METRICS_PER_CALL:
                client.log_batch(run_id, metrics=batch)
                batch = []
            numbers = {name: value for name, value in row.items() if value == value}
            batch += [Metric(*item, round(moment), epoch) for item in numbers.items()]
    if batch:
        client.log_batch(run_id, metrics=batch)


def _add_result(copied: Run, metrics: Mapping[str, Any], ended: int, client: MlflowClient) -> None:
    """Add the test metrics, with the best epoch as step, and show the main one as a column."""
    from mlflow.entities import Metric

    values = {f"test_{name}": value for name, value in metrics["test"].items()}
    values |= {"test_skill": metrics.get("skill"), "parameters": metrics["parameters"]}
    run_id, best = copied.info.run_id, metrics["best_epoch"]
    there = (
        client.get_metric_history(run_id, "parameters")
        if "parameters" in copied.data.metrics
        else ()
    )
    if best not in {metric.step for metric in there}:
        items = [(name, float(value)) for name, value in values.items() if value is not None]
        client.log_batch(run_id, metrics=[Metric(*item, ended, best) for item in items])
    place = client.get_experiment(copied.info.experiment_id)
    view = _view(f"test_{metrics['metric']}")
    if place.tags.get(_VIEW_TAG) != view:
        client.set_experiment_tag(place.experiment_id, _VIEW_TAG, view)


def _add_files(copied: Run, root: Path, paths: Sequence[Path], client: MlflowClient) -> None:
    """Send the files that exist, unless a tag says that MLflow has just these."""
    stats = {path: path.stat() for path in paths if path.is_file()}
    content = "".join(
        f"{p.relative_to(root)} {s.st_size} {s.st_mtime_ns}\n" for p, s in stats.items()
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    if copied.data.tags.get(_SENT) == digest:
        return
    for path in stats:
        folder = path.parent.relative_to(root).as_posix()
        client.log_artifact(copied.info.run_id, str(path), folder if folder != "." else None)
    client.set_tag(copied.info.run_id, _SENT, digest)


def _add_model(copied: Run, run: RunDirectory, epoch: int, client: MlflowClient) -> None:
    """Log the weights of an epoch as a model for `attnlab.runner.loading`, unless it is there.

    An incomplete model, or that of another epoch, is deleted.
    """
    import mlflow.pyfunc
    import numpy as np
    from mlflow.entities import LoggedModelStatus
    from mlflow.models import Model, infer_signature

    run_id, place, epoch_tag = copied.info.run_id, copied.info.experiment_id, "attnlab.epoch"
    for model in client.search_logged_models([place], f"source_run_id = '{run_id}'"):
        if model.status == LoggedModelStatus.READY and model.tags.get(epoch_tag) == str(epoch):
            return
        client.delete_logged_model(model.model_id)
    signature = None
    with suppress(RequestError):  # older runs have no example
        parts = [files.read_json(run.path / "served.json")[part] for part in ("input", "output")]
        inputs, outputs = (
            part["values"] if part["dtype"] == "object" else np.array(part["values"], part["dtype"])
            for part in parts
        )
        signature = infer_signature(inputs, outputs)
    before: Any = variable("MLFLOW_TRACKING_URI")  # which the next line sets
    mlflow.set_tracking_uri(client.tracking_uri)
    mlflow.set_experiment(experiment_id=place)
    with TemporaryDirectory(prefix="attnlab-") as scratch, ExitStack() as end:
        end.callback(mlflow.set_tracking_uri, before)
        data = Path(scratch, "data")
        shutil.copytree(run.assets, data / "assets")
        shutil.copy(run.path / "config.yaml", data)
        shutil.copy(run.weights_path(epoch), data / "best.weights.h5")
        Model.log(
            artifact_path=None,
            flavor=mlflow.pyfunc,
            name="model",
            run_id=run_id,
            step=epoch,
            tags={epoch_tag: epoch},
            loader_module="attnlab.runner.loading",
            data_path=str(data),
            signature=signature,
            pip_requirements=[
                f"attnlab=={__version__}",
                *(f"{name}=={metadata.version(name)}" for name in _NEEDED),
            ],
        )


def _set_state(copied: Run, state: str, ended: int, client: MlflowClient) -> None:
    if copied.info.status == _STATES[state]:
        return
    if state == "running":
        client.update_run(copied.info.run_id, _STATES[state])
    else:
        client.set_terminated(copied.info.run_id, _STATES[state], ended)


def _write_id(run: RunDirectory, run_id: str) -> None:
    """Write the MLflow id into status.json, unless a process works on the run again."""
    path = run.path / "status.json"
    with suppress(RequestError, OSError), hold(run.path):
        files.write_json(path, {**files.read_json(path), "mlflow_run_id": run_id})


def _origin(folder: Path) -> dict[str, Any]:
    """Return tags with a folder, and the user, command and commit of its environment.json."""
    known: dict[str, Any] = {}
    with suppress(RequestError):
        known = files.read_json(folder / "environment.json")
    return {
        _NAME: _name(folder),
        _FOLDER: str(folder),
        "attnlab.command": str(known.get("command") or "")[:_LONGEST_COMMAND],
        "mlflow.source.name": "attnlab",
        "mlflow.source.git.commit": (known.get("code") or {}).get("commit"),
        "mlflow.user": known.get("user"),
    }


def _runs_folder(folder: Path) -> Path:
    """Return the folder of all runs, from that of a run or a sweep."""
    return folder.parents[1 if folder.parent.name == "sweeps" else 2]


def _name(folder: Path) -> str:
    """Return a folder's path in the folder of all runs: TASK/ATTENTION/RUN or sweeps/NAME."""
    return folder.relative_to(_runs_folder(folder)).as_posix()


def _texts(tags: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in tags.items() if value}


def _milliseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def parameters(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a configuration's leaves as MLflow's parameters, cut to its lengths.

    Sections that only say where a run is stored are left out.
    """
    leaves = files.flatten(document, _LEFT_OUT).items()
    return {key[:_LONGEST_KEY]: value[:_LONGEST_VALUE] for key, value in leaves}
