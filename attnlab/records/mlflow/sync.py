"""Logging run folders to MLflow again: what it has stays, what it lacks is added."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab import __version__
from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.lock import FolderLock
from attnlab.records.mlflow.parameters import flatten
from attnlab.records.mlflow.store import Store, own_uri
from attnlab.records.mlflow.tracked import TrackedRun, tracked_run
from attnlab.records.run_directory import RunDirectory

if TYPE_CHECKING:
    from mlflow.entities import Run

    from attnlab.records.mlflow.tracking import MlflowRun


class Synced(NamedTuple):
    """What was done for a run.

    Attributes:
        run_id: of its copy in MLflow.
        is_new: whether there was none.
        added: what was added to it, in words; empty when nothing was lacking.
        missing: what its folder lacks, in sentences.
    """

    run_id: str
    is_new: bool
    added: list[str]
    missing: list[str]


def sync_run(run: RunDirectory, store: Store) -> Synced:
    """Log what a store lacks of a run.

    A run that MLflow counts among its deleted ones is brought back. The folder's status.json gets
    the id of the run, if the store is the one that the run itself would use.

    Args:
        run: its folder, not under way.
        store: where to.

    Raises:
        RequestError: the folder is damaged, a process writes it, or the store fails.
    """
    tracked_run(run)  # a run under way has a lock that would be waited for
    try:
        with FolderLock(run.path), store.explained():
            return _sync(tracked_run(run), store)
    except OSError as error:
        raise RequestError(f"{run.path}: can't be locked ({error.strerror or error}).") from error


def _sync(tracked: TrackedRun, store: Store) -> Synced:
    run = tracked.run
    found = store.find(run.path, run.read_status().get("mlflow_run_id"), tracked.experiment)
    if found is not None and found.info.lifecycle_stage == "deleted":
        store.client.restore_run(found.info.run_id)
    lacking = _Lacking(tracked, store, found, _parent(tracked, store))
    run_id = lacking.log() if lacking or found is None else found.info.run_id
    if _is_own(tracked, store):
        _keep_run_id(run, run_id)
    return Synced(run_id, found is None, lacking.words(), tracked.missing)


class _Lacking:
    """What a store lacks of a run."""

    def __init__(
        self, tracked: TrackedRun, store: Store, found: Run | None, parent: str | None
    ) -> None:
        self._tracked, self._store, self._found = tracked, store, found
        tags = {**tracked.tags, **({"mlflow.parentRunId": parent} if parent else {})}
        data = found.data if found else None
        known = data.tags if data else {}
        self._tags = {key: value for key, value in tags.items() if known.get(key) != value}
        self._params = set(tracked.params) - set(data.params if data else ())
        self._metrics = sum(1 for _ in self._missing_metrics())
        self._files = {name: path for name, path in self._missing_files()}
        self._dataset = (
            tracked.dataset
            if not (found and found.inputs and found.inputs.dataset_inputs)
            else None
        )
        outputs = found.outputs.model_outputs if found and found.outputs else []
        self._model = tracked.model_epoch if not outputs else None
        self._ended = found is not None and found.info.status == tracked.status

    def __bool__(self) -> bool:
        return bool(self.words())

    def words(self) -> list[str]:
        """What is lacking, for people."""
        numbers = {
            "param": len(self._params),
            "tag": len(self._tags),
            "metric value": self._metrics,
            "file": len(self._files),
        }
        counted = [f"{n} {word}{'s' if n > 1 else ''}" for word, n in numbers.items() if n]
        rest = {"dataset": self._dataset, "model": self._model, "status": not self._ended}
        return [*counted, *(word for word, lacks in rest.items() if lacks)]

    def log(self) -> str:
        """Log it; returns the run's id."""
        tracked = self._tracked
        run = self._begin()
        run.tags(self._tags)
        for measured in tracked.measured:
            details = {"step": measured.step, "metrics": measured.metrics}
            run.handle("metrics", measured.time, details)
        run.flush()
        if self._dataset:
            run.dataset(**self._dataset)
        for name, path in self._files.items():
            run.artifacts([str(path)], name.rpartition("/")[0] or None)
        if self._model is not None:
            _log_model(run, tracked, self._model)
        self._store.client.set_terminated(run.run_id, tracked.status, tracked.ended)
        return run.run_id

    def _begin(self) -> MlflowRun:
        from attnlab.records.mlflow.tracking import MlflowRun

        tracked = self._tracked
        return MlflowRun(
            time=tracked.started,
            uri=self._store.uri,
            experiment=tracked.experiment,
            run_name=tracked.name,
            params=tracked.params,
            tags=self._tags,
            artifact_root=str(_artifact_root(tracked.run)),
            run_id=self._found.info.run_id if self._found else None,
        )

    def _missing_metrics(self) -> Iterator[tuple[str, int]]:
        known: dict[str, set[int]] = {}
        for measured in self._tracked.measured:
            for key in measured.metrics:
                if key not in known:
                    known[key] = self._steps(key)
                if measured.step not in known[key]:
                    yield key, measured.step

    def _steps(self, key: str) -> set[int]:
        if self._found is None or key not in self._found.data.metrics:
            return set()
        history = self._store.client.get_metric_history(self._found.info.run_id, key)
        return {metric.step for metric in history}

    def _missing_files(self) -> Iterator[tuple[str, Path]]:
        """Files that are not there, or there in another size."""
        sizes: dict[str, int | None] = {}
        if self._found is not None:
            folders = {name.rpartition("/")[0] for name in self._tracked.files}
            for folder in folders:
                there = self._store.client.list_artifacts(self._found.info.run_id, folder or None)
                sizes |= {entry.path: entry.file_size for entry in there if not entry.is_dir}
        for name, path in self._tracked.files.items():
            if sizes.get(name) != path.stat().st_size:
                yield name, path


