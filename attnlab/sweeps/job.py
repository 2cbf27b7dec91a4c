"""One job, in whatever process a launcher runs it: the task function of a sweep.

Importing this module registers all that Hydra needs to compose a job's configuration, so that a
worker of joblib or submitit, which imports it to find the function, can compose it.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config import composing as config
from attnlab.errors import Pruned, RequestError, RunFailed
from attnlab.records.processes import is_running, this_process
from attnlab.records.run_directory import RunDirectory
from attnlab.run import interrupts
from attnlab.sweeps.jobs import (
    DONE,
    FAILED,
    KILLED,
    PRUNED,
    RUNNING,
    WAITING,
    decisive,
    record_key,
    results_of,
    runs_by_digest,
)
from attnlab.sweeps.sweep_folder import SweepFolder

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from attnlab.config.sections import RunConfig

config.register_schema()

OnEpoch = Callable[[Mapping[str, float]], None]
_SECONDS_BETWEEN_REPORTS = 1.0
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_STOP = 20.0
# For how long a worker may outlive the process that launched it.
ORPHANED_SECONDS = _SECONDS_BETWEEN_LOOKS + _SECONDS_TO_STOP
# TensorFlow's own setting, and that of the libraries beneath NumPy.
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
# What a folder's lock says of another process; see `records.lock`.
_BUSY = "has been writing it since"
_guarded = False
log = logging.getLogger("attnlab")


class StoppedEarly(BaseException):
    """A job failed and `sweep.fail_fast` is set. Not an Exception: launchers must not keep it."""


@dataclass(frozen=True)
class Launch:
    """What the jobs of one launch have in common; it travels to their processes.

    Attributes:
        folder: the sweep's.
        token: tells this launch from earlier ones of the same sweep.
        owner: the process that launched, as `this_process` describes it.
        threads: for the mathematics of each process; None leaves it to the libraries.
        bound: whether jobs end with the process that launched them.
        fail_fast: whether the first job that fails stops the others.
        search: settings of the search that the jobs belong to; None in a grid.
    """

    folder: Path
    token: str
    owner: Mapping[str, Any]
    threads: int | None = None
    bound: bool = True
    fail_fast: bool = False
    search: Any = None

    @property
    def stop_path(self) -> Path:
        """The file by which jobs that have not begun know that they shall not."""
        return self.folder / f".stopped-{self.token}"

    def is_current(self) -> bool:
        """Whether its jobs may start: it was not stopped, and no later launch has begun."""
        if self.stop_path.is_file():
            return False
        if self.bound and not is_running(self.owner):
            return False
        return (
            self.search is not None or SweepFolder(self.folder).read().get("launch") == self.token
        )


def run_job(cfg: DictConfig, *, launch: Launch) -> None:
    """Run, or go on with, the run of one composed configuration; what comes out is in its record.

    Raises:
        KeyboardInterrupt: interrupted.
        StoppedEarly: it failed, and that ends the sweep.
    """
    interrupts.check()
    checked, trial = config.from_hydra(cfg), config.sweep_from_hydra(cfg).trial
    record = Record(SweepFolder(launch.folder), record_key(checked.digest, trial))
    if not launch.is_current() or record.runs_elsewhere():
        return
    before = record.begin(launch)
    _prepare_process(launch)
    try:
        path = _carry_out(checked, before, launch, record, trial)
    except Pruned as pruned:
        record.end(PRUNED, _latest(checked), str(pruned))
    except Exception as error:
        state = KILLED if _is_busy(error) else FAILED
        record.end(state, _latest(checked), _sentence(error))
        if launch.fail_fast and state == FAILED:
            with suppress(OSError):
                launch.stop_path.touch()
            raise StoppedEarly from error
    except KeyboardInterrupt:
        record.end(KILLED, _latest(checked), "interrupted")
        raise
    else:
        record.end(DONE, path)


class Record:
    """The record of the job that this process runs; one that can't be kept never stops the run."""

    def __init__(self, folder: SweepFolder, key: str) -> None:
        self._folder, self._key = folder, key
        self._reported = 0.0
        self._failed = False

    def runs_elsewhere(self) -> bool:
        """Whether another process that lives runs the job."""
        record, me = self._folder.record(self._key), this_process()
        if record.get("state") != RUNNING or not is_running(record):
            return False
        return any(record.get(key) != value for key, value in me.items())

    def begin(self, launch: Launch) -> dict[str, Any]:
        """Note that this process runs the job; returns what the record said before."""
        before = self._folder.record(self._key)
        now = datetime.now(timezone.utc).isoformat()
        self._folder.write_record(
            self._key,
            state=RUNNING,
            error=None,
            epoch=0,
            started=now,
            launch=launch.token,
            **this_process(),
        )
        return before

    def report(self, row: Mapping[str, float]) -> None:
        """Note how far it is, now and then."""
        if time.monotonic() - self._reported > _SECONDS_BETWEEN_REPORTS:
            self._reported = time.monotonic()
            self._write(epoch=int(row["epoch"]))

    def end(self, state: str, folder: Path | None, error: str | None = None) -> None:
        """Note what came out."""
        self._write(
            state=state,
            folder=str(folder) if folder else None,
            error=error,
            ended=datetime.now(timezone.utc).isoformat(),
            results=results_of(folder) if folder and state == DONE else {},
        )

    def _write(self, **changes: Any) -> None:
        """Change the record, or say once that it can't be, as on a full disk."""
        try:
            self._folder.write_record(self._key, **changes)
        except OSError as error:
            if not self._failed:
                log.warning("the sweep's record %s can't be written: %s", self._key, error)
            self._failed = True


