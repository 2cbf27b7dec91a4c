"""MLflow, which gets a copy of run folders: `copy` adds what it lacks, as often as it is called.

The run folder is the source of truth, so nothing is lost if MLflow fails. A folder has one MLflow
run, which is found by its id in status.json or by its tags. MLflow is imported by the functions
that need it, because that takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from attnlab import __version__
from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.run_directory import REPORT, RunDirectory, hold

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Metric, Run

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
_NAME, _FILES_TAG, _EPOCH, _PARENT = (
    *("attnlab.run", "attnlab.files", "attnlab.epoch"),
    "mlflow.parentRunId",
)
_NEEDED = ("tensorflow", "keras", "numpy")  # by a model
_LEFT_OUT = ("hydra", "paths", "tracking")  # sections that only say where a run is stored
# MLflow's limits: characters of a parameter's name, a value and a tag; entries of one call.
_LONGEST_KEY, _LONGEST_VALUE, _LONGEST_TAG = 250, 6000, 3000
_PARAMS_PER_CALL, _METRICS_PER_CALL = 100, 1000
_REMOVED = ".removing-"  # prefix of the name of a folder while its files are removed
# The UI shows the columns of this view, a tag of the experiment, if the address names its key.
VIEW = "attnlab"
_VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
_WIDTHS = {"attributes.`Run Name`": 260, "params.`attention.name`": 140, "params.`seed`": 70}
_METRIC_WIDTH = 170


# Stores


def default_uri(runs: Path) -> str:
    """Return the store to use: `$MLFLOW_TRACKING_URI`, else an SQLite file in the runs folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or store_uri(runs)


def store_uri(runs: Path) -> str:
    """Return the URI of the SQLite store in a runs folder."""
    path = (Path(runs).absolute() / "mlflow.db").as_posix()
    return f"sqlite:///{path.replace('%', '%25').replace('?', '%3F').replace('#', '%23')}"


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
        while inner := cause.__cause__ or cause.__context__:
            cause = inner
        text = f"MLflow: {uri}: {' '.join(str(cause).split()) or type(cause).__name__}"
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
def _exclusive(folder: Path) -> Iterator[None]:
    """Let one process at a time copy a run, or make stores and experiments of a runs folder."""
    from filelock import FileLock

    with FileLock(folder / ".mlflow.lock"):
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


@cache
def prepare_for_models() -> None:
    """Import and look up what `copy` needs for a model, which takes seconds.

    MLflow lists the modules of all installed packages when it saves the first model.
    """
    import mlflow.pyfunc

    with TemporaryDirectory(prefix="attnlab-") as scratch:
        needed = {"pip_requirements": _requirements()}
        mlflow.pyfunc.save_model(Path(scratch, "model"), loader_module="attnlab", **needed)


def _requirements() -> list[str]:
    needed = (f"{name}=={metadata.version(name)}" for name in _NEEDED)
    return [f"attnlab=={__version__}", *needed]


def remove_run(folder: Path) -> bool:
    """Remove a run, even a damaged one; returns whether MLflow had a copy of it.

    MLflow then has the copy among its deleted runs.

    Raises:
        RequestError: A process is working on the run, or MLflow can't be reached, or the folder
            can't be removed. The folder stays, unless the last one was the reason.
    """
    with hold(folder):
        in_mlflow = _delete_copy(folder)
        with explained(f"{folder}: can't be removed"):
            for remains in folder.parent.glob(f"{_REMOVED}*"):  # of a process that was killed
                shutil.rmtree(remains, ignore_errors=True)
            # A hidden folder is no run, so that no command sees one with half of its files.
            shutil.rmtree(folder.rename(folder.with_name(_REMOVED + folder.name)))
    return in_mlflow


def _delete_copy(folder: Path) -> bool:
    config: dict[str, Any] = {}
    with suppress(RequestError):
        config = RunDirectory(folder).read_config()
    uri = own_uri(folder, config)
    database = sqlite_path(uri)
    is_tracked = (config.get("tracking") or {}).get("enabled", True)
    if not is_tracked or (database is not None and not database.exists()):
        return False
    client = connect(uri, folder.parents[2])
    with mlflow_errors(uri):
        experiment = client.get_experiment_by_name(folder.parts[-3])
        copied = _find(folder, experiment, client) if experiment else None
        if copied is not None and copied.info.lifecycle_stage != "deleted":
            client.delete_run(copied.info.run_id)
    return copied is not None


