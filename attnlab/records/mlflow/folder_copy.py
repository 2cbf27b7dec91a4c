"""Copy a folder to MLflow: during its run, at its end, and later (`attnlab runs sync`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import explained
from attnlab.records import files
from attnlab.records.mlflow.copying import Copy
from attnlab.records.mlflow.snapshot import Snapshot, run_snapshot, sweep_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import flocked, hold


class FolderCopy:
    """The copy of a folder in a store; each `update` adds what the store lacks.

    Until `close`, other processes can't copy the folder of this run. A sweep's folder may be copied
    by several processes.

    Args:
        store: the store.
        folder: the folder of a run, or with `task` of a sweep.
        task: for a sweep, the task whose experiment gets the copy.
        on_run_id: called with the id of the MLflow run, before anything is copied.

    Raises:
        OSError: the copy can't be locked.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        task: str | None = None,
        *,
        on_run_id: Callable[[str], None] = lambda run_id: None,
    ):
        self.folder, self.task, self.is_new = folder, task, False  # is_new: the store had no copy
        self._store = store
        self._on_run_id = on_run_id
        self._copy: Copy | None = None
        self._lock = ExitStack()
        if task is None:
            self._lock.enter_context(_lock_of_copy(folder))

    def update(self, state: str | None = None) -> tuple[Snapshot, Copy, list[str]]:
        """Add what the store lacks.

        Args:
            state: the state of the run or sweep, if the caller knows it better than the files.

        Returns:
            The folder's snapshot, the copy, and what was added to it, in words.

        Raises:
            RequestError: the store or the folder can't be used; other parts are added
                nevertheless.
        """
        with self._store.explained():
            if self.task is None:
                # A run may have been killed, and completed by another process, since it was said
                # to be running.
                known = None if state == "running" else state
                snapshot = run_snapshot(RunDirectory(self.folder), known)
            else:
                snapshot = sweep_snapshot(self.folder, self.task, state)
            copy = self._copy = self._copy or self._begun(snapshot, state)
            return snapshot, copy, copy.add(snapshot)

    def _begun(self, snapshot: Snapshot, state: str | None) -> Copy:
        """Find the copy in the store, or make it."""
        # Files that change from now on are sent again even if their size stays the same.
        since = time.time_ns() if state == "running" else math.inf
        with nullcontext() if self.task is None else flocked(self.folder):
            copy = Copy.of(snapshot, self._store, since)
            self.is_new = not copy.run_id
            copy.begin(snapshot)
        self._on_run_id(copy.run_id)
        return copy

    def close(self) -> None:
        """Release the lock of the copy."""
        self._lock.close()


def _lock_of_copy(folder: Path) -> AbstractContextManager[None]:
    """Lock the copy of a run; the lock may outlast the run.

    A subfolder is locked, because a training process holds the lock of the folder itself.
    """
    inside = folder / "checkpoint"
    return flocked(inside) if inside.is_dir() else nullcontext()


class Synced(NamedTuple):
    """The result of `sync_run`."""

    run_id: str  # of the copy in MLflow
    is_new: bool  # whether the store had no copy
    added: list[str]  # what was added, in words
    missing: list[str]  # what the folder lacks, in sentences


def sync_run(run: RunDirectory, store: Store) -> Synced:
    """Copy a run that isn't running to a store.

    A copy that is deleted in MLflow is restored. The folder gets the id of the MLflow run if the
    store is the run's own.

    Raises:
        RequestError: the folder is damaged, a process is writing it, or the store can't be used.
    """
    with explained(f"{run.path}: can't be locked"), hold(run.path), ExitStack() as end:
        folder_copy = FolderCopy(store, run.path)
        end.callback(folder_copy.close)
        snapshot, copy, added = folder_copy.update()
        if snapshot.uri == store.uri:
            _keep_ids(snapshot, copy)
        return Synced(copy.run_id, folder_copy.is_new, added, snapshot.missing)


def _keep_ids(snapshot: Snapshot, copy: Copy) -> None:
    """Write the ids to the folders, without changing `updated` in status.json."""
    path = snapshot.folder / "status.json"
    if snapshot.run_id != copy.run_id:
        files.write_json(path, {**files.read_json(path), "mlflow_run_id": copy.run_id})
    if snapshot.sweep and (snapshot.sweep / "sweep.json").is_file():
        path = snapshot.sweep / "sweep.json"
        document = files.read_json(path)
        parents = {**document.get("parents", {}), snapshot.experiment: copy.parent_id}
        if document.get("parents") != parents:
            files.write_json(path, {**document, "parents": parents})
