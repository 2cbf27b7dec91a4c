"""The user's own files: where those of a run are now, and errors out of their code.

A run's status.json has the absolute paths of its data by key, as `files`: see `RunConfig.files`.
The code is that of mechanisms, tasks and corpora of a `--config-dir`.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlab.config.file_hashes import absolute
from attnlab.config.options import own_folders
from attnlab.config.parsing import read_value
from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig
from attnlab.errors import CannotGoOn, RequestError, plain_text

Status = Mapping[str, Any]

_COPIED = ("task.encoder", "model.path")  # what they name is in the run's `assets`, too


def parted(changes: Mapping[str, str], status: Status) -> tuple[dict[str, str], dict[str, str]]:
    """Split settings that are typed for a run: those that name its files, and the others."""
    known = status.get("files", {})
    files = {key: str(read_value(key, text)) for key, text in changes.items() if key in known}
    return files, {key: text for key, text in changes.items() if key not in files}


def located(config: RunConfig, status: Status, given: Mapping[str, str]) -> RunConfig:
    """Give a run's configuration the places where the user's files are now.

    Args:
        config: the run's.
        status: what the run's status.json says, which knows where the files were.
        given: paths by key, as the user gives them anew.

    Raises:
        RequestError: there is nothing at a path that is given.
    """
    for key, path in given.items():
        if not os.path.exists(absolute(path)):
            raise RequestError(f"{key}: expected a file or folder that exists, got {path!r}.")
    known = status.get("files", {})
    moved = {known[key]: absolute(path) for key, path in given.items()}  # of one path several keys
    for key, place in known.items():
        # The user may have moved a whole project, with its runs.
        relative = absolute(str(lookup(config.document, key)))
        if place not in moved and not os.path.exists(place) and os.path.exists(relative):
            moved[place] = relative
    return replace(config, files={key: moved.get(place, place) for key, place in known.items()})


def require_found(config: RunConfig) -> None:
    """Raise `RequestError` if one of the user's files is gone; of an encoder the run has a copy."""
    for key, place in config.files.items():
        if key not in _COPIED and not os.path.exists(place):
            raise RequestError(f"{key}: {place} is gone: {key}=PATH says where it is now.")


def require_same(config: RunConfig, status: Status, found: str) -> None:
    """Raise `CannotGoOn` unless `found` is the digest of the data that a run was trained on."""
    expected = status.get("data_digest", found)
    if found == expected:
        return
    key = next(iter(config.files), "data")
    places = f" in {', '.join(config.files.values())}" if config.files else ""
    remedy = f": {key}=PATH names another place" if config.files else ""
    raise CannotGoOn(
        f"{key}: expected the data that the run was trained on (digest {expected[:12]}), got "
        f"{found[:12]}{places}: they have changed since{remedy}."
    )


def failure(error: BaseException) -> str:
    """What an error is, in a line; one out of the user's own files with file and line.

    Such as `TypeError: ...` or `mine.py, line 7, in score: TypeError: ...`.
    """
    text = plain_text(error)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frame = _own_frame(error)
    if frame is None:
        return words
    return f"{frame.filename}, line {frame.lineno}, in {frame.name}: {words}{_advice(text, frame)}"


def _own_frame(error: BaseException) -> traceback.FrameSummary | None:
    """The last line of the user's own files that led to an error; None if there is none."""
    folders = own_folders()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if any(folder in Path(frame.filename).parents for folder in folders):
            return frame
    return None


def _advice(text: str, frame: traceback.FrameSummary) -> str:
    """What to do about a weight that is used but was never created."""
    found = re.match(r"'(\w+)' object has no attribute '(\w+)'", text)
    if found and f"class {found[1]}" in Path(frame.filename).read_text(encoding="utf-8"):
        return f"; if {found[2]} is a weight, build(query_shape, memory_shape) must create it"
    return ""
