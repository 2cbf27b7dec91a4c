"""A folder's lock: which process may write it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from attnlab.errors import RequestError, RunBusy, explained
from attnlab.records import files
from attnlab.records.processes import is_running, this_process


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
