"""A run that goes on to another number of epochs: when it can, and what may differ then."""

from __future__ import annotations

from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records.checkpoints import Checkpoints
from attnlab.records.run_directory import RunDirectory
from attnlab.run.building import make_task
from attnlab.run.loading import require_readable
from attnlab.training.schedules import depends_on_length
from attnlab.training.stopping import Monitor


def check_epochs(wanted: int, before: int, trained: int) -> None:
    """Raise `RequestError` where fewer epochs are wanted than there are."""
    if wanted < before and wanted < trained:
        raise RequestError(
            f"trainer.epochs: expected at least the {trained} epochs that were trained, "
            f"got {wanted}."
        )


def may_differ(config: RunConfig, folder: RunDirectory) -> bool:
    """Whether what is trained may differ from a run that begins with this configuration.

    By its learning rates, or since its last epoch was scored, as it always is.
    """
    if Checkpoints(folder.checkpoint).newest() is None:
        return False
    skips = config.task.settings.get("score_every", 1) > 1
    return skips or depends_on_length(config.schedule.name, config.schedule.settings)


def require_whole(config: RunConfig, folder: RunDirectory) -> None:
    """Refuse to go on with a finished run that lacks a file, before what it has is taken away."""
    if Checkpoints(folder.checkpoint).newest() is None:
        raise RequestError(
            f"{folder.checkpoint}: expected the checkpoint of a finished run, but there is none "
            "that is whole: train it again with more trainer.epochs."
        )
    monitor, values, losses = _monitored(config, folder)
    best = monitor.best_epoch(values, losses) or folder.status.read().get("epoch", 0)
    require_readable(folder.weights_path(best), "the best weights so far")


def require_not_stopped(config: RunConfig, folder: RunDirectory) -> None:
    """Refuse more epochs of a finished run that didn't use up those it had."""
    monitor, values, losses = _monitored(config, folder)
    if monitor.should_stop(values, config.trainer.patience, losses):
        raise RequestError(
            f"trainer.epochs: expected a run that more of them train longer, but {folder.path} "
            f"stopped after epoch {len(values)} by trainer.patience={config.trainer.patience}."
        )


def _monitored(config: RunConfig, folder: RunDirectory) -> tuple[Monitor, list[float], list[float]]:
    """What chooses the best epoch, and of each epoch its value and its validation loss."""
    monitor = Monitor(*make_task(config).monitor, config.trainer.min_delta)
    history = folder.history.read()
    return monitor, history.get(monitor.metric, []), history.get("val_loss", [])
