"""What MLflow should have of a run, told from the run's folder alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.mlflow.final_metrics import baseline_metrics, tracked_metrics
from attnlab.records.mlflow.parameters import flatten
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import actual_state

_STATUSES = {"completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}
_FILES = ("config.yaml", "metrics.json", "history.csv", "predictions.csv")


@dataclass(frozen=True)
class Measured:
    """Metrics of one step.

    Attributes:
        step: the epoch.
        time: when, in milliseconds since 1970.
        metrics: name to value.
    """

    step: int
    time: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TrackedRun:
    """A run as it should stand in MLflow.

    Attributes:
        run: its folder.
        experiment: name of its task.
        name: the run's name.
        status: MLflow's word for its state.
        started: in milliseconds since 1970.
        ended: likewise.
        params: the flat config.
        tags: but for that of a sweep's parent run.
        sweep: name of its sweep.
        measured: the metrics of each epoch and the final ones.
        files: what becomes an artifact, under its path among the artifacts.
        dataset: arguments of `MlflowRun.dataset`; None where the folder does not say.
        model_epoch: whose weights are logged as a model; None for no model.
        config: the whole config.
        missing: what the folder lacks, in sentences.
    """

    run: RunDirectory
    experiment: str
    name: str
    status: str
    started: int
    ended: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    sweep: str | None
    measured: list[Measured]
    files: Mapping[str, Path]
    dataset: Mapping[str, Any] | None
    model_epoch: int | None
    config: Mapping[str, Any]
    missing: list[str] = field(default_factory=list)


def tracked_run(run: RunDirectory) -> TrackedRun:
    """Read a folder.

    Raises:
        RequestError: status.json or config.yaml is missing or damaged, or the run is under way.
    """
    status, config = run.read_status(), run.read_config()
    state = actual_state(status)
    if state == "running":
        raise RequestError(f"{run.path}: running: MLflow gets it from the process that runs it.")
    missing: list[str] = []
    history = _readable(run.read_history, {}, missing)
    metrics = _readable(run.read_metrics, {}, missing) if state == "completed" else {}
    started, ended = _milliseconds(status["started"]), _milliseconds(status["updated"])
    try:
        names = [config[group]["name"] for group in ("task", "attention")]
        return TrackedRun(
            run=run,
            experiment=names[0],
            name=f"{names[0]}-{names[1]}-s{config['seed']}",
            status=_STATUSES[state],
            started=started,
            ended=ended,
            params=flatten(config),
            tags=_tags(run, status),
            sweep=status.get("sweep"),
            measured=[*_epochs(history, started, ended), *_final(metrics, ended)],
            files=_files(run, config, metrics.get("best_epoch")),
            dataset=_dataset(status),
            model_epoch=_model_epoch(run, config, metrics.get("best_epoch")),
            config=config,
            missing=missing,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{run.path}: a file of it is damaged: {error!r}.") from error


def _readable(read: Any, otherwise: Any, missing: list[str]) -> Any:
    try:
        return read()
    except RequestError as error:
        missing.append(str(error))
        return otherwise


def _milliseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def _tags(run: RunDirectory, status: Mapping[str, Any]) -> dict[str, str]:
    tags = {"attnlab.folder": str(run.path), "attnlab.config_hash": status.get("config_hash")}
    tags["attnlab.sweep"] = status.get("sweep")
    tags["attnlab.pruned"] = "true" if status.get("pruned") else None
    return {key: value for key, value in tags.items() if value}


def _epochs(history: Mapping[str, list[float]], started: int, ended: int) -> list[Measured]:
    """The rows of the history, each at the time that the seconds before it lead to."""
    seconds = list(accumulate(history.get("seconds", [])))
    rows = [
        dict(zip(history, values, strict=True)) for values in zip(*history.values(), strict=True)
    ]
    return [
        Measured(
            int(row["epoch"]),
            min(started + round(1000 * after), ended),
            {key: value for key, value in row.items() if key != "epoch" and math.isfinite(value)},
        )
        for row, after in zip(rows, seconds or [0.0] * len(rows), strict=True)
    ]


def _final(metrics: Mapping[str, Any], ended: int) -> list[Measured]:
    if not metrics:
        return []
    numbers = {metrics["best_epoch"]: tracked_metrics(metrics), 0: baseline_metrics(metrics)}
    return [
        Measured(step, ended, {key: value for key, value in named.items() if value is not None})
        for step, named in numbers.items()
    ]


def _files(run: RunDirectory, config: Mapping[str, Any], best_epoch: int | None) -> dict[str, Path]:
    found = {name: run.path / name for name in _FILES}
    found |= {f"plots/{path.name}": path for path in sorted(run.plots.glob("*.*"))}
    wanted = (config.get("tracking") or {}).get("weights", "best")
    epochs = {"all": run.weights_epochs(), "best": [best_epoch] if best_epoch else []}
    for path in map(run.weights_path, epochs.get(wanted, [])):
        found[f"weights/{path.name}"] = path
    return {name: path for name, path in found.items() if path.is_file() and path.name[0] != "."}


def _dataset(status: Mapping[str, Any]) -> dict[str, Any] | None:
    """The data; a run of an early version has kept no more of them than the digest."""
    data, digest = status.get("data"), status.get("data_digest")
    return {**data, "digest": digest} if data and digest else None


def _model_epoch(
    run: RunDirectory, config: Mapping[str, Any], best_epoch: int | None
) -> int | None:
    wanted = (config.get("tracking") or {}).get("weights", "best") != "none"
    there = best_epoch and run.weights_path(best_epoch).is_file() and run.assets.is_dir()
    return best_epoch if wanted and there else None
