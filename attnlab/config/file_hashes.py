"""Hashes of the user's own files: a path alone doesn't say which data are there."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_MOST_FILES = 100_000  # of a folder
_BYTES_AT_A_TIME = 2**20
_SECONDS_KNOWN = 1.0
_of_folders: dict[str, tuple[float, str | None]] = {}  # when last asked for, and the hash


def file_hash(path: str) -> str | None:
    """Return a hash of what is at a path; None if nothing is.

    Of a file the SHA-256 of its content. Of a folder that of the names, sizes and times of change
    of all files below it, hidden ones aside: copied elsewhere it has another. A run is its weights,
    for the rest of its folder changes with MLflow; a sweep is none, for its runs differ by seed.
    """
    with suppress(OSError, RuntimeError, ValueError):  # of no user, or it has a NUL
        place = Path(path).expanduser()
        if (place / "sweep.json").is_file():
            return None
        if (place / "status.json").is_file():
            place = place / "weights"
        if place.is_dir():
            lines = [f"{name}\0{size}\0{time}" for name, size, time in _files(place)]
            return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        if place.is_file():  # a pipe can be read once only
            found = place.stat()
            return _of_content(place.absolute(), found.st_size, found.st_mtime_ns)
    return None


def absolute(path: str) -> str:
    """The path of a file or folder for commands in any working folder."""
    return os.path.abspath(os.path.expanduser(path))


def recent_hash(path: str) -> str | None:
    """Return the hash of what is at a path; of a folder as it was a second ago, if it is known.

    Points of a grid are composed in a row, and to hash a folder is to walk it.
    """
    if not os.path.isdir(os.path.expanduser(path)):
        return file_hash(path)  # read once anyway
    path, now = os.path.abspath(os.path.expanduser(path)), time.monotonic()
    asked, found = _of_folders.get(path, (-math.inf, None))
    if now - asked > _SECONDS_KNOWN:
        found = file_hash(path)
    _of_folders[path] = time.monotonic(), found
    return found


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name below the folder, size and time of each file, in the same order on every disk."""
    found = _walk(folder)
    for path in itertools.islice(found, _MOST_FILES):
        with suppress(OSError):  # it is gone, or a link to nowhere
            status = path.stat()
            yield str(path.relative_to(folder)), status.st_size, status.st_mtime_ns


def _walk(folder: Path) -> Iterator[Path]:
    """The files below a folder and below the folders that it links to, each folder once."""
    seen = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


@cache
def _of_content(path: Path, size: int, changed: int) -> str:
    """SHA-256 of a file, read once as long as its size and time of change are these."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_BYTES_AT_A_TIME):
            state.update(chunk)
    return state.hexdigest()