def _carry_out(
    checked: RunConfig,
    before: Mapping[str, Any],
    launch: Launch,
    record: Record,
    trial: int | None,
) -> Path:
    """Go on with the job's run or make it; returns its folder."""
    from attnlab.run import console, runner

    folder = _begun(checked, before)
    if folder is not None and folder.status.state() == DONE:
        return folder.path
    parents = SweepFolder(launch.folder).read().get("parents", {})
    member = runner.SweepMember(
        launch.folder.name,
        parents.get(checked.task.name),
        _on_epoch(launch, record, trial),
    )
    with console.silence():
        if folder is not None:
            return runner.resume(folder, sweep=member)
        return runner.run(checked, sweep=member)


def _begun(checked: RunConfig, before: Mapping[str, Any]) -> RunDirectory | None:
    """The run to go on with: as the sweep planned, or as an earlier process of the job left it."""
    if before.get("state") == WAITING:
        return RunDirectory.open(before["resume"]) if before.get("resume") else None
    entry = decisive(runs_by_digest(_runs(checked)).get(checked.digest, []))
    return entry.run if entry and entry.state in (DONE, KILLED) else None


def _on_epoch(launch: Launch, record: Record, trial: int | None) -> OnEpoch:
    """Who gets the rows of the run's history: its record, and in a search who may prune it."""
    if launch.search is None or trial is None:
        return record.report
    from attnlab.sweeps.search import TrialReporter

    judge = TrialReporter(launch.folder, launch.folder.name, trial, launch.search)

    def listen(row: Mapping[str, float]) -> None:
        record.report(row)
        judge(row)

    return listen


def _is_busy(error: Exception) -> bool:
    """Whether another process writes the run's folder: it may go on with it."""
    return isinstance(error, RequestError) and _BUSY in str(error)


def _latest(checked: RunConfig) -> Path | None:
    """The folder of the newest run of a configuration."""
    try:
        entries = runs_by_digest(_runs(checked)).get(checked.digest, [])
    except OSError:
        return None
    return entries[-1].run.path if entries else None


def _runs(checked: RunConfig) -> Path:
    return Path(checked.paths.runs).expanduser()


def _sentence(error: Exception) -> str:
    """An error in one line; its kind where the text alone may say little."""
    text = " ".join(str(error).split())
    if isinstance(error, (RequestError, RunFailed)):
        return text
    return f"{type(error).__name__}: {text}"


def _prepare_process(launch: Launch) -> None:
    """Set up a process of its own for its jobs; the process that launched is left as it is."""
    if os.getpid() == launch.owner.get("pid"):
        return
    if launch.threads:
        for name in _THREADS:
            os.environ.setdefault(name, str(launch.threads))
        # Several processes share a GPU; by default the first would take all of its memory.
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if launch.bound:
        _end_with(launch.owner)


def _end_with(owner: Mapping[str, Any]) -> None:
    """Have this process interrupted when the one that launched it has gone, as by `kill -9`."""
    global _guarded
    if _guarded or threading.current_thread() is not threading.main_thread():
        return
    _guarded = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.listen()

    def watch() -> None:
        while is_running(owner):
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_SECONDS_TO_STOP)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
