"""Synthetic run folders for tests of records and of MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.records.mlflow import connect, store_uri
from attnlab.records.run_directory import RunDirectory, run_lock


def make_run(
    runs: Path,
    task: str = "fib",
    attention: str = "none",
    seed: int = 0,
    state: str = "completed",
    config: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    **entries: Any,
) -> RunDirectory:
    """Write a run of two epochs with fake weights.

    Args:
        runs: The folder of all runs.
        task: Its task.
        attention: Its mechanism.
        seed: Its seed.
        state: How it ended; "running": this process holds its lock until the test ends.
        config: Sections in place of the defaults.
        metrics: Entries of metrics.json in place of the defaults.
        **entries: Further entries of status.json.
    """
    document = {
        "task": {"name": task, "history": 5},
        "attention": {"name": attention},
        "model": {"name": "rnn", "units": 4},
        "trainer": {"epochs": 2},
        "tracking": {"enabled": True, "uri": None, "weights": "none"},
        "seed": seed,
        **(config or {}),
    }
    data = {"name": task, "source": "computed", "counts": {"train": 7, "validation": 3, "test": 5}}
    request = {"config_hash": "abc", "data": data, "data_digest": "ab" * 32}
    run = RunDirectory.create(runs, task, attention, seed, document, **request)
    (run.assets / "scaler.json").write_text("{}")
    for epoch in (1, 2):
        add_epoch(run, epoch)
    if state == "completed":
        write_metrics(run, **(metrics or {}))
    run.status.write(state, **entries)
    if state == "running":
        run.lock = run_lock(run.path)
        run.lock.acquire()
    return run


def add_epoch(run: RunDirectory, epoch: int) -> None:
    """An epoch's files, as a run writes them."""
    run.weights_path(epoch).write_bytes(b"weights %d" % epoch)
    run.history.append({"epoch": epoch, "seconds": 0.5, "val_loss": 1 / epoch})
    run.status.write(epoch=epoch)


def write_metrics(run: RunDirectory, **entries: Any) -> None:
    """Write the result of a run with its number of epochs."""
    run.write_json(
        "metrics.json",
        {
            **{"test": {"rmse": 0.25, "mae": 0.125}, "metric": "rmse", "skill": 0.5},
            **{"best_epoch": 2, "best_value": 0.5, "monitor": "val_loss"},
            **{"baselines": {"mean": {"rmse": 0.5}}, "parameters": 7, "seconds": 1.0},
            **{"epochs": len(run.weights_epochs()), **entries},
        },
    )


def in_mlflow(runs: Path, experiment: str = "fib") -> dict[str, Any]:
    """MLflow's runs by the name of their folder."""
    client = connect(store_uri(runs), runs)
    place = client.get_experiment_by_name(experiment)
    runs_there = client.search_runs([place.experiment_id]) if place else []
    return {Path(run.data.tags["attnlab.folder"]).name: run for run in runs_there}
