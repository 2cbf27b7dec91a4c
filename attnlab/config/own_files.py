"""The user's own files: where a run's data are now, and errors in the user's code.

A run's status.json has the absolute paths of its data by setting: see `RunConfig.files`. The user's
code is the mechanisms, tasks and corpora of a `--config-dir`.
"""

from __future__ import annotations

import os
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
from attnlab.errors import CannotResume, RequestError, plain_text

Status = Mapping[str, Any]

_COPIED = ("task.encoder", "model.path")  # the run has copies of these in `assets`


def parted(changes: Mapping[str, str], status: Status) -> tuple[dict[str, str], dict[str, str]]:
    """Split the typed settings of a run into those that name its files, and the others."""
    known = status.get("files", {})
    files = {key: str(read_value(key, text)) for key, text in changes.items() if key in known}
    return files, {key: text for key, text in changes.items() if key not in files}


def located(config: RunConfig, status: Status, given: Mapping[str, str]) -> RunConfig:
    """Return a run's configuration with the current paths of the user's files.

    Args:
        config: the run's configuration.
        status: the run's status.json, with the earlier paths.
        given: new paths by setting, as typed by the user.

    Raises:
        RequestError: a given path doesn't exist.
    """
    for key, path in given.items():
        if not os.path.exists(absolute(path)):
            raise RequestError(f"{key}: expected a file or folder that exists, got {path!r}.")
    known = status.get("files", {})
    moved = {
        known[key]: absolute(path) for key, path in given.items()
    }  # several settings may have one path
    for key, place in known.items():
        # The user may have moved a whole project including its runs.
        relative = absolute(str(lookup(config.document, key)))
        if place not in moved and not os.path.exists(place) and os.path.exists(relative):
            moved[place] = relative
    return replace(config, files={key: moved.get(place, place) for key, place in known.items()})


def require_found(config: RunConfig) -> None:
    """Raise `RequestError` if one of the user's files is gone and the run has no copy."""
    for key, place in config.files.items():
        if key not in _COPIED and not os.path.exists(place):
            raise RequestError(f"{key}: {place} no longer exists. Set {key}=PATH to its new path.")


def require_same(config: RunConfig, status: Status, found: str) -> None:
    """Raise `CannotResume` unless `found` is the digest of the run's training data."""
    expected = status.get("data_digest", found)
    if found == expected:
        return
    key = next(iter(config.files), "data")
    places = f" in {', '.join(config.files.values())}" if config.files else ""
    remedy = f": set {key}=PATH if they are elsewhere" if config.files else ""
    raise CannotResume(
        f"{key}: the data{places} have changed since the run was trained (digest {found[:12]}, "
        f"then {expected[:12]}){remedy}."
    )


def failure(error: BaseException) -> str:
    """Describe an error in one line, with file and line if it is in the user's own code.

    For example `TypeError: ...` or `mine.py, line 7, in score: TypeError: ...`.
    """
    text = plain_text(error)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):  # the innermost first
        if any(folder in Path(frame.filename).parents for folder in own_folders()):
            return f"{frame.filename}, line {frame.lineno}, in {frame.name}: {words}"
    return words
