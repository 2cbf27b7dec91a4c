"""Copy a run folder to MLflow by adding what the store lacks; nothing is removed."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.records.environment import user
from attnlab.records.mlflow import internals
from attnlab.records.mlflow.description import MARK, NOTE
from attnlab.records.mlflow.model import save_model
from attnlab.records.mlflow.snapshot import Snapshot, sweep_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.status import flocked

if TYPE_CHECKING:
    from mlflow.entities import Run

_MODEL = "model"
_DIGEST_LENGTH = 36
_CONFIG = "config.yaml"  # a resumed run can change it without changing its size
_CONTEXTS = {"train": "training", "validation": "validation", "test": "testing"}
_SOURCE_TAGS = {"mlflow.source.name": "attnlab", "mlflow.source.type": "LOCAL"}
# MLflow accepts 1000 metrics, 100 params and 100 tags per call, at most 1000 altogether.
_METRICS_AT_ONCE, _AT_ONCE = 800, 100
_ATTEMPTS = 4


class Copy:
    """The MLflow run that is a copy of a folder; `add` may be called as often as needed.

    The store's content is read once and then remembered, so that an epoch costs one call. A file
    changed after `since` (nanoseconds since 1970) is sent again even if the store has a file of
    the same size. `run_id` is empty until the run is made; `parent_id` is the sweep's run.
    """

    def __init__(self, store: Store, found: Run | None = None, since: float = math.inf):
        self._store, self._client, self._since = store, store.client, since
        self.run_id: str = found.info.run_id if found else ""
        self.parent_id: str | None = None
        self._found, self._status = found, found.info.status if found else None
        self._params = set(found.data.params if found else ())
        self._tags = dict(found.data.tags if found else {})
        self._steps: dict[str, set[int]] = {}
        self._sizes: dict[str, dict[str, int | None]] = {}
        self._sent: dict[str, tuple[int, int]] = {}
        inputs, outputs = (found.inputs, found.outputs) if found else (None, None)
        self._has_dataset = bool(inputs and inputs.dataset_inputs)
        self._model_epochs = {model.step for model in (outputs.model_outputs if outputs else ())}

    @classmethod
    def of(cls, snapshot: Snapshot, store: Store, since: float = math.inf) -> Copy:
        """Return the copy of a folder in a store, restored if deleted, or a new one."""
        keys = ("attnlab.sweep", "attnlab.kind")  # tags of a sweep's own run
        tags = {key: snapshot.tags[key] for key in keys} if keys[1] in snapshot.tags else None
        found = store.find(snapshot.folder, snapshot.run_id, snapshot.experiment, tags)
        if found is not None and found.info.lifecycle_stage == "deleted":
            store.client.restore_run(found.info.run_id)
        return cls(store, found, since)

    def add(self, snapshot: Snapshot) -> list[str]:
        """Add what the store lacks; returns what was added, in words.

        Raises:
            Exception: the first error of MLflow; the other parts are added nevertheless.
        """
        self.begin(snapshot)
        added: list[str] = []
        problems: list[Exception] = []
        parts = self._add_values, self._add_files, self._add_dataset, self._add_model, self._show
        for add in (*parts, self._set_status):
            try:
                added += add(snapshot)
            except Exception as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return added

    def begin(self, snapshot: Snapshot) -> None:
        """Make the run if the store doesn't have it."""
        if self.run_id:
            return
        # A running run has no environment.json yet; its user is the user of this process.
        who = user() if snapshot.status == "RUNNING" else None
        self._tags = {**_SOURCE_TAGS, **({"mlflow.user": who} if who else {})}
        self._tags |= self._wanted_tags(snapshot)
        place = self._store.experiment(snapshot.experiment)
        run = self._client.create_run(place, snapshot.started, self._tags, snapshot.name)
        self.run_id, self._status = run.info.run_id, run.info.status

    def _wanted_tags(self, snapshot: Snapshot) -> Mapping[str, str]:
        if snapshot.sweep is None:
            return snapshot.tags
        self.parent_id = self.parent_id or _sweep_run(snapshot, self._store)
        return {**snapshot.tags, "mlflow.parentRunId": self.parent_id}

    def _show(self, snapshot: Snapshot) -> list[str]:
        if snapshot.reported:
            self._store.show(snapshot.experiment, snapshot.reported)
        return []

    # Params, tags, metrics

    def _add_values(self, snapshot: Snapshot) -> list[str]:
        from mlflow.entities import Metric, Param, RunTag

        wanted = self._wanted_tags(snapshot).items()
        tags = [RunTag(*item) for item in wanted if self._is_new_tag(*item)]
        params = [Param(*item) for item in snapshot.params.items() if item[0] not in self._params]
        metrics = [
            Metric(key, float(value), time, step)
            for step, time, numbers in snapshot.measured
            for key, value in numbers.items()
            if step not in self._known_steps(key)
        ]
        parts: Any = (metrics, _METRICS_AT_ONCE), (params, _AT_ONCE), (tags, _AT_ONCE)
        batches = ([part[n : n + most] for n in range(0, len(part), most)] for part, most in parts)
        for some_metrics, some_params, some_tags in zip_longest(*batches, fillvalue=()):
            self._client.log_batch(self.run_id, some_metrics, some_params, some_tags)
            for metric in some_metrics:
                self._steps[metric.key].add(metric.step)
            self._params |= {param.key for param in some_params}
            self._tags |= {tag.key: tag.value for tag in some_tags}
        counts = {"param": len(params), "tag": len(tags), "metric value": len(metrics)}
        return [_counted(number, word) for word, number in counts.items() if number]

    def _is_new_tag(self, key: str, value: str) -> bool:
        """Return whether to write a tag; a description edited by somebody is not overwritten."""
        if self._tags.get(key) == value:
            return False
        if key != NOTE:
            return True
        there = self._client.get_run(self.run_id).data.tags.get(key)  # it may have been edited
        return there != value and (not there or there.endswith(MARK))

    def _known_steps(self, key: str) -> set[int]:
        if key not in self._steps:
            has_some = self._found is not None and key in self._found.data.metrics
            history = self._client.get_metric_history(self.run_id, key) if has_some else ()
            self._steps[key] = {metric.step for metric in history}
        return self._steps[key]

    # Files

    def _add_files(self, snapshot: Snapshot) -> list[str]:
        sent = sum(self._add_file(name, path) for name, path in snapshot.files.items())
        return [_counted(sent, "file")] if sent else []

    def _add_file(self, name: str, path: Path) -> bool:
        """Send a file that the store lacks or has in another version; returns True if sent."""
        folder = name.rpartition("/")[0]
        try:
            size, changed = path.stat().st_size, path.stat().st_mtime_ns
            known = self._sent.get(name)
            if known is None and changed <= self._since and self._size(folder, name) == size:
                known = (size, changed) if name != _CONFIG or self._is_same(name, path) else None
            if known == (size, changed):
                return False
            self._client.log_artifact(self.run_id, str(path), folder or None)
        except FileNotFoundError:
            if path.exists():
                raise
            return False  # a resumed run has removed it
        self._sent[name] = size, changed
        return True

    def _is_same(self, name: str, path: Path) -> bool:
        """Return whether an artifact has the same content as a file."""
        with tempfile.TemporaryDirectory(prefix="attnlab-") as scratch:
            there = self._client.download_artifacts(self.run_id, name, scratch)
            return Path(there).read_bytes() == path.read_bytes()

    def _size(self, folder: str, name: str) -> int | None:
        """Return the size of an artifact; None if the run didn't have it when it was found."""
        if folder not in self._sizes:
            there = self._client.list_artifacts(self.run_id, folder or None) if self._found else ()
            self._sizes[folder] = {entry.path: entry.file_size for entry in there}
        return self._sizes[folder].get(name)

    # Data and model

    def _add_dataset(self, snapshot: Snapshot) -> list[str]:
        from mlflow.exceptions import MlflowException

        if snapshot.dataset is None or self._has_dataset:
            return []
        inputs = _dataset_inputs(**snapshot.dataset)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._client.log_inputs(self.run_id, datasets=inputs)
                break
            except MlflowException:
                # Another run is logging the same data at the same moment.
                if attempt == _ATTEMPTS:
                    raise
        self._has_dataset = True
        return ["dataset"]

    def _add_model(self, snapshot: Snapshot) -> list[str]:
        """Log the best weights as a model, unless the store has the model of that epoch.

        The run is linked to the model only after the model is complete.
        """
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus, Metric

        model, client = snapshot.model, self._client
        if model is None or model.epoch in self._model_epochs:
            return []
        experiment = self._store.experiment(snapshot.experiment)
        if self._found:  # it may have a model of another epoch, or an incomplete one
            condition = f"source_run_id = '{self.run_id}' AND name = '{_MODEL}'"
            for former in client.search_logged_models([experiment], condition):
                client.delete_logged_model(former.model_id)
        logged = client.create_logged_model(
            experiment, _MODEL, self.run_id, _SOURCE_TAGS, dict(snapshot.params)
        )
        location = logged.artifact_location
        description = internals.model_description(self.run_id, logged.model_id, location)
        with tempfile.TemporaryDirectory() as scratch:
            save_model(model, description, Path(scratch, "model"), Path(scratch, "data"))
            client.log_model_artifacts(logged.model_id, str(Path(scratch, "model")))
        client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
        metrics = [
            Metric(*values, model.epoch, model_id=logged.model_id, run_id=self.run_id)
            for values in self._logged_values(snapshot, model.epoch)
        ]
        client.log_batch(self.run_id, metrics=metrics)
        client.log_outputs(self.run_id, [LoggedModelOutput(logged.model_id, step=model.epoch)])
        self._model_epochs.add(model.epoch)
        return ["model"]

    def _logged_values(self, snapshot: Snapshot, epoch: int) -> list[tuple[str, float, int]]:
        """Return key, value and time of an epoch's metrics as the store has them.

        An epoch that was trained again after a kill has a new time. Metrics logged with the new
        time would be additional values of the run.
        """
        rows = [(time, numbers) for step, time, numbers in snapshot.measured if step == epoch]
        if self._found is None:
            return [(k, float(v), time) for time, numbers in rows for k, v in numbers.items()]
        keys = {key for _, numbers in rows for key in numbers}
        logged = [m for key in keys for m in self._client.get_metric_history(self.run_id, key)]
        return [(m.key, m.value, m.timestamp) for m in logged if m.step == epoch]

    def _set_status(self, snapshot: Snapshot) -> list[str]:
        if self._status == snapshot.status:
            return []
        if snapshot.status == "RUNNING":
            self._client.update_run(self.run_id, status="RUNNING")
        else:
            self._client.set_terminated(self.run_id, snapshot.status, snapshot.ended)
        self._status = snapshot.status
        return ["status"]


