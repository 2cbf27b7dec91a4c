"""One run from its configuration to its results, from the start or from where it was stopped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlab.config import own_files
from attnlab.config.own_files import failure
from attnlab.config.parsing import changed, parse
from attnlab.config.sections import RunConfig
from attnlab.errors import Pruned, RequestError, RunBusy, RunFailed
from attnlab.records.environment import differences, environment
from attnlab.records.lock import FolderLock, this_process
from attnlab.records.logs import logging_to
from attnlab.records.mlflow.settings import own_uri
from attnlab.records.mlflow.tracker import Tracker
from attnlab.records.run_directory import REPORT, RunDirectory
from attnlab.records.status import actual_state
from attnlab.run import background_finish, console, extend
from attnlab.run.building import check_model, make_task
from attnlab.run.loading import require_best_saved
from attnlab.run.loop import Session, SweepMember
from attnlab.run.memory import refuse_what_does_not_fit
from attnlab.run.profile import spent
from attnlab.run.recorder import Recorder
from attnlab.run.screen import Screen, screen
from attnlab.tasks.base import Task, TaskData

log = logging.getLogger("attnlab")


def run(config: RunConfig, finish: bool = True) -> Path:
    """Train, evaluate and report one run; returns its folder.

    Its figures and its copy in MLflow are whole then, or if not `finish`, after
    `background_finish.wait`.

    Raises:
        RequestError: the settings don't fit the data, or the runs folder can't be written; nothing
            is left behind.
        RunFailed: the loss was not finite, or the result could not be written.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    started = time.perf_counter()
    with screen() as shown:
        task, data = _prepared(config, shown)
        folder = new_folder(config)
        with FolderLock(folder.path):
            metrics = _carry_out(Session(config, task, data, folder, started, shown))
    console.print_result(metrics, folder.path)
    if finish:
        _finish(folder)
    _require_kept(folder)
    return folder.path


def new_folder(config: RunConfig, sweep: SweepMember | None = None) -> RunDirectory:
    """Make the folder of a new run, whose owner is this process; raises `RequestError`."""
    runs, names = Path(config.paths.runs).expanduser(), (config.task.name, config.attention.name)
    entries: dict[str, Any] = {"config_hash": config.digest, **config.beyond_settings}
    entries |= {"files": dict(config.files)} if config.files else {}
    if sweep:
        entries["sweep"] = sweep.name
    return RunDirectory.create(runs, *names, config.seed, config.document, **entries)


def run_in(folder: RunDirectory, config: RunConfig, sweep: SweepMember) -> Path:
    """As `run`, in a folder of `new_folder`; settings that don't fit the data leave it failed.

    Raises as `run`, and `Pruned` where the sweep gave it up.
    """
    started = time.perf_counter()
    with FolderLock(folder.path), screen(quiet=True) as shown:
        with _closing(folder.status.write):
            task, data = _prepared(config, shown)
        _carry_out(Session(config, task, data, folder, started, shown, sweep))
    _require_kept(folder)
    return folder.path


def resume(
    folder: RunDirectory,
    changes: Mapping[str, str] | None = None,
    *,
    sweep: SweepMember | None = None,
) -> Path:
    """Go on with a run in its folder and its MLflow run, to the bits of an uninterrupted one.

    A completed one is left as it is, unless `changes` of `trainer.epochs` have it train longer.
    What a sweep goes on with is not printed.

    Raises:
        RunBusy: another process writes the run.
        RequestError: its data have changed, something else than `trainer.epochs` is to change, or
            a file that is needed is missing or damaged.
        RunFailed, Pruned, KeyboardInterrupt: as in `run_in`.
    """
    started = time.perf_counter()
    _require_stopped(folder)
    with FolderLock(folder.path):
        before, status = parse(folder.read_config(), {}), folder.status.read()
        files, changes = own_files.parted(changes or {}, status)
        config = _in_its_place(changed(before, changes), folder)
        config = own_files.located(config, status, files)
        epochs = before.trainer.epochs
        extend.check_epochs(config.trainer.epochs, epochs, status.get("epoch", 0))
        earlier = status.get("earlier_epochs", [])
        if config.trainer.epochs != epochs and extend.may_differ(config, folder):
            earlier = [*earlier, epochs]
        known = status.get("file_hashes", {})
        config = replace(config, file_hashes=known, earlier_epochs=earlier)
        metrics, completed = None, status["state"] == "completed"
        if completed and config.trainer.epochs == epochs:
            metrics = _kept(folder)
            if metrics is not None and sweep is None:
                require_best_saved(folder, metrics)
        if completed and metrics is None:
            extend.require_whole(config, folder)
        if completed and config.trainer.epochs > epochs:
            extend.require_not_stopped(config, folder)
        try:
            metrics = metrics or _go_on(config, folder, sweep, started)
        except RunFailed as error:
            if not completed:
                raise
            trained = folder.status.read().get("epoch", 0)
            way_out = f"attnlab resume {folder.word} trainer.epochs={trained}"
            raise RunFailed(f"{error} It was done before: {way_out} has its result.") from error
    if sweep is None:
        console.print_result(metrics, folder.path)
        _finish(folder)
    _require_kept(folder)
    return folder.path


