"""Resume a stopped run, or train a completed one longer, in its folder and its MLflow run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlab.config.parsing import parse, stored_config
from attnlab.config.sections import RunConfig
from attnlab.errors import CannotResume, RequestError
from attnlab.records.checkpoints import Checkpoints
from attnlab.records.run_directory import REPORT, RunDirectory
from attnlab.records.status import hold
from attnlab.runner.building import check_devices, make_task
from attnlab.runner.console import screen
from attnlab.runner.follow import start_following
from attnlab.runner.loading import require_files, require_same_data, require_saved
from attnlab.runner.train import (
    SweepMember,
    Training,
    TrainingState,
    finish,
    status_entries,
    stored_metrics,
)
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
        config, metrics = _changed(before, changes or {}, folder), None
        if status["state"] == "completed":
            if config.trainer.epochs == before.trainer.epochs:
                metrics = stored_metrics(folder)
            if metrics is None:
                _require_continuable(config, folder)
        if metrics is not None and sweep is None:
            require_saved(folder, [metrics["best_epoch"]])
        follower = None if sweep else start_following(folder.path)
        try:
            metrics = metrics or _continue(config, folder, sweep, started)
        except CannotResume as error:
            if sweep is not None:  # `sweep.retry_failed` trains it again
                folder.status.write("failed", error=f"RequestError: {error}")
            raise
    finish(config, folder, metrics, follower, quiet or sweep is not None)
    return folder.path


def _changed(before: RunConfig, changes: Mapping[str, str], folder: RunDirectory) -> RunConfig:
    """Return a run's configuration with changed settings and the current places of its files."""
    status, runs = folder.status.read(), str(folder.path.parents[2])
    config = stored_config(folder.read_config(), status, changes)
    if Path(config.paths.runs).expanduser().absolute() != Path(runs):  # it was moved
        config = config.with_values({"paths.runs": runs})
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
    return replace(config, earlier_epochs=earlier)


def _continue(
    config: RunConfig, folder: RunDirectory, sweep: SweepMember | None, started: float
) -> dict[str, Any]:
    with screen(quiet=sweep is not None) as shown:
        task = make_task(config)
        check_devices(config, resumed=True)
        require_files(config)
        data = task.load(config.seed, shown.working)
        require_same_data(config, folder, data.digest)
        folder.make_folders()
        (folder.path / REPORT).unlink(missing_ok=True)  # it shows the earlier result
        entries = status_entries(config, sweep)
        folder.status.write("running", error=None, pruned=False, **entries)
        run = Training(config, task, data, folder, shown, started, sweep, resumed=True)
        return run.execute()


def _require_continuable(config: RunConfig, folder: RunDirectory) -> None:
    """Refuse to continue a completed run that lacks a file, before any of its files is removed."""
    checkpoint = Checkpoints(folder.checkpoint).newest()
    if checkpoint is None:
        raise RequestError(
            f"{folder.checkpoint}: the run has no intact checkpoint to continue from: train it "
            "again with more trainer.epochs."
        )
    monitor = Monitor(*make_task(config).monitor, config.trainer.min_delta)
    require_saved(folder, [TrainingState(checkpoint.state["history"]).best_epoch(monitor)])
