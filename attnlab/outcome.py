"""What a trained model amounts to: its metrics beside the baselines, its attention, its weights."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.schema import RunConfig

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.base import Report
    from attnlab.tasks.forecasting import ForecastingTask

# Windows whose attention weights are kept for the figure.
_ATTENTION_EXAMPLES = 8


def summary(
    config: RunConfig,
    task: ForecastingTask,
    model: keras.Model,
    report: Report,
    *,
    epochs: int,
    best_epoch: int,
    monitored: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """What metrics.json says of a run.

    Args:
        config: the run's configuration.
        task: its task, loaded.
        model: with the best weights.
        report: of those weights on the test part.
        epochs: how many were trained.
        best_epoch: whose weights these are.
        monitored: the monitored value of each epoch; empty without a validation part.
        seconds: that the run took.
    """
    scores, notes = report.scores(), list(report.notes)
    if not monitored:
        notes.append("No validation part: the last epoch is reported.")
    return {
        "task": config.task.name,
        "attention": config.attention.name,
        "model": config.model.name,
        "seed": config.seed,
        "monitor": task.monitor[0] if monitored else None,
        "best_epoch": best_epoch,
        "best_value": monitored[best_epoch - 1] if monitored else None,
        "epochs": epochs,
        "test": scores.pop("metrics"),
        **scores,
        "extra": extra_reports(model, task),
        "parameters": model.count_params(),
        "seconds": seconds,
        "notes": notes,
    }


def extra_reports(model: keras.Model, task: ForecastingTask) -> dict[str, Any]:
    """Metrics on the task's extra parts; null where the model's weights fit one length only."""
    found: dict[str, Any] = {}
    for name, windows in task.splits.extra.items():
        length = windows.history.shape[1]
        if model.fixed_length not in (None, length):
            found[name] = None
            continue
        forecast = model.predict(windows.history, batch_size=256, verbose=0)
        report = task.report(forecast, name)
        found[name] = {"test": report.metrics, "baselines": report.baselines, "skill": report.skill}
    return found


def attention_examples(model: keras.Model, task: ForecastingTask) -> dict[str, np.ndarray] | None:
    """Attention weights on a few test windows; None where nothing attends.

    Returns:
        `weights` (N, H, T, S), `history` (N, S) in the report's units, `index` (N,).
    """
    test = task.splits.test
    # From the smallest to the largest target, so that calm and extreme windows are among them.
    ranks = np.linspace(0, len(test) - 1, min(_ATTENTION_EXAMPLES, len(test))).astype(int)
    chosen = np.argsort(test.target[:, 0], kind="stable")[ranks]
    weights = model.attend(test.history[chosen])
    if weights is None:
        return None
    return {
        "weights": np.asarray(weights, np.float32),
        "history": task.report_units(test.history[chosen, :, 0]).astype(np.float32),
        "index": test.index[chosen],
    }


def tracked_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The final numbers under the names that MLflow gets them by."""
    numbers = {f"test_{name}": value for name, value in metrics["test"].items()}
    numbers |= {"test_skill": metrics["skill"], "parameters": metrics["parameters"]}
    for name, values in metrics["baselines"].items():
        # The slash gives them a section of their own in MLflow's charts, below the curves.
        numbers[f"baselines/{name}_rmse"] = values["rmse"]
    return numbers


def save_weights(model: keras.Model, path: Path) -> None:
    """Save a model's weights as HDF5.

    Raises:
        OSError: the file can't be written. HDF5 says so with errors of several kinds.
    """
    try:
        model.save_weights(path)
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found.group(1)), os.strerror(int(found.group(1)))) from error
