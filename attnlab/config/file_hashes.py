"""Hashes of the user's own files, because a path doesn't identify the data."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_BYTES_AT_A_TIME = 2**20
_SECONDS_CURRENT = 1.0
_of_folders: dict[str, tuple[float, str | None]] = {}  # time of the last call, and the hash


def file_hash(path: str) -> str | None:
    """Return the hash of a file or folder; None if the path doesn't exist.

    The hash of a file is the SHA-256 of its content. The hash of a folder is made from names, sizes
    and modification times of the files below it, except hidden ones, so a copy has another hash. Of
    a run's folder only the weights count, because MLflow changes other files. A sweep's folder has
    no hash, because the sweep's runs differ by seed.
    """
    with suppress(OSError, RuntimeError, ValueError):  # ~NOBODY, or a NUL in the path
        place = Path(path).expanduser()
        if (place / "sweep.json").is_file():
            return None
        if (place / "status.json").is_file():
            place = place / "weights"
        if place.is_dir():
            lines = []
            for file in _files(place):
                with suppress(OSError):  # removed, or a broken link
                    status, name = file.stat(), file.relative_to(place)
                    lines.append(f"{name}\0{status.st_size}\0{status.st_mtime_ns}")
            return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        if place.is_file():  # a pipe can be read only once
            status = place.stat()
            return _of_content(place.absolute(), status.st_size, status.st_mtime_ns)
    return None


def absolute(path: str) -> str:
    """Return the absolute path of a file or folder."""
    return os.path.abspath(os.path.expanduser(path))


def recent_hash(path: str) -> str | None:
    """Return `file_hash`, for folders cached for a second.

    The points of a grid are composed one after another, and hashing a folder is slow.
    """
    if not os.path.isdir(os.path.expanduser(path)):
        return file_hash(path)
    path, now = absolute(path), time.monotonic()
    last, value = _of_folders.get(path, (-math.inf, None))
    if now - last > _SECONDS_CURRENT:
        value = file_hash(path)
    _of_folders[path] = time.monotonic(), value
    return value


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in a fixed order; links are followed, each folder once."""
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
    """Return the SHA-256 of a file; cached while size and modification time stay the same."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_BYTES_AT_A_TIME):
            state.update(chunk)
    return state.hexdigest()