def _go_on(
    config: RunConfig, folder: RunDirectory, sweep: SweepMember | None, started: float
) -> dict[str, Any]:
    with screen(quiet=sweep is not None) as shown:
        task = make_task(config)
        own_files.require_found(config)
        data = task.load(config.seed, shown.working)
        own_files.require_same(config, folder.status.read(), data.digest)
        folder.make_folders()
        (folder.path / REPORT).unlink(missing_ok=True)  # a page of what was
        member: dict[str, Any] = {"sweep": sweep.name} if sweep else {}
        member |= {"files": dict(config.files)} if config.files else {}
        member |= config.beyond_settings
        folder.status.write("running", error=None, pruned=False, **member)
        session = Session(config, task, data, folder, started, shown, sweep, resumed=True)
        return _carry_out(session)


def _require_stopped(folder: RunDirectory) -> None:
    status = folder.status.read()
    elsewhere = status.get("host") != this_process()["host"]
    if actual_state(status) == "running" and not (elsewhere and not folder.is_locked):
        way_out = "; if that host is gone, remove the run's lock.json" if elsewhere else ""
        raise RunBusy(
            f"RUN: expected a run that has stopped, but process {status.get('pid')} on "
            f"{status.get('host')} is at {folder.path}{way_out}."
        )


@spent("preparing")
def _prepared(config: RunConfig, shown: Screen) -> tuple[Task, TaskData]:
    """The task of a new run and its data; one that can't be is refused before it is made."""
    task = make_task(config)
    check_model(config, task)
    data = task.load(config.seed, shown.working)
    _require_validation(config, data)
    config.require_same_files()  # what was read is what it is recorded under
    refuse_what_does_not_fit(config, task, data)
    return task, data


def _require_validation(config: RunConfig, data: TaskData) -> None:
    """Refuse what goes by a validation part where there is none."""
    if data.counts().get("validation"):
        return
    asked = {
        "trainer.patience": config.trainer.patience,
        "schedule": "plateau" if config.schedule.name == "plateau" else None,
    }
    for key, value in asked.items():
        if value is not None:
            raise RequestError(
                f"{key}: expected a validation part, by which it goes, beside {key}={value}, but "
                "the data have none: give them one, or leave it out."
            )


def _in_its_place(config: RunConfig, folder: RunDirectory) -> RunConfig:
    """The configuration with the runs folder that the run lies in now."""
    runs = str(folder.path.parents[2])
    if Path(config.paths.runs).expanduser().absolute() == Path(runs):
        return config
    return config.with_values({"paths.runs": runs})


def _carry_out(session: Session) -> dict[str, Any]:
    """Train and evaluate; returns what metrics.json says."""
    config, folder = session.config, session.folder
    with logging_to(folder.path / "run.log"), _told_where(folder):
        began = folder.read_environment() if session.resumed else None
        if found := differences(began, environment()) if began else []:
            log.warning(
                "resumed under other conditions than it began with (%s): the result may differ "
                "from that of an uninterrupted run",
                "; ".join(found),
            )
        tracker = Tracker(
            own_uri(folder.path, config.document) if config.tracking.enabled else None,
            folder.path,
            resumed=session.resumed,
            timeout=config.tracking.timeout,
            on_run_id=lambda run_id: folder.status.write(mlflow_run_id=run_id),
        )
        recorder = Recorder(config, folder, tracker)
        try:
            with _closing(recorder.close):
                metrics = session.execute(recorder)
        finally:
            recorder.settle()
        recorder.write_state("completed")
    background_finish.begin(recorder)
    return metrics


def _finish(folder: RunDirectory) -> None:
    with _told_where(folder):
        background_finish.wait()


def _require_kept(folder: RunDirectory) -> None:
    """Raise `RunFailed` where the result isn't on the disk, whatever the screen has shown."""
    if _kept(folder) is None:
        raise RunFailed(f"the result could not be written to {folder.path}")


def _kept(folder: RunDirectory) -> dict[str, Any] | None:
    """What metrics.json says of a completed run; None where it lacks, or is of fewer epochs.

    The disk may have been full when it was to be written.
    """
    with suppress(RequestError):
        status, metrics = folder.status.read(), folder.read_metrics()
        trained = status.get("epoch", 0)
        if status["state"] == "completed" and metrics.get("epochs", trained) >= trained:
            return metrics
    return None


@contextmanager
def _told_where(folder: RunDirectory) -> Iterator[None]:
    """Have a Ctrl-C say where the run lies, and how to go on with it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        status = folder.status.read()
        then = f"attnlab resume {folder.word} goes on with it"
        if status["state"] == "completed":
            then = "it is done, and attnlab runs sync sends it to MLflow"
        when = f"after epoch {status['epoch']}" if status["epoch"] else "in the first epoch"
        raise KeyboardInterrupt(f"{when}; the run lies in {folder.path}; {then}") from stop


@contextmanager
def _closing(close: Callable[..., None]) -> Iterator[None]:
    """Have it written how the body ended, unless it ended well."""
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
