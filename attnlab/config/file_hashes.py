"""Hashes of the user's own files, because a path doesn't identify the data."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path


def absolute(path: str) -> str:
    """Return the absolute path of a file or folder."""
    return os.path.abspath(os.path.expanduser(path))


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
            for parent, folders, names in os.walk(place, followlinks=True):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(name for name in names if not name.startswith(".")):
                    with suppress(OSError):  # removed, or a broken link
                        file = Path(parent, name)
                        status = file.stat()
                        relative = file.relative_to(place)
                        lines.append(f"{relative}\0{status.st_size}\0{status.st_mtime_ns}")
            return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        if place.is_file():  # a pipe can be read only once
            status = place.stat()
            return _content_hash(place.absolute(), status.st_size, status.st_mtime_ns)
    return None


def recent_hash(path: str) -> str | None:
    """Return `file_hash`; that of a folder may be a second old, because each job of a grid asks."""
    if os.path.isdir(path):
        return _folder_hash(path, int(time.monotonic()))
    return file_hash(path)


@lru_cache(maxsize=8)
def _folder_hash(path: str, second: int) -> str | None:
    return file_hash(path)


@cache
def _content_hash(path: Path, size: int, changed: int) -> str:
    """Return the SHA-256 of a file; cached while size and modification time stay the same."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            state.update(chunk)
    return state.hexdigest()