def _dataset_inputs(name: str, source: str, digest: str, counts: Mapping[str, int]) -> list[Any]:
    """Return an input per split, with its own name: MLflow stores one context per name."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    origin = json.dumps({"tags": {"source": source, "sha256": digest}})
    inputs = []
    for part, number in counts.items():
        rows, tag = json.dumps({"num_rows": number}), _CONTEXTS.get(part, part)
        data = Dataset(f"{name}-{part}", digest[:_DIGEST_LENGTH], "code", origin, profile=rows)
        inputs.append(DatasetInput(data, tags=[InputTag("mlflow.data.context", tag)]))
    return inputs


def _sweep_run(snapshot: Snapshot, store: Store) -> str:
    """Return the id of the MLflow run of a run's sweep, made if missing and updated if it ended."""
    folder = snapshot.sweep
    assert folder is not None
    state = "running" if snapshot.status == "RUNNING" else None
    with flocked(folder) if folder.is_dir() else nullcontext():
        sweep = sweep_snapshot(folder, snapshot.experiment, state)
        copy = Copy.of(sweep, store)
        ended = sweep.started and sweep.status in ("FINISHED", "FAILED")
        if not copy.run_id or ended:
            # If the sweep's folder is gone, the run's own times are used.
            begun, end = sweep.started or snapshot.started, sweep.ended or snapshot.ended
            copy.add(replace(sweep, started=begun, ended=end))
    return copy.run_id


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number > 1 else ''}"