def _parent(tracked: TrackedRun, store: Store) -> str | None:
    """The id of the run that stands for the sweep of a run; it is made again if it is gone."""
    if tracked.sweep is None:
        return None
    folder = tracked.run.path.parents[2] / "sweeps" / tracked.sweep
    document = _read_if_there(folder / "sweep.json")
    parents, task = document.get("parents", {}), tracked.experiment
    run_id = store.sweep_run(tracked.sweep, task, parents.get(task))
    run_id = run_id or _make_parent(tracked, store, folder, document)
    if document and parents.get(task) != run_id and _is_own(tracked, store):
        document["parents"] = {**parents, task: run_id}
        files.write_json(folder / "sweep.json", document)
    return run_id


def _make_parent(
    tracked: TrackedRun, store: Store, folder: Path, document: Mapping[str, Any]
) -> str:
    """Log a sweep again, as far as its folder tells."""
    from attnlab.records.mlflow.tracking import MlflowRun

    varying = {key: ", ".join(values) for key, values in document.get("varying", {}).items()}
    tags = {"attnlab.sweep": folder.name, "attnlab.kind": "sweep", "attnlab.folder": str(folder)}
    run = MlflowRun(
        time=tracked.started,
        uri=store.uri,
        experiment=tracked.experiment,
        run_name=folder.name,
        params=flatten({"varies": ", ".join(varying), **document.get("fixed", {}), **varying}),
        tags={**tags, "attnlab.command": " ".join(document.get("command", []))},
        artifact_root=str(_artifact_root(tracked.run)),
        run_id=None,
    )
    if (folder / "table.csv").is_file():
        run.artifacts([str(folder / "table.csv")], None)
    run.finish("FINISHED" if document.get("finished", True) else "KILLED")
    return run.run_id


def _log_model(run: MlflowRun, tracked: TrackedRun, epoch: int) -> None:
    """The best weights with all that `attnlab.run.loading` needs to load them."""
    folder, task = tracked.run, tracked.config["task"]
    example: dict[str, Any]
    output: dict[str, Any]
    if "data" in tracked.config:
        example = output = {"values": [""], "dtype": "object"}
    else:
        example = {"values": [[0.0] * task["history"]], "dtype": "float64"}
        output = {"values": [[0.0] * task.get("horizon", 1)], "dtype": "float64"}
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(folder.path / "config.yaml", scratch)
        shutil.copytree(folder.assets, Path(scratch, "assets"))
        shutil.copy(folder.weights_path(epoch), Path(scratch, "best.weights.h5"))
        requirements = [f"attnlab=={__version__}"]
        with _environment_kept():
            run.model(scratch, "model", "attnlab.run.loading", requirements, example, output, epoch)


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Undo what MLflow sets for child processes: other runs would take this store for theirs."""
    names = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID")
    before = {name: os.environ[name] for name in names if name in os.environ}
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


def _read_if_there(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except RequestError:
        return {}


def _is_own(tracked: TrackedRun, store: Store) -> bool:
    """Whether the run itself would use this store."""
    return own_uri(tracked.run.path, tracked.config) == store.uri


def _artifact_root(run: RunDirectory) -> Path:
    return run.path.parents[2] / "artifacts"


def _keep_run_id(run: RunDirectory, run_id: str) -> None:
    """Write the id to status.json, which goes on saying when the run itself last wrote it."""
    status = run.read_status()
    if status.get("mlflow_run_id") != run_id:
        files.write_json(run.path / "status.json", {**status, "mlflow_run_id": run_id})
