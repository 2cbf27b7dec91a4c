"""One run from its configuration to its results, from the start or from where it was stopped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from attnlab.config.sections import RunConfig, changed, parse
from attnlab.errors import Pruned, RequestError, RunBusy
from attnlab.records.checkpoints import Checkpoints
from attnlab.records.environment import differences, environment
from attnlab.records.lock import FolderLock
from attnlab.records.logs import logging_to
from attnlab.records.mlflow.settings import own_uri
from attnlab.records.mlflow.tracker import Tracker
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import actual_state
from attnlab.run import console
from attnlab.run.building import check_model, make_task
from attnlab.run.loop import Session, SweepMember
from attnlab.run.memory import refuse_what_does_not_fit
from attnlab.run.recorder import Recorder
from attnlab.tasks.base import Task, TaskData
from attnlab.tasks.kinds import resolved

log = logging.getLogger("attnlab")


def run(config: RunConfig) -> Path:
    """Train, evaluate and report one run; returns its folder.

    Raises:
        RequestError: the settings don't fit the data, or the runs folder can't be written; nothing
            is left behind.
        RunFailed: the loss was not finite.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    started = time.perf_counter()
    task, data = _prepared(config)
    folder = new_folder(config)
    with FolderLock(folder.path):
        return _carry_out(Session(config, task, data, folder, started))


def new_folder(config: RunConfig, sweep: SweepMember | None = None) -> RunDirectory:
    """Make the folder of a new run, whose owner is this process; raises `RequestError`."""
    runs, names = Path(config.paths.runs).expanduser(), (config.task.name, config.attention.name)
    entries = {"config_hash": config.digest} | ({"sweep": sweep.name} if sweep else {})
    return RunDirectory.create(runs, *names, config.seed, config.document, **entries)


def run_in(folder: RunDirectory, config: RunConfig, sweep: SweepMember) -> Path:
    """As `run`, in a folder of `new_folder`; settings that don't fit the data leave it failed.

    Raises as `run`, and `Pruned` where the sweep gave it up.
    """
    started = time.perf_counter()
    with FolderLock(folder.path):
        with _closing(folder.status.write):
            task, data = _prepared(config, quiet=True)
        return _carry_out(Session(config, task, data, folder, started, sweep))


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
        before, status = parse(resolved(folder.read_config()), {}), folder.status.read()
        config = _in_its_place(changed(before, changes or {}), folder)
        _check_epochs(config.trainer.epochs, before.trainer.epochs, status["epoch"])
        if status["state"] == "completed":
            metrics = None
            with suppress(RequestError):  # the disk was full when it was to be written
                metrics = folder.read_metrics()
            if metrics and config.trainer.epochs == before.trainer.epochs:
                if sweep is None:
                    console.print_result(metrics, folder.path)
                return folder.path
            _require_checkpoint(folder)
        task = make_task(config)
        data = _load(config, task, quiet=sweep is not None)
        _require_same(data, folder, status.get("data_digest", data.digest))
        folder.make_folders()
        member = {"sweep": sweep.name} if sweep else {}
        folder.status.write("running", error=None, pruned=False, **member)
        return _carry_out(Session(config, task, data, folder, started, sweep, resumed=True))


def _require_stopped(folder: RunDirectory) -> None:
    status = folder.status.read()
    if actual_state(status) == "running":
        raise RunBusy(
            f"RUN: expected a run that has stopped, but process {status.get('pid')} on "
            f"{status.get('host')} is at {folder.path}."
        )


def _check_epochs(wanted: int, before: int, trained: int) -> None:
    if wanted < before and wanted < trained:
        raise RequestError(
            f"trainer.epochs: expected at least the {trained} epochs that were trained, "
            f"got {wanted}."
        )


def _require_checkpoint(folder: RunDirectory) -> None:
    """A run that was finished must not begin again, for that would take what it has away."""
    if Checkpoints(folder.checkpoint).newest() is None:
        raise RequestError(
            f"{folder.checkpoint}: expected the checkpoint of a finished run, but there is none "
            "that is whole: train it again with more trainer.epochs."
        )


def _require_same(data: TaskData, folder: RunDirectory, digest: str) -> None:
    if data.digest != digest:
        raise RequestError(
            f"data: expected those that {folder.path} began with (digest {digest[:12]}), got "
            f"{data.digest[:12]}: they have changed since."
        )


def _prepared(config: RunConfig, quiet: bool = False) -> tuple[Task, TaskData]:
    """The task of a new run and its data; one that can't be is refused before it is made."""
    task = make_task(config)
    check_model(config, task)
    data = _load(config, task, quiet)
    refuse_what_does_not_fit(config, task, data)
    return task, data


def _load(config: RunConfig, task: Task, quiet: bool) -> TaskData:
    with console.preparation(quiet) as progress:
        return task.load(config.seed, progress)


def _in_its_place(config: RunConfig, folder: RunDirectory) -> RunConfig:
    """The configuration with the runs folder that the run lies in now."""
    runs = str(folder.path.parents[2])
    if Path(config.paths.runs).expanduser().absolute() == Path(runs):
        return config
    document = {**config.document, "paths": {**config.document["paths"], "runs": runs}}
    return replace(config, paths=replace(config.paths, runs=runs), document=document)


def _carry_out(session: Session) -> Path:
    config, folder = session.config, session.folder
    with logging_to(folder.path / "run.log"):
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
        with _closing(recorder.close):
            metrics = session.execute(recorder)
        recorder.close("completed")
    if session.sweep is None:
        console.print_result(metrics, folder.path)
    return folder.path


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
        close("failed", error=f"{type(error).__name__}: {error}")
        raise
