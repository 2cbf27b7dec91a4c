"""Remove a run's folder and its copy in MLflow, both or neither."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

from attnlab.errors import RequestError, RunBusy, explained
from attnlab.records.mlflow.settings import own_uri, sqlite_path
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import hold

# Prefixes of hidden names. They tell the process that finishes a removal what to remove.
_HIDDEN, _FOLDER_ONLY = ".removing-", ".removing-folder-"
_store = cache(Store)  # one for all runs, so that it is checked once


def remove_run(folder: Path, keep_mlflow: bool = False) -> bool:
    """Remove a run, even a damaged one; returns False if a server keeps it as deleted.

    The folder gets a hidden name first, so that it no longer counts as a run. Then MLflow's copy is
    removed, unless `keep_mlflow`, and then the folder. If MLflow fails, the folder gets its name
    back. If the process is killed in between, `finish_removals` removes the rest. Raises
    `RequestError` if a process is writing the run, or one of both can't be removed; then both stay.
    """
    hidden = folder.with_name((_FOLDER_ONLY if keep_mlflow else _HIDDEN) + folder.name)
    with hold(folder):
        copy = None if keep_mlflow else mlflow_copy(folder)
        with explained(f"{folder}: can't be removed"):
            folder.rename(hidden)  # the lock moves along
        return _remove_hidden(hidden, folder, copy)


def mlflow_copy(folder: Path, path: Path | None = None) -> tuple[Store, str] | None:
    """Return the store and the id of a run's copy in MLflow; None if it has none.

    `path` is the current path of a hidden folder. Raises `RequestError` if the store can't be used.
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
        if untracked:  # MLflow has never reported the run's id
            return None
        raise
    return (store, found.info.run_id) if found else None


def finish_removals(runs: Path) -> int:
    """Finish the removals whose process was killed; returns how many.

    MLflow's copies stay if the removal was to keep them. Raises `RequestError` if MLflow's copy
    can't be removed.
    """
    done = 0
    for hidden in sorted(runs.absolute().glob(f"*/*/{_HIDDEN}*")):
        with suppress(RunBusy), hold(hidden):  # or another process is finishing it
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
        hidden.rename(folder)
        raise
    with explained(f"{hidden}: can't be removed"):
        (hidden / "status.json").unlink(missing_ok=True)  # marks that MLflow's copy is removed
        shutil.rmtree(hidden)
    return gone
