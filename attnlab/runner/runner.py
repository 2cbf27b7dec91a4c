"""One run from its configuration to its results."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

from attnlab.config.own_files import failure
from attnlab.config.sections import RunConfig
from attnlab.errors import Pruned, RequestError, RunFailed
from attnlab.records.environment import differences, environment
from attnlab.records.logs import logging_to
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import hold
from attnlab.runner import console
from attnlab.runner.building import check_devices, check_model, make_task, memory_errors_explained
from attnlab.runner.console import Screen, screen
from attnlab.runner.follow import start_following, wait_for
from attnlab.runner.loop import Session, SweepMember
from attnlab.runner.recorder import Recorder
from attnlab.tasks.base import Task, TaskData

log = logging.getLogger("attnlab")


def run(config: RunConfig, quiet: bool = False) -> Path:
    """Train and evaluate one run, with its figures and its copy in MLflow.

    Returns:
        The run's folder. Unless `quiet`, its result is printed.

    Raises:
        RequestError: the settings don't fit the data, or the runs folder can't be written; nothing
            is left behind.
        RunFailed: the loss was not finite, or the result could not be written.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    started = time.perf_counter()
    with screen() as shown:
        task, data = prepared(config, shown)
        folder = new_folder(config)
        with hold(folder.path):
            follower = start_following(folder.path)
            metrics = execute_session(Session(config, task, data, folder, started, shown))
    if not quiet:
        console.print_result(metrics, folder.path)
    finish(folder, follower, config.tracking.timeout)
    return folder.path


def finish(folder: RunDirectory, follower: Popen[bytes] | None, timeout: float) -> None:
    """Wait for the figures and MLflow's copy of a completed run; raises as `require_stored`."""
    with logging_to(folder.path / "run.log"), _interruption_explained(folder):
        wait_for(follower, timeout)
    require_stored(folder)


def new_folder(config: RunConfig, sweep: SweepMember | None = None) -> RunDirectory:
    """Make the folder of a new run, owned by this process; raises `RequestError`."""
    runs, names = Path(config.paths.runs).expanduser(), (config.task.name, config.attention.name)
    entries: dict[str, Any] = {"config_hash": config.digest, **config.beyond_settings}
    entries |= {"files": dict(config.files)} if config.files else {}
    if sweep:
        entries["sweep"] = sweep.name
    return RunDirectory.create(runs, *names, config.seed, config.document, **entries)


def run_in(folder: RunDirectory, config: RunConfig, sweep: SweepMember) -> Path:
    """Do what `run` does, for a sweep, in a folder made by `new_folder`.

    If the settings don't fit the data, the folder stays, with the state failed. Raises what `run`
    raises, and `Pruned` if the search stopped the run.
    """
    started = time.perf_counter()
    with hold(folder.path), screen(quiet=True) as shown:
        with _closing(folder.status.write):
            task, data = prepared(config, shown)
        execute_session(Session(config, task, data, folder, started, shown, sweep))
    require_stored(folder)
    return folder.path


def prepared(config: RunConfig, shown: Screen) -> tuple[Task, TaskData]:
    """Return the task and its data; refuse settings that don't fit before a folder is made."""
    task = make_task(config)
    check_devices(config)
    check_model(config, task)
    data = task.load(config.seed, shown.working)
    _require_validation(config, data)
    config.require_same_files()  # the files just read have the hashes in the digest
    return task, data


def _require_validation(config: RunConfig, data: TaskData) -> None:
    """Refuse settings that need a validation part if there is none."""
    if data.counts().get("validation"):
        return
    asked = {
        "trainer.patience": config.trainer.patience,
        "schedule": "plateau" if config.schedule.name == "plateau" else None,
    }
    for key, value in asked.items():
        if value is not None:
            raise RequestError(
                f"{key}={value} needs validation data, and these data have none: add a validation "
                f"part, or leave {key} out."
            )


def execute_session(session: Session) -> dict[str, Any]:
    """Train and evaluate a run, recorded in its folder and MLflow; returns its metrics.json."""
    config, folder = session.config, session.folder
    with logging_to(folder.path / "run.log"), _interruption_explained(folder):
        earlier = folder.read_environment() if session.resumed else None
        if found := differences(earlier, environment()) if earlier else []:
            log.warning(
                "the environment has changed since the run started (%s): the result may differ "
                "from that of an uninterrupted run",
                "; ".join(found),
            )
        recorder = Recorder(config, folder)
        try:
            with _closing(recorder.write_state), memory_errors_explained(config):
                metrics = session.execute(recorder)
        finally:
            recorder.settle()
        recorder.write_state("completed")
    return metrics


def require_stored(folder: RunDirectory) -> None:
    """Raise `RunFailed` if the result isn't on disk, even if it was printed."""
    if stored_metrics(folder) is None:
        raise RunFailed(f"the result could not be written to {folder.path}")


def stored_metrics(folder: RunDirectory) -> dict[str, Any] | None:
    """Return the metrics.json of a completed run; None if it is missing or from fewer epochs.

    The disk may have been full when the run wrote its result.
    """
    with suppress(RequestError):
        status, metrics = folder.status.read(), folder.read_metrics()
        trained = status.get("epoch", 0)
        if status["state"] == "completed" and metrics.get("epochs", trained) >= trained:
            return metrics
    return None


@contextmanager
def _interruption_explained(folder: RunDirectory) -> Iterator[None]:
    """Add the way to resume the run to a `KeyboardInterrupt`."""
    try:
        yield
    except KeyboardInterrupt as stop:
        status = folder.status.read()
        then = f"attnlab resume {folder.word} continues it"
        if status["state"] == "completed":
            then = "it is complete, and attnlab runs sync sends it to MLflow"
        when = f"after epoch {status['epoch']}" if status["epoch"] else "in the first epoch"
        raise KeyboardInterrupt(f"{when}; run folder {folder.path}; {then}") from stop


@contextmanager
def _closing(close: Callable[..., None]) -> Iterator[None]:
    """Call `close` with the state and the error if the body raises."""
    try:
        yield
    except KeyboardInterrupt:
        close("killed", error="interrupted")
        raise
    except Pruned as pruned:
        close("killed", error=f"pruned: {pruned}", pruned=True)
        raise
    except Exception as error:
        log.info("the run failed", exc_info=True)
        close("failed", error=failure(error))
        raise
