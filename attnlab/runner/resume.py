"""Resume a stopped run, or train a completed one longer, in its folder and its MLflow run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlab.config import own_files
from attnlab.config.parsing import changed, parse
from attnlab.config.sections import RunConfig
from attnlab.errors import CannotResume, RequestError, RunFailed
from attnlab.records.checkpoints import Checkpoints
from attnlab.records.run_directory import REPORT, RunDirectory
from attnlab.records.status import hold
from attnlab.runner.building import check_devices, make_task
from attnlab.runner.console import screen
from attnlab.runner.follow import start_following
from attnlab.runner.loading import require_saved
from attnlab.runner.train import SweepMember, finish, status_entries, stored_metrics, train
from attnlab.training.schedules import Monitor, depends_on_length


def resume(
    folder: RunDirectory,
    changes: Mapping[str, str] | None = None,
    *,
    sweep: SweepMember | None = None,
    quiet: bool = False,
) -> Path:
    """Continue a run, to the same bits as an uninterrupted run; returns its folder.

    A completed run doesn't change, unless `changes` set a larger `trainer.epochs`. Nothing is
    printed if it is `quiet`, and for a run of a sweep.

    Raises:
        RunBusy: another process writes the run.
        RequestError: its data have changed, `changes` contain another setting than
            `trainer.epochs` and `trainer.devices`, or a required file is missing or damaged.
        RunFailed, Pruned, KeyboardInterrupt: as in `train.run`.
    """
    started = time.perf_counter()
    with hold(folder.path):
        before, status = parse(folder.read_config(), {}), folder.status.read()
        config, epochs = _changed(before, changes or {}, folder), before.trainer.epochs
        completed, metrics = status["state"] == "completed", None
        if completed and config.trainer.epochs == epochs:
            metrics = stored_metrics(folder)
        if completed and metrics is None:
            _require_continuable(config, folder, longer=config.trainer.epochs > epochs)
        if metrics is not None and sweep is None:
            require_saved(folder, [metrics["best_epoch"]])
        follower = None if sweep else start_following(folder.path)
        try:
            metrics = metrics or _continue(config, folder, sweep, started)
        except CannotResume as error:
            if sweep is not None:  # `sweep.retry_failed` trains it again
                folder.status.write("failed", error=f"RequestError: {error}")
            raise
        except RunFailed as error:
            if not completed:
                raise
            trained = folder.status.read().get("epoch", 0)
            way_out = f"attnlab resume {folder.word} trainer.epochs={trained}"
            raise RunFailed(f"{error} {way_out} restores the result it had before.") from error
    finish(config, folder, metrics, follower, quiet or sweep is not None)
    return folder.path


def _changed(before: RunConfig, changes: Mapping[str, str], folder: RunDirectory) -> RunConfig:
    """Return a run's configuration with changed settings and the current places of its files."""
    status, runs = folder.status.read(), str(folder.path.parents[2])
    files, others = own_files.parted(changes, status)
    config = changed(before, others)
    if Path(config.paths.runs).expanduser().absolute() != Path(runs):  # it was moved
        config = config.with_values({"paths.runs": runs})
    config = own_files.located(config, status, files)
    epochs, trained = config.trainer.epochs, status.get("epoch", 0)
    if epochs < before.trainer.epochs and epochs < trained:
        raise RequestError(
            f"trainer.epochs={epochs}: must be at least {trained}, the epochs trained so far."
        )
    earlier = status.get("earlier_epochs", [])
    if epochs != before.trainer.epochs and Checkpoints(folder.checkpoint).newest() is not None:
        # A run with all epochs from the start may have other learning rates. Also, the last epoch
        # is always scored, so the earlier last epoch has a score which the other run skips.
        skips = config.task.settings.get("score_every", 1) > 1
        if skips or depends_on_length(config.schedule.name, config.schedule.settings):
            earlier = [*earlier, before.trainer.epochs]
    return replace(config, file_hashes=status.get("file_hashes", {}), earlier_epochs=earlier)


def _continue(
    config: RunConfig, folder: RunDirectory, sweep: SweepMember | None, started: float
) -> dict[str, Any]:
    with screen(quiet=sweep is not None) as shown:
        task = make_task(config)
        check_devices(config, resumed=True)
        own_files.require_found(config)
        data = task.load(config.seed, shown.working)
        own_files.require_same(config, folder.status.read(), data.digest)
        folder.make_folders()
        (folder.path / REPORT).unlink(missing_ok=True)  # it shows the earlier result
        entries = status_entries(config, sweep)
        folder.status.write("running", error=None, pruned=False, **entries)
        return train(config, task, data, folder, shown, started=started, sweep=sweep, resumed=True)


def _require_continuable(config: RunConfig, folder: RunDirectory, longer: bool) -> None:
    """Refuse to continue a completed run that lacks a file, before any of its files is removed.

    Also refuse more epochs for a run that early stopping ended.
    """
    if Checkpoints(folder.checkpoint).newest() is None:
        raise RequestError(
            f"{folder.checkpoint}: the run has no intact checkpoint to continue from: train it "
            "again with more trainer.epochs."
        )
    monitor = Monitor(*make_task(config).monitor, config.trainer.min_delta)
    history = folder.history.read()
    values, losses = history.get(monitor.metric, []), history.get("val_loss", [])
    best = monitor.best_epoch(values, losses) or folder.status.read().get("epoch", 0)
    require_saved(folder, [best])
    if longer and monitor.should_stop(values, config.trainer.patience, losses):
        raise RequestError(
            f"trainer.epochs: more epochs change nothing, because {folder.path} stopped early "
            f"after epoch {len(values)} (trainer.patience={config.trainer.patience})."
        )
