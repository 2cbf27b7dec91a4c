"""Folders of prepared data in the cache: made once, continued after a kill, checked when opened."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from attnlab.errors import RequestError
from attnlab.records.files import write_json

_LIST, _FORMAT = "files.json", 2
_ABANDONED = 7 * 24 * 3600.0  # seconds after which nobody continues an unfinished folder
log = logging.getLogger(__name__)
Opened = TypeVar("Opened")


def prepared(
    folder: Path, read: Callable[[Path], Opened], make: Callable[[Path], None], what: str
) -> Opened:
    """Open a folder of the cache, which is made first if it is missing or damaged.

    One process at a time makes a folder; others wait for it. If that process is killed, the disk is
    full or a source can't be read, its files stay in the folder `.unfinished-NAME`, where the next
    call continues.

    Args:
        folder: the folder; its name says everything that determines its content.
        read: opens the complete folder, or raises `RequestError`; it calls `checked_digest`.
        make: fills a folder. It may have files of an earlier call that was interrupted.
        what: name of the content, for messages.

    Raises:
        RequestError: `make` raised it, or the cache can't be written.
    """
    import filelock

    try:
        return read(folder)
    except RequestError as error:
        if folder.exists():
            log.warning("%s It is made again.", error)
    root = folder.parent
    try:
        root.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(root / f".{folder.name}.lock"):
            with suppress(RequestError):  # another process may have written it meanwhile
                return read(folder)
            _make(folder, make)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(
            f"paths.data: {what} can't be written to {root}: {reason}. Run the command again to "
            "continue."
        ) from error
    return read(folder)


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    unfinished = folder.with_name(f".unfinished-{folder.name}")
    for left in folder.parent.glob(".unfinished-*"):
        with suppress(OSError):
            if left != unfinished and time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    unfinished.mkdir(exist_ok=True)
    try:
        make(unfinished)
    except RequestError as error:
        if not isinstance(error.__cause__, OSError):  # else it may be possible to read on later
            shutil.rmtree(unfinished, ignore_errors=True)
        raise
    for left in unfinished.glob(".tmp-*"):  # files that a killed process didn't complete
        left.unlink()
    (unfinished / _LIST).unlink(missing_ok=True)  # of a process that was killed before the rename
    files = {path.name: _digest(path) for path in sorted(unfinished.iterdir())}
    write_json(unfinished / _LIST, {"format": _FORMAT, "files": files})
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(unfinished, folder)


def checked_digest(folder: Path) -> str:
    """Return the SHA-256 of a complete folder's files.

    Raises:
        RequestError: a file is missing or differs from its recorded digest.
    """
    try:
        listed = json.loads((folder / _LIST).read_bytes())
        for name, digest in listed["files"].items():
            if _digest(folder / name) != digest:
                raise RequestError(f"{folder / name}: damaged.")
        return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()
    except RequestError:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{folder}: damaged: {error}.") from error


def _digest(path: Path) -> str:
    state = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            state.update(chunk)
    return state.hexdigest()
