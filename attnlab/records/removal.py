"""Remove a run's folder, and mark its copy in MLflow as deleted."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from attnlab.errors import RequestError, explained
from attnlab.records.mlflow import connect, delete, own_uri, sqlite_path
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import hold

_HIDDEN = ".removing-"  # prefix of the name of a folder while its files are removed


def remove_run(folder: Path, keep_mlflow: bool = False) -> bool:
    """Remove a run, even a damaged one; returns whether MLflow had a copy of it.

    Raises:
        RequestError: A process is working on the run, or MLflow can't be reached, or the folder
            can't be removed. The folder stays, unless the last one was the reason.
    """
    with hold(folder):
        in_mlflow = not keep_mlflow and _delete_copy(folder)
        with explained(f"{folder}: can't be removed"):
            for killed in folder.parent.glob(f"{_HIDDEN}*"):  # of a process that was killed
                shutil.rmtree(killed, ignore_errors=True)
            # A hidden folder is no run, so that no command sees one with half of its files.
            shutil.rmtree(folder.rename(folder.with_name(_HIDDEN + folder.name)))
    return in_mlflow


def _delete_copy(folder: Path) -> bool:
    config = {}
    with suppress(RequestError):
        config = RunDirectory(folder).read_config()
    tracked = (config.get("tracking") or {}).get("enabled", True)
    uri = own_uri(folder, config)
    database = sqlite_path(uri)
    if not tracked or (database is not None and not database.exists()):
        return False
    return delete(folder, connect(uri, folder.parents[2]))
