"""How far a run is (status.json), and whether a process works on it (.lock)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError, RunBusy
from attnlab.records import files

if TYPE_CHECKING:
    from filelock import FileLock

_PATIENCE_SECONDS = 1.0


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

    def write(self, state: str | None = None, **changes: Any) -> None:
        """Change some entries; a damaged file is replaced. Raises `OSError`."""
        status: dict[str, Any] = {"format": FORMAT}
        with suppress(RequestError):
            status |= files.read_json(self._path)
        if state is not None:
            status["state"] = state
        status.update(changes, updated=datetime.now(timezone.utc).isoformat())
        files.write_json(self._path, status)

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
            raise RequestError(f"{self._path}: damaged: state: got {status.get('state')!r}.")
        if status["state"] == "running" and not is_alive(self._path.parent):
            status["state"] = "killed"
        return status

    def changed(self) -> int:
        """Return when the file was written, in nanoseconds; 0 if it is missing."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

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


def shown_state(status: Mapping[str, Any]) -> str:
    """Return the state as users see it: `pruned` if a search stopped the run."""
    state = status.get("state", "damaged")
    return "pruned" if state == "killed" and status.get("pruned") else state
