"""Copying a folder to MLflow: during its run, when it ends, and years later (`runs sync`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.mlflow.copying import Copy
from attnlab.records.mlflow.snapshot import Snapshot, run_snapshot, sweep_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import FolderLock, flocked


class FolderCopy:
    """The copy of a folder in a store: `update` adds what the store lacks, as often as you like.

    No other process may copy a run's folder until `close`; several have a part in a sweep's.

    Args:
        store: The store.
        folder: Of a run, or with a `task` of a sweep, whose copy is in that task's experiment.
        task: See `folder`.
        resumed: Whether the store may have a copy already.
        on_run_id: Called with the id of the MLflow run, before anything is copied.

    Raises:
        OSError: The copy can't be locked.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        task: str | None = None,
        *,
        resumed: bool = True,
        on_run_id: Callable[[str], None] = lambda run_id: None,
    ):
        self.folder, self.task, self.is_new = folder, task, False  # new: the store had no copy
        self._store = store
        self._resumed, self._on_run_id = resumed, on_run_id
        self._copy: Copy | None = None
        self._lock = ExitStack()
        if task is None:
            self._lock.enter_context(_lock_of_copy(folder))

    def update(self, state: str | None = None) -> tuple[Snapshot, Copy, list[str]]:
        """Add what the store lacks.

        Args:
            state: How the run or the sweep is, if that is better known than from its files.

        Returns:
            What the store should have; the copy; and what was added to it, in words.

        Raises:
            RequestError: The store or the folder fails; the parts that could be added are there.
        """
        with self._store.explained():
            if self.task is None:
                snapshot = run_snapshot(RunDirectory(self.folder), state)
            else:
                snapshot = sweep_snapshot(self.folder, self.task, state)
            copy = self._copy = self._copy or self._begun(snapshot, state)
            return snapshot, copy, copy.add(snapshot)

    def _begun(self, snapshot: Snapshot, state: str | None) -> Copy:
        """Find the copy in the store, or make it."""
        # What is written from now on may have changed without another size.
        since = time.time_ns() if state == "running" else math.inf
        with nullcontext() if self.task is None else flocked(self.folder):
            copy = Copy.of(snapshot, self._store, since) if self._resumed else Copy(self._store)
            self.is_new = not copy.run_id
            copy.begin(snapshot)
        self._on_run_id(copy.run_id)
        return copy

    def close(self) -> None:
        """Let other processes write the copy."""
        self._lock.close()


def _lock_of_copy(folder: Path) -> AbstractContextManager[None]:
    """Lock the copy of a run, also after the run itself has ended.

    The lock is inside the folder, because the folder itself guards the run's own lock.
    """
    inside = folder / "checkpoint"
    return flocked(inside) if inside.is_dir() else nullcontext()


class Synced(NamedTuple):
    """What was done for a run."""

    run_id: str  # of its copy in MLflow
    is_new: bool  # whether there was none
    added: list[str]  # what was added to it, in words; empty when nothing was lacking
    missing: list[str]  # what its folder lacks, in sentences


def sync_run(run: RunDirectory, store: Store) -> Synced:
    """Add what a store lacks of a run that is not under way.

    A run that MLflow counts among its deleted ones is brought back. The folder gets the id of the
    MLflow run, if the store is the one that the run itself would use.

    Raises:
        RequestError: The folder is damaged, a process writes it, or the store fails.
    """
    with explained(f"{run.path}: can't be locked"), FolderLock(run.path), ExitStack() as end:
        if run.status.state() == "running":
            raise RequestError(f"{run.path}: running: MLflow gets it from who runs it.")
        folder_copy = FolderCopy(store, run.path)
        end.callback(folder_copy.close)
        snapshot, copy, added = folder_copy.update()
        if snapshot.uri == store.uri:
            _keep_ids(snapshot, copy)
        return Synced(copy.run_id, folder_copy.is_new, added, snapshot.missing)


def _keep_ids(snapshot: Snapshot, copy: Copy) -> None:
    """Write the ids to the folders; `updated` in status.json stays as it is."""
    path = snapshot.folder / "status.json"
    if snapshot.run_id != copy.run_id:
        files.write_json(path, {**files.read_json(path), "mlflow_run_id": copy.run_id})
    if snapshot.sweep and (snapshot.sweep / "sweep.json").is_file():
        path = snapshot.sweep / "sweep.json"
        document = files.read_json(path)
        parents = {**document.get("parents", {}), snapshot.experiment: copy.parent_id}
        if document.get("parents") != parents:
            files.write_json(path, {**document, "parents": parents})
