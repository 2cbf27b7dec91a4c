"""The helper process that keeps runs in MLflow. The only module that imports MLflow.

`attnlab.records.mlflow.tracker` starts it and sends it one message for each thing to log.
Everything that goes wrong is answered with a message and changes nothing for the sender.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.records.lock import flocked
from attnlab.records.mlflow.background import Message, serve
from attnlab.records.mlflow.store_check import check_store

if TYPE_CHECKING:
    import numpy as np
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

METRICS_AT_ONCE = 1000  # MLflow's limits for one call
PARAMS_AT_ONCE = 100
DIGEST_LENGTH = 36
FAILURES_ALLOWED = 3
ATTEMPTS = 4
# The UI opens such an experiment with its training runs and their charts.
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
CONTEXTS = {"train": "training", "validation": "validation", "test": "testing"}


class Recorder:
    """Keeps several runs at a time, told apart by the number in each message.

    Args:
        answer: Sends a message back: the run's number, and `run_id`, `problem` or `done`.
    """

    def __init__(self, answer: Callable[[Message], None]):
        self._answer = answer
        self._runs: dict[int, MlflowRun] = {}
        self._prepared = False

    def handle(self, message: Message) -> None:
        """Do what a message says: its `do` is the name of a method of `MlflowRun`, or "start"."""
        number, do, time, details = (message[key] for key in ("run", "do", "time", "with"))
        if do == "start":
            self._attempt(number, lambda: self._start(number, time, **details))
        elif number in self._runs:
            run = self._runs[number]
            if run.failures < FAILURES_ALLOWED or do == "finish":
                run.failures += not self._attempt(number, lambda: run.handle(do, time, details))
        if do == "finish":
            self._runs.pop(number, None)
            self._answer({"run": number, "done": True})

    def idle(self) -> None:
        """Send metrics on, and import now what logging a model will need."""
        for number, run in self._runs.items():
            run.failures += not self._attempt(number, run.flush)
        if self._runs and not self._prepared:
            self._prepared = True
            self._attempt(next(iter(self._runs)), _import_model_flavor)

    def orphaned(self) -> None:
        """Mark what was not finished as killed, for the process that ran it is gone."""
        for number, run in self._runs.items():
            self._attempt(number, partial(run.finish, "KILLED"))

    def _start(self, number: int, time: int, **details: Any) -> None:
        try:
            self._runs[number] = run = MlflowRun(time, **details)
        except Exception:
            check_store(details["uri"])  # may have a sentence for what is wrong
            raise
        self._answer({"run": number, "run_id": run.run_id})

    def _attempt(self, number: int, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:
            self._answer({"run": number, "problem": reason(error)})
            return False
        return True


class MlflowRun:
    """One run of an MLflow store.

    Args:
        time: When the run began, in milliseconds since 1970.
        uri: The tracking URI.
        experiment: Name of the experiment; made if missing.
        run_name: Name of the run.
        params: Flat parameters; those that an old run has already stay as they are.
        tags: Its tags.
        artifact_root: Folder of the artifacts of an SQLite store.
        run_id: The run to go on with, or None for a new one; one that is gone is made again.
        folder: The run's folder, or None. While this process has the run, others wait for it.
        resumed: Whether a run of this folder, begun by a process that was killed, is gone on with.

    Raises:
        Exception: Whatever MLflow raises, here and in the methods.
    """

    def __init__(
        self,
        time: int,
        uri: str,
        experiment: str,
        run_name: str,
        params: Mapping[str, str],
        tags: Mapping[str, str],
        artifact_root: str,
        run_id: str | None,
        folder: str | None = None,
        resumed: bool = False,
    ):
        from mlflow.tracking import MlflowClient

        self._locks = ExitStack()
        if folder:
            # Not the folder itself, by which its own lock is guarded.
            self._locks.enter_context(flocked(Path(folder) / "checkpoint"))

        root = Path(artifact_root) if uri.startswith("sqlite:") else None
        if root:
            create_store(uri, root)
        self._uri = uri
        self._client = MlflowClient(uri)
        self._experiment_id = experiment_id(self._client, experiment, root)
        self._pending: list[Metric] = []
        self.failures = 0
        known_id = self._existing(run_id) or (self._abandoned(tags) if resumed else None)
        self.run_id = known_id or self._create(time, run_name, tags)
        self._known: dict[str, set[int]] = {}
        if known_id:
            self._go_on(known_id, params, tags)
        else:
            self._log_params(params)

    def handle(self, do: str, time: int, details: Mapping[str, Any]) -> None:
        """Do what one message says; metrics wait until there is nothing else to read."""
        if do == "metrics":
            metrics = _metrics(time, **details)
            self._pending += [m for m in metrics if m.step not in self._known.get(m.key, ())]
            return
        try:
            self.flush()
        finally:
            getattr(self, do)(**details)

    def flush(self) -> None:
        """Log the metrics that wait, many epochs in one call where they came fast."""
        pending, self._pending = self._pending, []
        for start in range(0, len(pending), METRICS_AT_ONCE):
            self._client.log_batch(self.run_id, metrics=pending[start : start + METRICS_AT_ONCE])

    def tags(self, tags: Mapping[str, str]) -> None:
        """Set tags."""
        from mlflow.entities import RunTag

        self._client.log_batch(self.run_id, tags=[RunTag(*tag) for tag in tags.items()])

    def artifacts(self, paths: Iterable[str], folder: str | None) -> None:
        """Copy files and folders into the run's artifacts."""
        for path in map(Path, paths):
            if path.is_dir():
                inside = f"{folder}/{path.name}" if folder else path.name
                self._client.log_artifacts(self.run_id, str(path), inside)
            else:
                self._client.log_artifact(self.run_id, str(path), folder)

    def dataset(self, name: str, source: str, digest: str, counts: Mapping[str, int]) -> None:
        """Log an input for each part; MLflow keeps one context for a name and digest."""
        from mlflow.entities import Dataset, DatasetInput, InputTag
        from mlflow.exceptions import MlflowException

        origin = json.dumps({"tags": {"source": source, "sha256": digest}})
        inputs = [
            DatasetInput(
                Dataset(
                    name=f"{name}-{part}",
                    digest=digest[:DIGEST_LENGTH],
                    source_type="code",
                    source=origin,
                    profile=json.dumps({"num_rows": number}),
                ),
                tags=[InputTag("mlflow.data.context", CONTEXTS.get(part, part))],
            )
            for part, number in counts.items()
        ]
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._client.log_inputs(self.run_id, datasets=inputs)
            except MlflowException:
                # A run that logs the same data at the same moment was faster by a little.
                if attempt == ATTEMPTS:
                    raise

    def model(
        self,
        folder: str,
        name: str,
        loader_module: str,
        requirements: list[str],
        input_example: Mapping[str, Any] | None,
        output_example: Mapping[str, Any] | None,
        step: int,
    ) -> None:
        """Log a pyfunc model with a signature; nothing here loads it, which would take seconds."""
        import mlflow.pyfunc
        from mlflow.models import Model, infer_signature

        self._delete_models(name)

        inputs, outputs = _array(input_example), _array(output_example)
        mlflow.set_tracking_uri(self._uri)
        mlflow.set_experiment(experiment_id=self._experiment_id)
        # The signature is known; an example beside it would be tried out, which takes seconds.
        warnings.filterwarnings("ignore", message=".*input example was not provided")
        Model.log(
            artifact_path=None,
            name=name,
            run_id=self.run_id,
            step=step,
            flavor=mlflow.pyfunc,
            loader_module=loader_module,
            data_path=folder,
            pip_requirements=requirements,
            signature=None if inputs is None else infer_signature(inputs, outputs),
        )

    def finish(self, status: str) -> None:
        """Log what waits, and end the run."""
        try:
            self.flush()
        finally:
            self._client.set_terminated(self.run_id, status)
            self._locks.close()

    def _existing(self, run_id: str | None) -> str | None:
        """A run id that the store knows: it may have been made again since."""
        from mlflow.exceptions import MlflowException

        try:
            return self._client.get_run(run_id).info.run_id if run_id else None
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise

    def _abandoned(self, tags: Mapping[str, str]) -> str | None:
        """The run that a killed process began for this folder and could not tell of."""
        folder = tags.get("attnlab.folder", "")
        quote = '"' if "'" in folder else "'"
        condition = f"tags.`attnlab.folder` = {quote}{folder}{quote}"
        found = self._client.search_runs([self._experiment_id], condition, max_results=1)
        return found[0].info.run_id if found else None

    def _go_on(self, run_id: str, params: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Take a run up again: nothing that it has is logged a second time."""
        self._client.update_run(run_id, status="RUNNING")
        self.tags(tags)
        data = self._client.get_run(run_id).data
        for key in data.metrics:
            history = self._client.get_metric_history(run_id, key)
            self._known[key] = {metric.step for metric in history}
        self._log_params({key: value for key, value in params.items() if key not in data.params})

    def _delete_models(self, name: str) -> None:
        """Remove what an earlier process logged under that name, whole or not."""
        if self._known:
            condition = f"source_run_id = '{self.run_id}' AND name = '{name}'"
            for model in self._client.search_logged_models([self._experiment_id], condition):
                self._client.delete_logged_model(model.model_id)

    def _create(self, time: int, run_name: str, tags: Mapping[str, str]) -> str:
        named = {"mlflow.source.name": "attnlab", "mlflow.source.type": "LOCAL", **tags}
        run = self._client.create_run(
            self._experiment_id, start_time=time, tags=named, run_name=run_name
        )
        return run.info.run_id

    def _log_params(self, params: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        missing = [Param(key, value) for key, value in params.items()]
        for start in range(0, len(missing), PARAMS_AT_ONCE):
            self._client.log_batch(self.run_id, params=missing[start : start + PARAMS_AT_ONCE])


def create_store(uri: str, artifact_root: Path) -> None:
    """Make an SQLite store if there is none: whole or not at all, whoever else tries the same.

    Making one takes MLflow a second of migrations, and two processes at it spoil each other's
    work. So each makes its own beside the place, and the first to finish puts it there.

    Args:
        uri: `sqlite:///` and the path.
        artifact_root: Where the store's default experiment keeps artifacts.
    """
    path = Path(uri.removeprefix("sqlite:///").partition("?")[0])
    if not uri.startswith("sqlite:///") or path.exists():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        store = SqlAlchemyStore(f"sqlite:///{temporary.as_posix()}", artifact_root.as_uri())
        store.engine.dispose()
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)


def experiment_id(client: MlflowClient, name: str, artifact_root: Path | None) -> str:
    """The id of an experiment, which is made if missing and brought back if it was deleted."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        location = (artifact_root / name).as_uri() if artifact_root else None
        try:
            return client.create_experiment(name, location, tags=EXPERIMENT_TAGS)
        except MlflowException:
            found = client.get_experiment_by_name(name)  # another process was faster
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def reason(error: BaseException) -> str:
    """The first cause of an error in one line, without passwords; a clear sentence as it is."""
    while (error.__cause__ or error.__context__) and not isinstance(error, RequestError):
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"//[^/@\s]+@", "//", text)[:300]


def _metrics(time: int, step: int, metrics: Mapping[str, float]) -> list[Metric]:
    from mlflow.entities import Metric

    return [Metric(name, value, time, step) for name, value in metrics.items()]


def _array(example: Mapping[str, Any] | None) -> np.ndarray | None:
    import numpy as np

    return None if example is None else np.array(example["values"], dtype=example["dtype"])


def _import_model_flavor() -> None:
    import mlflow.pyfunc  # noqa: F401


if __name__ == "__main__":
    serve(Recorder)
