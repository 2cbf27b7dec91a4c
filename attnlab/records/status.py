"""How far a run is (status.json), and whether a process works on it (.lock)."""

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
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError, RunBusy
from attnlab.process import variable
from attnlab.records import files

if TYPE_CHECKING:
    from filelock import FileLock

_PATIENCE_SECONDS = 1.0
_SLURM = "SLURM_JOB_ID"
_RUNNING = "RUNNING,COMPLETING,SUSPENDED,STOPPED"
_PATIENCE = 20.0  # seconds for Slurm's answer
_ANSWER_HOLDS = 10.0  # seconds, so that a list of runs asks Slurm once
_asked: tuple[float, set[str] | None] | None = None
_launcher: dict[str, Any] | None = None  # the process with which this one ends
_IDENTITY = ("host", "pid", "pid_started")


def run_lock(folder: Path) -> FileLock:
    """Return the lock that a process holds while it trains the run in `folder`.

    The kernel releases it when the process ends, however it ends. Acquiring waits for a second,
    because `is_alive` holds the lock for a moment; then it raises `filelock.Timeout`.
    """
    from filelock import FileLock

    return FileLock(Path(folder) / ".lock", timeout=_PATIENCE_SECONDS)


def is_alive(folder: Path) -> bool:
    """Return whether a process holds the lock of the run in `folder`."""
    if not (Path(folder) / ".lock").exists():
        return False
    try:
        with run_lock(folder).acquire(timeout=0):
            return False
    except OSError:  # a `Timeout`, or the lock belongs to another user
        return True


@contextmanager
def hold(folder: Path, seconds: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the lock of the run in `folder`, after waiting for it at most `seconds`; -1 for ever.

    Raises:
        RunBusy: Another process holds it.
        RequestError: The folder can't be written.
    """
    from filelock import Timeout

    lock = run_lock(folder)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise RunBusy(
            f"{folder}: another process is working in this folder: wait until it has stopped."
        ) from None
    except OSError as error:
        raise RequestError(
            f"{folder}: expected a folder that can be written ({error.strerror or error})."
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def flocked(folder: Path) -> Iterator[None]:
    """Wait for the kernel's lock on a folder and hold it; it ends with the process.

    Does nothing if the system or the file system has no such locks.
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
    """Return what identifies this process for `is_running`: host, pid, and on Linux its start.

    Within a Slurm job also the job's number, so that other hosts can ask Slurm about it. In a
    worker that ends with its launcher also the launcher.
    """
    pid = os.getpid()
    job = variable(_SLURM)
    known = {"host": socket.gethostname(), "pid": pid, "pid_started": _start(pid)}
    known |= {"slurm_job": job} if job else {}
    return known | ({"launcher": _launcher} if _launcher else {})


def _owner(path: Path) -> dict[str, Any]:
    """Return the owner in a lock.json; {} if the file is missing or damaged."""
    with suppress(RequestError):
        return files.read_json(path)
    return {}


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two records of `this_process` are of the same process."""
    return all(one.get(key) == other.get(key) for key in _IDENTITY)


def end_with_launcher(launcher: Mapping[str, Any]) -> None:
    """Record that this process ends with its launcher, which may be on another host."""
    global _launcher
    _launcher = dict(launcher)


def is_running(owner: Mapping[str, Any], *, anew: bool = False) -> bool:
    """Return whether the process recorded by `this_process` is alive, as far as this host can tell.

    A process on another host lives as long as the launcher that it ends with. Without one it counts
    as alive, unless it was in a Slurm job that has ended. With `anew` a recent answer of Slurm is
    not reused. The start time distinguishes the process from a later one with the same pid.
    """
    pid = owner.get("pid")
    if not isinstance(pid, int) or os.name == "nt":
        return True
    if owner.get("host") != socket.gethostname():
        if isinstance(launcher := owner.get("launcher"), Mapping):
            return launcher == _launcher or is_running(launcher, anew=anew)
        return _is_queued(owner.get("slurm_job"), anew)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return owner.get("pid_started") in (None, _start(pid))


def _is_queued(job: object, anew: bool) -> bool:
    """Return whether a Slurm job still runs; True if that can't be known."""
    if not isinstance(job, str) or not job.isdigit():
        return True
    if job == variable(_SLURM):
        return False  # Slurm requeued and restarted the job that this process is in
    running = _running_jobs(anew)
    return running is None or job in running


def _running_jobs(anew: bool) -> set[str] | None:
    """Return the numbers of all running Slurm jobs, cached for a moment; None if unknown."""
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
    """Return when a process started, in kernel ticks since boot; None if unknown.

    None also for a zombie, which has ended but whose exit status nobody has read.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None


FORMAT = 2  # of a run folder; see docs/reference/run-folder.md
STATES = ("running", "completed", "failed", "killed")
_ADVICE = {
    "running": "wait until it is completed",
    "failed": "read its run.log and train it again",
    "killed": "attnlab resume continues it",
}


class Status:
    """Reads and writes a status.json, always as a whole; the writer holds the run's lock."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.RLock()  # the tracker's thread adds its run id

    def write(self, state: str | None = None, **changes: Any) -> None:
        """Change some entries; a damaged file is replaced.

        Raises:
            ValueError: `state` is not in `STATES`.
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
                for key in ("slurm_job", "launcher"):  # of an earlier process
                    status.pop(key, None)
                status.update(this_process())
            status.update(changes, updated=datetime.now(timezone.utc).isoformat())
            files.write_json(self._path, {"format": FORMAT, **status})

    def read(self) -> dict[str, Any]:
        """Return all entries; raises `RequestError` if the file is missing, damaged or too old.

        The state is "killed" if the file says "running" but no process holds the run's lock.
        """
        status = files.read_json(self._path)
        if status.get("format") != FORMAT:
            raise RequestError(
                f"{self._path}: format: expected {FORMAT}, got {status.get('format')!r}. This "
                "version of attnlab can't read the run: train it again."
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
        if status["state"] == "running" and not is_alive(self._path.parent):
            status["state"] = "killed"
        return status

    def state(self) -> str:
        """Return the run's state."""
        return self.read()["state"]

    def require_completed(self, otherwise: str = "") -> None:
        """Raise `RequestError` with the state and a remedy, plus `otherwise`, unless completed."""
        status = self.read()
        state = status["state"]
        if state != "completed":
            raise RequestError(
                f"RUN: {str(self._path.parent)!r} is not completed but {state} (epoch "
                f"{status.get('epoch', 0)}): {_ADVICE[state]}{otherwise}."
            )


def write_ended(
    folder: Path, listed: Mapping[str, Any], state: str = "killed", **entries: Any
) -> None:
    """Record in status.json that a run's process has ended.

    If another process has taken or removed the run since it was listed, nothing changes.

    Args:
        folder: the run's folder.
        listed: the run's status, from which the caller concluded that the process has ended.
        state: the new state.
        entries: further entries of status.json.
    """
    with suppress(RequestError), hold(folder, 0):
        status = Status(folder / "status.json")
        now = status.read()
        if _is_same(now, listed) and now["state"] == listed["state"]:
            status.write(state, **entries)


def shown_state(status: Mapping[str, Any]) -> str:
    """Return the state as users see it: `pruned` if a search stopped the run."""
    state = status.get("state", "damaged")
    return "pruned" if state == "killed" and status.get("pruned") else state
