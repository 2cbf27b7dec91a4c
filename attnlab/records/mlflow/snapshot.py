"""What MLflow should contain for a run or a sweep, read only from its folder."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.files import flatten
from attnlab.records.mlflow.description import (
    NOTE,
    baseline_tags,
    origin,
    run_description,
    sweep_description,
)
from attnlab.records.mlflow.settings import own_uri
from attnlab.records.run_directory import REPORT, RunDirectory

_STATUSES = {"running": "RUNNING", "completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}
# The longest name and value of a parameter in MLflow.
_LONGEST_KEY, _LONGEST_VALUE = 250, 6000
_LEFT_OUT = ("hydra", "paths", "tracking")
_FILES = (
    *("config.yaml", "environment.json", "metrics.json", "history.csv", "predictions.csv"),
    REPORT,
)

Document = Mapping[str, Any]  # the content of a file
# An input and an output of a model, each `{"values": nested lists, "dtype": name}`.
Example = tuple[Document, Document]


class Measured(NamedTuple):
    """The metrics of one step."""

    step: int  # the epoch
    time: int  # in milliseconds since 1970
    metrics: Mapping[str, float]  # name to value


class Model(NamedTuple):
    """A model that MLflow serves."""

    epoch: int  # of its weights
    files: Mapping[str, Path]  # the files and folders it is loaded from, by name
    served: Example | None  # an example input and output; None if unknown


@dataclass(frozen=True)
class Snapshot:
    """The intended content of an MLflow run."""

    folder: Path  # the folder to copy
    experiment: str  # the name of the experiment, which is that of the task
    name: str
    status: str  # the state in MLflow's terms
    started: int  # in milliseconds since 1970
    ended: int  # likewise; the last update if the run is running
    params: Mapping[str, str]  # flat
    tags: Mapping[str, str]  # without the tag of the parent run
    measured: list[Measured]  # the metrics of all steps
    files: Mapping[str, Path]  # the artifacts, by their path in MLflow
    run_id: str | None = None  # of the MLflow run, if the folder has it
    uri: str | None = None  # of the folder's own store
    dataset: Document | None = None  # name, source, digest, counts; None if unknown
    reported: str | None = None  # the main test metric; None without a result
    model: Model | None = None  # the model to log
    sweep: Path | None = None  # the folder of the run's sweep
    missing: list[str] = field(default_factory=list)  # what the folder lacks, in sentences


def run_snapshot(run: RunDirectory, state: str | None = None) -> Snapshot:
    """Return the snapshot of a run, which may be running.

    `state` is its state, if the caller knows it better than status.json. Raises `RequestError` if
    status.json or config.yaml is missing or damaged.
    """
    status, config = run.status.read(), run.read_config()
    try:
        return _run_snapshot(run, status, config, state or status["state"])
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{run.path}: a file of it is damaged: {error!r}.") from error


def _run_snapshot(run: RunDirectory, status: Document, config: Document, state: str) -> Snapshot:
    missing: list[str] = []
    history = _readable(run.history.read, missing)
    metrics = _readable(run.read_metrics, missing) if _is_done(run, state, history) else {}
    best = metrics.get("best_epoch")
    started, ended = _milliseconds(status["started"]), _milliseconds(status["updated"])
    latest = ended if state != "running" else round(1000 * time.time())
    reported = _written(run.path / "metrics.json", started, latest) or ended
    task, attention = (config[group]["name"] for group in ("task", "attention"))
    sweep, data, digest = (status.get(key) for key in ("sweep", "data", "data_digest"))
    weights = (config.get("tracking") or {}).get("weights", "best")
    return Snapshot(
        folder=run.path,
        experiment=task,
        name=f"{task}-{attention}-s{config['seed']}",
        status=_STATUSES[state],
        started=started,
        ended=ended,
        params=parameters(config),
        tags=_tags(run, status, config, metrics, state),
        measured=[*_epochs(run, history, started, latest), *_final(metrics, reported)],
        files=_files(run, weights, best, under_way=state == "running" and not metrics),
        run_id=status.get("mlflow_run_id"),
        uri=own_uri(run.path, config),
        # A run that failed before its data were prepared has no dataset.
        dataset={**data, "digest": digest} if data and digest else None,
        reported=f"test_{metrics['metric']}" if metrics else None,
        model=None if best is None or weights == "none" else model_of(run, best),
        sweep=run.path.parents[2] / "sweeps" / sweep if sweep else None,
        missing=missing,
    )


def sweep_snapshot(folder: Path, task: str, state: str | None = None) -> Snapshot:
    """Return the snapshot of a sweep for the experiment of one of its tasks.

    `state` is its state, if the caller knows it better than the folder.
    """
    document = _readable(lambda: files.read_json(folder / "sweep.json"), [])
    moment = _milliseconds(document["updated"]) if "updated" in document else 0
    started, ended = (_milliseconds(document.get(key)) for key in ("started", "ended"))
    varying = {key: ", ".join(values) for key, values in document.get("varying", {}).items()}
    results = document.get("results", {}).get(task, {})
    best = [results[key] for key in ("best", "monitored") if results.get(key)]
    tags = {
        "attnlab.sweep": folder.name,
        "attnlab.kind": "sweep",
        "attnlab.folder": str(folder),
        "attnlab.command": " ".join(document.get("command", [])),
        "attnlab.jobs": results.get("jobs"),
        "attnlab.best": f"by {results['by']}: {' with '.join(best)}" if best else None,
        **origin(folder),
    }
    if results and state != "running":
        tags[NOTE] = sweep_description(folder, results, tags["attnlab.command"])
    noted = document.get("state") or ("completed" if document.get("finished", True) else "killed")
    paths = [folder / "table.csv", folder / REPORT, *sorted(folder.glob("plots/*.png"))]
    return Snapshot(
        folder=folder,
        experiment=task,
        name=folder.name,
        status=_STATUSES[state or noted],
        started=started,
        ended=ended or moment,
        params=parameters({"varies": ", ".join(varying), **document.get("fixed", {}), **varying}),
        tags={key: value for key, value in tags.items() if value},
        measured=[],
        files={str(path.relative_to(folder)): path for path in paths if path.is_file()},
        run_id=document.get("parents", {}).get(task),
    )


def _readable(read: Callable[[], dict[str, Any]], missing: list[str]) -> dict[str, Any]:
    try:
        return read()
    except RequestError as error:
        missing.append(str(error))
        return {}


def _is_done(run: RunDirectory, state: str, history: Mapping[str, list[float]]) -> bool:
    """Return whether metrics.json is current: while a run trains longer, it is out of date."""
    if state != "running" or not (run.path / "metrics.json").is_file():
        return state == "completed"
    return _readable(run.read_metrics, []).get("epochs") == len(history.get("epoch", []))


def _milliseconds(moment: str | None) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000) if moment else 0


def _tags(
    run: RunDirectory, status: Document, config: Document, metrics: Document, state: str
) -> dict[str, str]:
    tags = {
        "attnlab.folder": str(run.path),
        "attnlab.config_hash": status.get("config_hash"),
        "attnlab.epochs": (config.get("trainer") or {}).get(
            "epochs"
        ),  # a tag, because MLflow's parameters can't change
        "attnlab.sweep": status.get("sweep"),
        "attnlab.pruned": str(status["pruned"]).lower() if "pruned" in status else None,
        **origin(run.path),
        **baseline_tags(metrics),
    }
    if metrics or state != "running":
        how, attention = {**status, "state": state}, config["attention"]["name"]
        command = str(tags.get("attnlab.command", ""))
        tags[NOTE] = run_description(how, metrics, attention, command)
    return {key: str(value) for key, value in tags.items() if value}


def _epochs(
    run: RunDirectory, history: Mapping[str, list[float]], started: int, latest: int
) -> list[Measured]:
    """Return the rows of the history, each with the time when its weights were written."""
    found, seconds = [], 0.0
    for values in zip(*history.values(), strict=True):
        row = dict(zip(history, values, strict=True))
        epoch, seconds = int(row.pop("epoch")), seconds + row.get("seconds", 0.0)
        time = _written(run.weights_path(epoch), started, latest)
        known = {key: value for key, value in row.items() if value == value}
        found.append(Measured(epoch, time or min(started + round(1000 * seconds), latest), known))
    return found


def _written(path: Path, started: int, latest: int) -> int | None:
    """Return when a file was written; None if it is gone, or was copied later."""
    try:
        moment = path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
    return moment if started <= moment <= latest else None


def _final(metrics: Document, time: int) -> list[Measured]:
    """Return the result as metrics of the best epoch."""
    if not metrics:
        return []
    tested = {f"test_{name}": value for name, value in metrics["test"].items()}
    tested |= {"test_skill": metrics["skill"], "parameters": metrics["parameters"]}
    known = {key: value for key, value in tested.items() if value is not None}
    return [Measured(metrics["best_epoch"], time, known)]


def _files(run: RunDirectory, weights: str, best: int | None, under_way: bool) -> dict[str, Path]:
    found = {} if under_way else {name: run.path / name for name in _FILES}
    found |= {f"plots/{path.name}": path for path in sorted(run.plots.glob("*.*"))}
    epochs = {"all": run.weights_epochs(), "best": [best] if best else []}
    for path in map(run.weights_path, epochs.get(weights, [])):
        found[f"weights/{path.name}"] = path
    return {name: path for name, path in found.items() if path.name[0] != "." and path.is_file()}


def model_of(run: RunDirectory, best: int) -> Model | None:
    """Return the best weights, and the files that `attnlab.run.loading` needs to load them."""
    weights = run.weights_path(best)
    if not weights.is_file() or not run.assets.is_dir():
        return None
    document = _readable(lambda: files.read_json(run.path / "served.json"), [])
    example = (document["input"], document["output"]) if document else None
    parts = {"config.yaml": run.path / "config.yaml", "assets": run.assets}
    return Model(best, {**parts, "best.weights.h5": weights}, example)


def parameters(document: Document) -> dict[str, str]:
    """Return a configuration's leaves as parameters, cut to MLflow's lengths.

    Sections that only say where a run is stored are left out.
    """
    found = flatten(document, _LEFT_OUT).items()
    return {key[:_LONGEST_KEY]: value[:_LONGEST_VALUE] for key, value in found}


def mlflow_name(text: str) -> str:
    """Return a text as a valid name of a metric or parameter; other characters become `_`."""
    return posixpath.normpath(re.sub(r"[^\w\-.:/ ]", "_", text))[:_LONGEST_KEY]
