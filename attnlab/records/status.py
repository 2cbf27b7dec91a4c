"""How far a run is (status.json), and which process owns its folder (lock.json)."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError, RunBusy, explained
from attnlab.process import variable
from attnlab.records import files

_SLURM = "SLURM_JOB_ID"
_RUNNING = "RUNNING,COMPLETING,SUSPENDED,STOPPED"
_PATIENCE = 20.0  # seconds for Slurm's answer
_ANSWER_HOLDS = 10.0  # seconds: a list of runs asks once, not for each of them
_asked: tuple[float, set[str] | None] | None = None


class FolderLock:
    """Lets one process at a time write a folder, which must exist: lock.json in it names the owner.

    The lock of an owner that has died is taken over. An owner on another host counts as living.
    """

    def __init__(self, folder: Path):
        self._folder = Path(folder)
        self._path = self._folder / "lock.json"

    def acquire(self) -> FolderLock:
        """Become the owner.

        Raises:
            RunBusy: Another process owns the folder and lives; the text names it.
            RequestError: The folder can't be written.
        """
        with flocked(self._folder):
            owner = None
            with suppress(RequestError):  # none, or written by nothing of ours
                owner = files.read_json(self._path)
            if owner and is_running(owner, anew=True):
                raise RunBusy(
                    f"{self._folder}: process {owner.get('pid')} on {owner.get('host')} has been "
                    f"writing it since {owner.get('since')}. Wait for it or end it; if that host "
                    "is gone, remove lock.json."
                )
            since = datetime.now(timezone.utc).isoformat(timespec="seconds")
            with explained(f"{self._folder}: expected a folder that can be written"):
                files.write_json(self._path, {**this_process(), "since": since})
        return self

    def release(self, *_: object) -> None:
        """Give the folder free again."""
        with suppress(OSError):
            self._path.unlink()

    __enter__, __exit__ = acquire, release


@contextmanager
def flocked(folder: Path) -> Iterator[None]:
    """Hold the kernel's lock on a folder, waiting for it; it ends with its process.

    Without effect where the system or the file system has none.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def this_process() -> dict[str, Any]:
    """What `is_running` needs to recognise this process: host, pid, and its start on Linux.

    In a job of Slurm also its number, by which other hosts can ask about it.
    """
    pid = os.getpid()
    job = variable(_SLURM)
    known = {"host": socket.gethostname(), "pid": pid, "pid_started": _start(pid)}
    return known | ({"slurm_job": job} if job else {})


def is_running(owner: Mapping[str, Any], *, anew: bool = False) -> bool:
    """Whether the process recorded by `this_process` lives, as far as can be known from here.

    A process on another host counts as living, unless it was in a job of Slurm that is over; `anew`
    asks Slurm even if it has answered a moment ago, because the owner's place is to be taken. The
    start time tells the owner from a later process with the same number.
    """
    pid = owner.get("pid")
    if not isinstance(pid, int) or os.name == "nt":
        return True
    if owner.get("host") != socket.gethostname():
        return _is_queued(owner.get("slurm_job"), anew)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return owner.get("pid_started") in (None, _start(pid))


def _is_queued(job: object, anew: bool) -> bool:
    """Whether a job of Slurm runs as it did; True where that can't be known."""
    if not isinstance(job, str) or not job.isdigit():
        return True
    if job == variable(_SLURM):
        return False  # this process: the job was put back into the queue and began again
    running = _running_jobs(anew)
    return running is None or job in running


def _running_jobs(anew: bool) -> set[str] | None:
    """The numbers of all jobs that Slurm runs, asked for once in a while; None if not known."""
    global _asked
    if anew or _asked is None or time.monotonic() - _asked[0] > _ANSWER_HOLDS:
        command = ["squeue", "--noheader", "--format=%A", f"--states={_RUNNING}"]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_PATIENCE)
            answer = None if done.returncode else set(done.stdout.split())
        except (OSError, subprocess.SubprocessError):
            answer = None
        _asked = (time.monotonic(), answer)
    return _asked[1]


def _start(pid: int) -> str | None:
    """When the process began, in the kernel's ticks since boot; None where that isn't known.

    A zombie has no start: nobody has asked for its exit status yet, but it has ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None


FORMAT = 1  # of a run folder; see docs/reference/run-folder.md
STATES = ("running", "completed", "failed", "killed")
_ADVICE = {
    "running": "wait until it is done",
    "failed": "see its run.log, and train it again",
    "killed": "attnlab resume continues it",
}


class Status:
    """The entries of a status.json, always replaced as a whole."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.RLock()  # the tracker's thread adds its run id

    def write(self, state: str | None = None, **changes: Any) -> None:
        """Change entries; the others stay, unless the file is damaged.

        The state "running" makes this process the owner.

        Raises:
            ValueError: `state` is none of `STATES`.
            OSError: The file can't be written.
        """
        if state not in (None, *STATES):
            raise ValueError(f"state: expected one of {', '.join(STATES)}, got {state!r}")
        with self._lock:
            try:
                status = files.read_json(self._path)
            except RequestError:
                status = {}
            if state is not None:
                status["state"] = state
            if state == "running":
                status.update(this_process())
            status.update(changes, updated=datetime.now(timezone.utc).isoformat())
            files.write_json(self._path, {"format": FORMAT, **status})

    def read(self) -> dict[str, Any]:
        """All entries; raises `RequestError` if it is missing, damaged or of another format."""
        status = files.read_json(self._path)
        if status.get("format") != FORMAT:
            raise RequestError(
                f"{self._path}: format: expected {FORMAT}, got {status.get('format')!r}: this "
                "version of attnlab can't read the run, so train it again."
            )
        if status.get("state") not in STATES:
            raise RequestError(
                f"{self._path}: damaged: state: expected one of {', '.join(STATES)}, "
                f"got {status.get('state')!r}."
            )
        if not isinstance(status.get("epoch", 0), int):
            raise RequestError(
                f"{self._path}: damaged: epoch: expected a whole number, got {status['epoch']!r}."
            )
        return status

    def state(self) -> str:
        """The run's state; "killed" also for one whose process has gone without a word."""
        return actual_state(self.read())

    def require_completed(self, otherwise: str = "") -> None:
        """Raise `RequestError` unless the run came to its end: it says its state and what to do.

        `otherwise` is added to that.
        """
        status = self.read()
        state = actual_state(status)
        if state != "completed":
            raise RequestError(
                f"RUN: expected a completed run, but {str(self._path.parent)!r} is {state} "
                f"(epoch {status.get('epoch', 0)}): {_ADVICE[state]}{otherwise}."
            )


def actual_state(status: Mapping[str, Any]) -> str:
    """The state in a status, "killed" where it says "running" but its process has gone."""
    state = status.get("state", "damaged")
    return "killed" if state == "running" and not is_running(status) else state


def shown_state(status: Mapping[str, Any]) -> str:
    """The state in the user's words: `pruned` where a search ended the run, not an accident."""
    state = actual_state(status)
    return "pruned" if state == "killed" and status.get("pruned") else state
