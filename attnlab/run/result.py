"""What a trained model amounts to: its metrics beside the baselines, its weights."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.sections import RunConfig

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.base import Learner, Report, Task

# Bytes of a file that each variable takes beside its numbers, amply.
_HDF5_OVERHEAD = 8192


def summary(
    config: RunConfig,
    task: Task,
    learner: Learner,
    report: Report,
    *,
    epochs: int,
    best_epoch: int,
    monitored: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """What metrics.json says of a run whose learner has the best weights.

    `report` is of those on the test part; `monitored` is the value of each epoch, empty without a
    validation part.
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
        "extra": learner.extra_reports(),
        "parameters": learner.model.count_params(),
        "seconds": seconds,
        "notes": notes,
    }


def save_weights(model: keras.Model, path: Path) -> None:
    """Save a model's weights as HDF5.

    Raises:
        OSError: the file can't be written. HDF5 says so with errors of several kinds.
    """
    _require_space(model, path)
    try:
        model.save_weights(path)
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found.group(1)), os.strerror(int(found.group(1)))) from error


def _require_space(model: keras.Model, path: Path) -> None:
    """Raise `OSError` where the disk is too full: HDF5 may crash where it finds that out itself."""
    size = 4 * model.count_params() + _HDF5_OVERHEAD * (len(model.weights) + 1)
    if shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
