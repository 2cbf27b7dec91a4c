"""Removing a run: its folder and its copy in MLflow, both or neither."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

from attnlab.errors import RequestError, explained
from attnlab.records.mlflow.settings import own_uri, sqlite_path
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import FolderLock

# How a hidden name begins: it says what to remove, for the process that finishes the removal.
_HIDDEN, _FOLDER_ONLY = ".removing-", ".removing-folder-"
_store = cache(Store)  # one for all runs, which is checked once


def remove_run(folder: Path, keep_mlflow: bool = False) -> bool:
    """Remove a run, which may be damaged; whether nothing of it stays, as of a run on a server.

    The folder gets a hidden name first, so that nobody takes it for a run any more; then MLflow's
    copy goes, unless that is to be kept, then the folder. When MLflow refuses, the folder gets its
    name back. What a process that was killed meanwhile leaves is removed by `finish_removals`.
    Raises `RequestError` where a process writes the run, or one of the two can't be removed; then
    both are as they were.
    """
    hidden = folder.with_name((_FOLDER_ONLY if keep_mlflow else _HIDDEN) + folder.name)
    with explained(f"{folder}: can't be removed"), FolderLock(folder):
        copy = None if keep_mlflow else mlflow_copy(folder)
        folder.rename(hidden)  # and its lock with it, which so stays
    return _remove_hidden(hidden, folder, copy)


def mlflow_copy(folder: Path, path: Path | None = None) -> tuple[Store, str] | None:
    """The store and the id of a run's copy in MLflow; None where there is none.

    `path` is where the folder lies now, if it has been hidden. Raises `RequestError` where the
    store that has it can't be used.
    """
    run, config, run_id, is_readable = RunDirectory(path or folder), {}, None, False
    with suppress(RequestError):
        config = run.read_config()
    with suppress(RequestError):
        run_id, is_readable = run.status.read().get("mlflow_run_id"), True
    uri = own_uri(folder, config)
    database = sqlite_path(uri)
    untracked = is_readable and not run_id
    enabled = (config.get("tracking") or {}).get("enabled", True)
    if (database and not database.exists()) or (untracked and not enabled):
        return None
    try:
        store = _store(uri)
        found = store.find(folder, run_id, folder.parts[-3])
    except RequestError:
        if untracked:  # MLflow never said that it has the run
            return None
        raise
    return (store, found.info.run_id) if found else None


def finish_removals(runs: Path) -> int:
    """Remove what removals have left hidden whose process was killed; returns how many.

    MLflow's copy stays where the removal was to leave it. Raises `RequestError` where MLflow's copy
    of one can't be removed.
    """
    done = 0
    for hidden in sorted(runs.absolute().glob(f"*/*/{_HIDDEN}*")):
        with suppress(RequestError, OSError):  # another process is at it
            FolderLock(hidden).acquire()
            prefix = _FOLDER_ONLY if hidden.name.startswith(_FOLDER_ONLY) else _HIDDEN
            folder = hidden.with_name(hidden.name.removeprefix(prefix))
            unfinished = prefix == _HIDDEN and (hidden / "status.json").is_file()
            _remove_hidden(hidden, folder, mlflow_copy(folder, hidden) if unfinished else None)
            done += 1
    return done


def _remove_hidden(hidden: Path, folder: Path, copy: tuple[Store, str] | None) -> bool:
    """Remove MLflow's copy and then the folder, or give the folder its name back."""
    try:
        gone = copy[0].remove(copy[1]) if copy else True
    except BaseException:
        FolderLock(hidden).release()
        hidden.rename(folder)
        raise
    with explained(f"{hidden}: can't be removed"):
        (hidden / "status.json").unlink(missing_ok=True)  # so much for MLflow
        shutil.rmtree(hidden)
    return gone