# Copies


def copy(folder: Path, client: MlflowClient) -> str:
    """Add to MLflow what it lacks of a run's folder; returns the id of the MLflow run.

    The run may be in progress: then MLflow gets its parameters and the epochs so far. The result,
    the files and the model follow when no process works on the run.

    Raises:
        RequestError: The folder is damaged, or MLflow failed; the next call continues.
    """
    run = RunDirectory(folder)
    run.status.read()  # the lock would make the folder of a removed run again
    # `runs sync` waits for the process that follows the run, which may be copying it.
    with mlflow_errors(client.tracking_uri), _exclusive(folder):
        status, config, runs = run.status.read(), run.read_config(), folder.parents[2]
        state, sweep, task = status["state"], status.get("sweep"), config["task"]["name"]
        name = f"{task}-{config['attention']['name']}-s{config['seed']}"
        started, ended = _milliseconds(status["started"]), _milliseconds(status["updated"])
        tags = {
            **_origin(folder),
            "attnlab.config_hash": status.get("config_hash"),
            "attnlab.sweep": sweep,
            "attnlab.pruned": "true" if status.get("pruned") else None,
        }
        with _exclusive(runs):
            place = _experiment(task, runs, client)
            copied = _find(folder, place, client)
            if sweep and (copied is None or _PARENT not in copied.data.tags):
                tags[_PARENT] = _sweep_run(runs / "sweeps" / sweep, place, started, client)
            if copied is None:
                copied = client.create_run(place.experiment_id, started, _texts(tags), name)
            elif copied.info.lifecycle_stage == "deleted":
                client.restore_run(copied.info.run_id)
        run_id = copied.info.run_id
        _add_params_and_tags(copied, config, tags, client)
        _log(run_id, _new_epochs(copied, run.history.read(), started, client), client)
        if state != "running":
            metrics = run.read_metrics() if state == "completed" else {}
            best, model_id = metrics.get("best_epoch"), None
            which = (config.get("tracking") or {}).get("weights", "best")
            epochs = {"all": run.weights_epochs(), "best": [best] if best else []}.get(which, [])
            paths = [*(folder / name for name in _FILES), *sorted(run.plots.glob("[!.]*.*"))]
            _add_files(copied, folder, [*paths, *map(run.weights_path, epochs)], client)
            if best and which != "none" and run.weights_path(best).is_file():
                model_id = _add_model(copied, run, best, client)
            if metrics:
                _log(run_id, _new_result(copied, metrics, ended, model_id, client), client)
                view = _view(f"test_{metrics['metric']}")
                if place.tags.get(_VIEW_TAG) != view:
                    client.set_experiment_tag(place.experiment_id, _VIEW_TAG, view)
        if state != "running" and own_uri(folder, config) == client.tracking_uri:
            _write_id(run, run_id)
        _set_state(copied, state, ended, client)
        return run_id


def _log(run_id: str, points: Sequence[Metric], client: MlflowClient) -> None:
    """Add points of metrics to an MLflow run."""
    for start in range(0, len(points), _METRICS_PER_CALL):
        client.log_batch(run_id, points[start : start + _METRICS_PER_CALL])


def _write_id(run: RunDirectory, run_id: str) -> None:
    """Write the MLflow id into status.json, unless a process works on the run again."""
    path = run.path / "status.json"
    with suppress(RequestError, OSError), hold(run.path):
        status = files.read_json(path)
        if status.get("mlflow_run_id") != run_id:
            files.write_json(path, {**status, "mlflow_run_id": run_id})


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
            if copied := _find(folder, place, client):
                _add_params_and_tags(copied, params, _origin(folder), client)
                if state != "running":
                    _add_files(copied, folder, paths, client)
                _set_state(copied, state, _milliseconds(ended), client)


