"""Adding to MLflow, years later, what it lacks of a run."""

from __future__ import annotations

from typing import NamedTuple

from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.lock import FolderLock
from attnlab.records.mlflow.copying import Copy, lock_of_copy
from attnlab.records.mlflow.snapshot import Snapshot, run_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory


class Synced(NamedTuple):
    """What was done for a run."""

    run_id: str  # of its copy in MLflow
    is_new: bool  # whether there was none
    added: list[str]  # what was added to it, in words; empty when nothing was lacking
    missing: list[str]  # what its folder lacks, in sentences


def sync_run(run: RunDirectory, store: Store) -> Synced:
    """Add what a store lacks of a run that is not under way.

    A run that MLflow counts among its deleted ones is brought back. The folder gets the id of the
    MLflow run, if the store is the one that the run itself would use. Raises `RequestError` where
    the folder is damaged, a process writes it, or the store fails.
    """
    locked = explained(f"{run.path}: can't be locked")
    with locked, FolderLock(run.path), lock_of_copy(run.path), store.explained():
        snapshot = run_snapshot(run)
        if snapshot.status == "RUNNING":
            raise RequestError(f"{run.path}: running: MLflow gets it from who runs it.")
        copy = Copy.of(snapshot, store)
        is_new = not copy.run_id
        added = copy.add(snapshot)
        if snapshot.uri == store.uri:
            _keep_ids(snapshot, copy)
        return Synced(copy.run_id, is_new, added, snapshot.missing)


def _keep_ids(snapshot: Snapshot, copy: Copy) -> None:
    """Write the ids to the folders; what status.json says goes on being of when it was updated."""
    path = snapshot.folder / "status.json"
    if snapshot.run_id != copy.run_id:
        files.write_json(path, {**files.read_json(path), "mlflow_run_id": copy.run_id})
    if snapshot.sweep and (snapshot.sweep / "sweep.json").is_file():
        path = snapshot.sweep / "sweep.json"
        document = files.read_json(path)
        parents = {**document.get("parents", {}), snapshot.experiment: copy.parent_id}
        if document.get("parents") != parents:
            files.write_json(path, {**document, "parents": parents})
