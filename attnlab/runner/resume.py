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
from attnlab.runner import console
from attnlab.runner.building import check_devices, make_task
from attnlab.runner.console import screen
from attnlab.runner.follow import start_following
from attnlab.runner.loading import require_best_saved, require_readable
from attnlab.runner.loop import Session, SweepMember
from attnlab.runner.runner import execute_session, finish, require_stored, stored_metrics
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
        RunFailed, Pruned, KeyboardInterrupt: as in `run_in`.
    """
    started = time.perf_counter()
    with hold(folder.path):
        before, status = parse(folder.read_config(), {}), folder.status.read()
        config, epochs = _changed(before, changes or {}, folder), before.trainer.epochs
        metrics, completed = None, status["state"] == "completed"
        if completed and config.trainer.epochs == epochs:
            metrics = stored_metrics(folder)
            if metrics is not None and sweep is None:
                require_best_saved(folder, metrics)
        if completed and metrics is None:
            _require_whole(config, folder)
        if completed and config.trainer.epochs > epochs:
            _require_not_stopped(config, folder)
        follower = None if sweep else start_following(folder.path)
        try:
            metrics = metrics or _go_on(config, folder, sweep, started)
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
    if sweep is None:
        if not quiet:
            console.print_result(metrics, folder.path)
        finish(folder, follower, config.tracking.timeout)
    require_stored(folder)
    return folder.path


def _changed(before: RunConfig, changes: Mapping[str, str], folder: RunDirectory) -> RunConfig:
    """Return a run's configuration with changed settings and the current places of its files."""
    status, epochs = folder.status.read(), before.trainer.epochs
    files, others = own_files.parted(changes, status)
    config = own_files.located(_in_its_place(changed(before, others), folder), status, files)
    _check_epochs(config.trainer.epochs, epochs, status.get("epoch", 0))
    earlier = status.get("earlier_epochs", [])
    if config.trainer.epochs != epochs and _may_differ(config, folder):
        earlier = [*earlier, epochs]
    known = status.get("file_hashes", {})
    return replace(config, file_hashes=known, earlier_epochs=earlier)


def _go_on(
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
        member: dict[str, Any] = {"sweep": sweep.name} if sweep else {}
        member |= {"files": dict(config.files)} if config.files else {}
        member |= config.beyond_settings
        folder.status.write("running", error=None, pruned=False, **member)
        session = Session(config, task, data, folder, started, shown, sweep, resumed=True)
        return execute_session(session)


def _in_its_place(config: RunConfig, folder: RunDirectory) -> RunConfig:
    """Return the configuration with `paths.runs` set to where the run is now."""
    runs = str(folder.path.parents[2])
    if Path(config.paths.runs).expanduser().absolute() == Path(runs):
        return config
    return config.with_values({"paths.runs": runs})


def _check_epochs(wanted: int, before: int, trained: int) -> None:
    """Raise `RequestError` if the run already has more epochs than requested."""
    if wanted < before and wanted < trained:
        raise RequestError(
            f"trainer.epochs={wanted}: must be at least {trained}, the epochs trained so far."
        )


def _may_differ(config: RunConfig, folder: RunDirectory) -> bool:
    """Whether a run that is trained longer may differ from one with all epochs from the start.

    Its learning rates may differ. Also, the last epoch is always scored, so the earlier last epoch
    has a score which the other run skips.
    """
    if Checkpoints(folder.checkpoint).newest() is None:
        return False
    skips = config.task.settings.get("score_every", 1) > 1
    return skips or depends_on_length(config.schedule.name, config.schedule.settings)


def _require_whole(config: RunConfig, folder: RunDirectory) -> None:
    """Refuse to resume a completed run that lacks a file, before any of its files is removed."""
    if Checkpoints(folder.checkpoint).newest() is None:
        raise RequestError(
            f"{folder.checkpoint}: the run has no intact checkpoint to continue from: train it "
            "again with more trainer.epochs."
        )
    monitor, values, losses = _monitored(config, folder)
    best = monitor.best_epoch(values, losses) or folder.status.read().get("epoch", 0)
    require_readable(folder.weights_path(best), "the best weights so far")


def _require_not_stopped(config: RunConfig, folder: RunDirectory) -> None:
    """Refuse more epochs for a run that early stopping ended."""
    monitor, values, losses = _monitored(config, folder)
    if monitor.should_stop(values, config.trainer.patience, losses):
        raise RequestError(
            f"trainer.epochs: more epochs change nothing, because {folder.path} stopped early "
            f"after epoch {len(values)} (trainer.patience={config.trainer.patience})."
        )


def _monitored(config: RunConfig, folder: RunDirectory) -> tuple[Monitor, list[float], list[float]]:
    """Return the monitor, and the monitored value and the validation loss per epoch."""
    monitor = Monitor(*make_task(config).monitor, config.trainer.min_delta)
    history = folder.history.read()
    return monitor, history.get(monitor.metric, []), history.get("val_loss", [])