def _find(folder: Path, place: Experiment, client: MlflowClient) -> Run | None:
    """Return the MLflow run that has a folder's name as a tag, even a deleted one; else None."""
    from mlflow.entities import ViewType

    query = f"tags.`{_NAME}` = '{_name(folder)}'"
    return next(iter(client.search_runs([place.experiment_id], query, ViewType.ALL)), None)


def _sweep_run(folder: Path, place: Experiment, started: int, client: MlflowClient) -> str:
    """Return the id of the MLflow run of a sweep in the experiment of a task, made if missing."""
    run = _find(folder, place, client)
    if run is None:
        tags = {**_origin(folder), "attnlab.sweep": folder.name, "attnlab.kind": "sweep"}
        with suppress(RequestError, KeyError):
            started = _milliseconds(files.read_json(folder / "sweep.json")["started"])
        run = client.create_run(place.experiment_id, started, _texts(tags), folder.name)
    return run.info.run_id


def _experiment(name: str, runs: Path, client: MlflowClient) -> Experiment:
    """Return the experiment of a task, made if missing and restored if deleted."""
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        database = sqlite_path(client.tracking_uri)
        location = (runs / "artifacts" / name).as_uri() if database else None
        tags = {"mlflow.experimentKind": "custom_model_development", _VIEW_TAG: _view(None)}
        return client.get_experiment(client.create_experiment(name, location, tags))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return experiment


def _view(metric: str | None) -> str:
    """Return the columns of the UI's table as JSON, a metric among them."""
    widths = {**_WIDTHS, **({f"metrics.`{metric}`": _METRIC_WIDTH} if metric else {})}
    columns = {"selectedColumns": [*widths][1:], "columnOrder": [*widths], "columnWidths": widths}
    return json.dumps(columns)


def _add_params_and_tags(
    copied: Run, document: Mapping[str, Any], tags: Mapping[str, Any], client: MlflowClient
) -> None:
    from mlflow.entities import Param, RunTag

    logged = copied.data
    params = [Param(*item) for item in parameters(document).items() if item[0] not in logged.params]
    changed = [RunTag(*item) for item in _texts(tags).items() if item not in logged.tags.items()]
    for start in range(0, max(len(params), len(changed)), _PARAMS_PER_CALL):
        part = slice(start, start + _PARAMS_PER_CALL)
        client.log_batch(copied.info.run_id, params=params[part], tags=changed[part])


def _steps(copied: Run, metric: str, client: MlflowClient) -> set[int]:
    """Return the steps at which MLflow has a metric of a run."""
    if metric not in copied.data.metrics:
        return set()
    return {point.step for point in client.get_metric_history(copied.info.run_id, metric)}


def _new_epochs(
    copied: Run, history: Mapping[str, Sequence[float]], started: int, client: MlflowClient
) -> list[Metric]:
    """Return the metrics of epochs that MLflow lacks; the epoch is the step.

    An epoch's seconds come last: if MLflow has them, it has all metrics of the epoch.
    """
    from mlflow.entities import Metric

    steps, moment, points = _steps(copied, "seconds", client), float(started), []
    for values in zip(*history.values(), strict=True):
        row = dict(zip(history, values, strict=True))
        row["seconds"] = row.pop("seconds")
        moment += 1000 * row["seconds"]
        if (epoch := int(row.pop("epoch"))) not in steps:
            numbers = {name: value for name, value in row.items() if not math.isnan(value)}
            points += [Metric(*item, round(moment), epoch) for item in numbers.items()]
    return points


def _new_result(
    copied: Run, metrics: Mapping[str, Any], ended: int, model_id: str | None, client: MlflowClient
) -> list[Metric]:
    """Return the test metrics, those of the model too, unless MLflow has them.

    The step is the best epoch. The number of parameters comes last.
    """
    from mlflow.entities import Metric

    best = metrics["best_epoch"]
    if best in _steps(copied, "parameters", client):
        return []
    values = {f"test_{name}": value for name, value in metrics["test"].items()}
    values |= {"test_skill": metrics.get("skill"), "parameters": metrics["parameters"]}
    items = [(name, float(value)) for name, value in values.items() if value is not None]
    return [Metric(*item, ended, best, model_id) for item in items]


