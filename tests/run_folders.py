"""Folders of runs that were not trained: the one factory for tests that read runs."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.records.mlflow import connect, store_uri
from attnlab.records.run_directory import FORMAT, RunDirectory, run_lock

_TARGETS = 10 + np.arange(40.0) % 7
_CONFIG = {
    "task": {"name": "sunspots", "history": 24, "horizon": 1},
    "attention": {"name": "none"},
    "model": {"name": "rnn", "cell": "gru", "units": 16},
    "optimizer": {"name": "adam", "learning_rate": 0.003},
    "trainer": {"epochs": 30, "batch_size": 32, "patience": None},
    "tracking": {"enabled": True, "uri": None, "weights": "none"},
    "paths": {"runs": "./runs"},
    "seed": 0,
}
_STATUS = {
    "format": FORMAT,
    "epoch": 3,
    "config_hash": "abc",
    "data": {"name": "sunspots", "counts": {"train": 7, "validation": 3, "test": 40}},
    "data_digest": "d" * 64,
}
_ENVIRONMENT = {
    "python": "3.11.7",
    "processor": "x86_64",
    "processor_model": "Abacus",
    "cpus": 2,
    "packages": {"attnlab": "0.1.0", "tensorflow": "2.21.0", "keras": "3.15.1"},
    "code": {"commit": "0123456789abcdef", "dirty": False},
}


def write_run(
    runs: Path,
    attention: str = "none",
    seed: int = 0,
    score: float | None = 0.25,
    *,
    task: str = "sunspots",
    state: str = "completed",
    config: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """Write a run of three epochs, which starts a minute after the run that was written before it.

    Args:
        runs: The folder of all runs.
        attention: Its mechanism.
        seed: Its seed, which also orders the signs of its errors.
        score: Its test result: the RMSE of its forecasts, or the BLEU of `task="translate"`.
        task: Its task; `translate` has no predictions.
        state: How it ended; "running": this process holds its lock until the test ends.
        config: Dotted key to value, in place of the defaults.
        metrics: Entries of metrics.json in place of the defaults.
        status: Entries of status.json in place of the defaults.
        environment: Entries of environment.json in place of the defaults.
    """
    number = len(list(runs.glob("*/*/2026-05-01_*")))
    folder = runs / task / attention / f"2026-05-01_{number // 60:02d}{number % 60:02d}00_s{seed}"
    started = f"2026-05-01T{number // 60:02d}:{number % 60:02d}:00+00:00"
    names = {"task": task, "attention": attention, "seed": seed}
    document = copy.deepcopy({**_CONFIG, "seed": seed})
    for key, value in {"task.name": task, "attention.name": attention, **(config or {})}.items():
        section, _, leaf = key.partition(".")
        document.setdefault(section, {})[leaf] = value
    times = {"started": started, "updated": started}
    run = RunDirectory(folder)
    run.make_folders()
    for file, content in {
        "config.yaml": document,  # JSON is YAML, too
        "status.json": {**_STATUS, "state": state, **names, **times, **(status or {})},
        "environment.json": {**_ENVIRONMENT, **(environment or {})},
        "assets/scaler.json": {},
    }.items():
        (folder / file).write_text(json.dumps(content))
    lines = [f"{epoch},{9.0 if epoch == 1 else 0.5},{1 / epoch}" for epoch in (1, 2, 3)]
    (folder / "history.csv").write_text("\n".join(["epoch,seconds,val_loss", *lines, ""]))
    for epoch in (1, 2, 3):
        run.weights_path(epoch).write_bytes(b"weights %d" % epoch)
    if state == "completed":
        write_metrics(run, score, **(metrics or {}))
        if task != "translate" and score is not None:
            errors = np.random.default_rng(seed).normal(size=len(_TARGETS))
            write_forecast(run, errors * score / np.sqrt(np.mean(errors**2)))
    if state == "running":
        run.lock = run_lock(run.path)
        run.lock.acquire()
    return run


def add_epoch(run: RunDirectory, epoch: int) -> None:
    """Write an epoch's files, as a run does."""
    run.weights_path(epoch).write_bytes(b"weights %d" % epoch)
    run.history.append({"epoch": epoch, "seconds": 0.5, "val_loss": 1 / epoch})
    run.status.write(epoch=epoch)


def write_metrics(run: RunDirectory, score: float | None = 0.25, **entries: Any) -> None:
    """Write the result of a run; `entries` replace those of metrics.json."""
    status = run.status.read()
    metric, other, units = "rmse", "mae", "sunspots"
    if status["task"] == "translate":
        metric, other, units = "bleu", "chrf", "points of 100"
    content = {
        **{name: status[name] for name in ("task", "attention", "seed")},
        "test": {metric: score, other: score},
        "metric": metric,
        "units": units,
        "baselines": {"persistence": {metric: 2.0}},
        "best_baseline": "persistence",
        "skill": None if score is None else 1 - score / 2,
        "monitor": "val_loss",
        "best_epoch": 2,
        "best_value": 0.5,
        "epochs": len(run.weights_epochs()),
        "parameters": 1000,
        "extra": {},
    }
    run.write_json("metrics.json", {**content, **entries})


def write_forecast(run: RunDirectory, errors: np.ndarray) -> None:
    """Write predictions with some errors; the targets of all runs are the same."""
    index = 100 + np.arange(len(errors))
    run.write_predictions(
        {
            "index": index,
            "time": [f"1900, {number}" for number in index],
            "step": np.ones(len(errors), int),
            "target": _TARGETS[: len(errors)],
            "prediction": _TARGETS[: len(errors)] + errors,
        }
    )


def mlflow_runs(runs: Path, experiment: str = "sunspots") -> dict[str, Any]:
    """MLflow's runs by the last two parts of their folder: two may start in the same second."""
    client = connect(store_uri(runs), runs)
    place = client.get_experiment_by_name(experiment)
    copies = client.search_runs([place.experiment_id]) if place else []
    return {"/".join(Path(run.data.tags["attnlab.folder"]).parts[-2:]): run for run in copies}