def _add_files(copied: Run, root: Path, paths: Sequence[Path], client: MlflowClient) -> None:
    """Send the files that exist, unless a tag says that MLflow has just these."""
    stats = {path: path.stat() for path in paths if path.is_file()}
    content = "".join(
        f"{p.relative_to(root)} {s.st_size} {s.st_mtime_ns}\n" for p, s in stats.items()
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    if copied.data.tags.get(_FILES_TAG) == digest:
        return
    for path in stats:
        folder = path.parent.relative_to(root).as_posix()
        client.log_artifact(copied.info.run_id, str(path), folder if folder != "." else None)
    client.set_tag(copied.info.run_id, _FILES_TAG, digest)


def _add_model(copied: Run, run: RunDirectory, epoch: int, client: MlflowClient) -> str:
    """Log the weights of an epoch as a model for `attnlab.runner.loading`; returns the model's id.

    A complete model of the epoch stays. An incomplete model, or that of another epoch, is deleted.
    """
    import mlflow.pyfunc
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus
    from mlflow.models import Model, infer_signature

    run_id, place = copied.info.run_id, copied.info.experiment_id
    for model in client.search_logged_models([place], f"source_run_id = '{run_id}'"):
        if model.status == LoggedModelStatus.READY and model.tags.get(_EPOCH) == str(epoch):
            return model.model_id
        client.delete_logged_model(model.model_id)
    signature = None
    with suppress(RequestError):  # a kind may have no example
        example = files.read_json(run.path / "served.json")
        signature = infer_signature(*(_served(example[part]) for part in ("input", "output")))
    model = client.create_logged_model(place, "model", run_id, {_EPOCH: str(epoch)})
    with TemporaryDirectory(prefix="attnlab-") as scratch:
        data, folder = Path(scratch, "data"), Path(scratch, "model")
        shutil.copytree(run.assets, data / "assets")
        shutil.copy(run.path / "config.yaml", data)
        shutil.copy(run.weights_path(epoch), data / "best.weights.h5")
        mlflow.pyfunc.save_model(
            folder,
            loader_module="attnlab.runner.loading",
            data_path=str(data),
            mlflow_model=Model(run_id=run_id, model_id=model.model_id),
            signature=signature,
            pip_requirements=_requirements(),
        )
        client.log_model_artifacts(model.model_id, str(folder))
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, epoch)])
    client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
    return model.model_id


def _served(part: Mapping[str, Any]) -> Any:
    """Return the input or the output of served.json as MLflow reads it."""
    import numpy as np

    if part["dtype"] == "object":
        return part["values"]
    return np.array(part["values"], part["dtype"])


def _set_state(copied: Run, state: str, ended: int, client: MlflowClient) -> None:
    if copied.info.status == _STATES[state]:
        return
    if state == "running":
        client.update_run(copied.info.run_id, _STATES[state])
    else:
        client.set_terminated(copied.info.run_id, _STATES[state], ended)


def _origin(folder: Path) -> dict[str, Any]:
    """Return tags with a folder, and the user, command and commit of its environment.json."""
    recorded: dict[str, Any] = {}
    with suppress(RequestError):
        recorded = files.read_json(folder / "environment.json")
    return {
        _NAME: _name(folder),
        "attnlab.folder": str(folder),
        "attnlab.command": recorded.get("command"),
        "mlflow.source.name": "attnlab",
        "mlflow.source.git.commit": (recorded.get("code") or {}).get("commit"),
        "mlflow.user": recorded.get("user"),
    }


def _name(folder: Path) -> str:
    """Return a folder's path in the folder of all runs: TASK/ATTENTION/RUN or sweeps/NAME."""
    is_sweep = folder.parent.name == "sweeps"
    return "/".join(folder.parts[-2:] if is_sweep else folder.parts[-3:])


def _texts(tags: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value)[:_LONGEST_TAG] for key, value in tags.items() if value}


def _milliseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def parameters(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a configuration's leaves as MLflow's parameters, cut to its lengths.

    Sections that only say where a run is stored are left out.
    """
    leaves = files.flatten(document, _LEFT_OUT).items()
    return {key[:_LONGEST_KEY]: value[:_LONGEST_VALUE] for key, value in leaves}
