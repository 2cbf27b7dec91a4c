"""An MLflow store: make it, find its runs, and remove runs permanently."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from attnlab.errors import RequestError
from attnlab.records.mlflow import internals, settings
from attnlab.records.mlflow.internals import TAG, view
from attnlab.records.mlflow.settings import sqlite_path, without_password
from attnlab.records.mlflow.store_check import check_store
from attnlab.records.run_directory import RunDirectory

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

FOLDER_TAG = "attnlab.folder"
# With these tags the UI opens an experiment with its runs and charts.
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development", TAG: view(None)}


class Store:
    """An MLflow store that has been checked.

    A missing SQLite store is made if there is an `artifact_root`, the folder for its artifacts.
    With `writing` the store must be writable at once; without, it waits for other writers. Raises
    `RequestError` with a reason if the store is missing or can't be used.
    """

    def __init__(self, uri: str, artifact_root: Path | None = None, *, writing: bool = True):
        self.uri = uri
        self._artifact_root, self._shown = None, dict[str, str]()
        if artifact_root is not None and uri.startswith("sqlite:"):
            self._artifact_root = artifact_root.absolute()
        check_store(uri, writing=writing)
        with self.explained():
            # Make MLflow give up soon and print nothing.
            for name, value in settings.QUIET_ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            warnings.filterwarnings("ignore", module="mlflow")
            from mlflow.tracking import MlflowClient

            for name in ("mlflow", "alembic"):
                logging.getLogger(name).setLevel(logging.CRITICAL)

            if self._artifact_root:
                create_store(uri, self._artifact_root)
            self.client: MlflowClient = MlflowClient(uri)
            self.client.search_experiments(max_results=1)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of MLflow into a `RequestError` of one sentence."""
        try:
            yield
        except RequestError:
            raise
        except Exception as error:
            check_store(self.uri)  # it may be locked by now, which has its own message
            where = without_password(self.uri)
            raise RequestError(f"MLflow: {where}: {first_cause(error)}") from error

    def experiment(self, name: str) -> str:
        """Return the id of an experiment, made if missing and restored if deleted."""
        from mlflow.exceptions import MlflowException

        found = self.client.get_experiment_by_name(name)
        if found is None:
            location = (self._artifact_root / name).as_uri() if self._artifact_root else None
            try:
                return self.client.create_experiment(name, location, tags=_EXPERIMENT_TAGS)
            except MlflowException:
                found = self.client.get_experiment_by_name(name)  # another process has made it
                if found is None:
                    raise
        if found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        return found.experiment_id

    def show(self, experiment: str, metric: str) -> None:
        """Make the UI show a metric as a column of an experiment."""
        from mlflow.exceptions import MlflowException

        if self._shown.get(experiment) == metric:
            return
        self._shown[experiment] = metric
        found, wanted = self.client.get_experiment(self.experiment(experiment)), view(metric)
        if found.tags.get(TAG) != wanted:
            with suppress(MlflowException):  # another process sets the same tag
                self.client.set_experiment_tag(found.experiment_id, TAG, wanted)

    def find(
        self,
        folder: Path,
        run_id: str | None,
        experiment: str,
        tags: Mapping[str, str] | None = None,
    ) -> Run | None:
        """Return the MLflow run of a folder, even a deleted one; None if there is none.

        Args:
            folder: of a run or a sweep.
            run_id: the id in the folder. In a copied folder it belongs to the original folder's
                run, which is not returned.
            experiment: the experiment (named after the task) that is searched by tags.
            tags: the tags to search for; None: the tag with the folder.
        """
        with self.explained():
            run = self._get(run_id) if run_id else None
            if run is not None and not self._is_of_another(run, folder):
                return run
            tagged = self._search(experiment, tags or {FOLDER_TAG: str(folder)}, "=")
            return tagged[0] if tagged else self._moved(experiment, folder)

    def remove(self, run_id: str) -> bool:
        """Remove a run with its models and artifacts; returns whether all of it is gone.

        In a database it is removed permanently, as by `mlflow gc`. A server only marks the run as
        deleted, and keeps it with its artifacts until `mlflow gc` runs there.
        """
        with self.explained():
            run = self._get(run_id)
            if run is None:
                return True
            condition = f"source_run_id = '{run_id}'"
            logged = self.client.search_logged_models([run.info.experiment_id], condition)
            models = {model.model_id: model.artifact_location for model in logged}
            for model_id in models:
                self.client.delete_logged_model(model_id)
            if run.info.lifecycle_stage != "deleted":
                self.client.delete_run(run_id)
            database = internals.database(self.client)
            if database is None:
                return False
            for name, location in [*models.items(), (run_id, run.info.artifact_uri)]:
                self._remove_artifacts(location, name)
            internals.remove_run_for_good(database, run_id, list(models))
        return True

    def _is_of_another(self, run: Run, folder: Path) -> bool:
        """Return whether a run belongs to another existing folder that was copied to this one."""
        other = RunDirectory(Path(run.data.tags.get(FOLDER_TAG) or folder))
        with suppress(OSError, RequestError):
            if other.path != folder and not os.path.samefile(other.path, folder):
                its_id = other.status.read().get("mlflow_run_id")
                its_uri = settings.own_uri(other.path, other.read_config())
                return its_id == run.info.run_id and its_uri == self.uri
        return False

    def _get(self, run_id: str) -> Run | None:
        from mlflow.exceptions import MlflowException

        try:
            return self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                return None
            raise

    def _moved(self, experiment: str, folder: Path) -> Run | None:
        """Return the run of a folder that was moved together with its store."""
        if sqlite_path(self.uri) != folder.parents[2] / "mlflow.db":
            return None
        end = "/" + "/".join(folder.parts[-3:])
        for run in self._search(experiment, {FOLDER_TAG: f"%{end}"}, "LIKE"):
            if run.data.tags[FOLDER_TAG].endswith(end) and not self._is_of_another(run, folder):
                return run
        return None

    def _search(self, experiment: str, tags: Mapping[str, str], operator: str) -> Sequence[Run]:
        from mlflow.entities import ViewType

        found = self.client.get_experiment_by_name(experiment)
        if found is None or any("'" in value and '"' in value for value in tags.values()):
            return []
        quoted = {
            key: f'"{value}"' if "'" in value else f"'{value}'" for key, value in tags.items()
        }
        condition = " AND ".join(f"tags.`{key}` {operator} {quoted[key]}" for key in quoted)
        return self.client.search_runs([found.experiment_id], condition, ViewType.ALL)

    def _remove_artifacts(self, location: str, name: str) -> None:
        """Remove the artifacts of a run or a model, and their folder."""
        parts = urlsplit(location)
        if parts.scheme not in ("", "file"):
            return internals.remove_artifacts(location)
        folder = self._beside_store(Path(unquote(parts.path) if parts.scheme else location), name)
        if folder.exists():
            shutil.rmtree(folder.parent if folder.parent.name == name else folder)

    def _beside_store(self, folder: Path, name: str) -> Path:
        """Return the artifact folder next to the store, even if the store was moved or copied.

        A moved store still has the old paths, where the artifacts of the original may be.
        """
        store = sqlite_path(self.uri)
        root = store.parent.absolute() / "artifacts" if store else None
        if root is None or not root.is_dir() or root in folder.parents or name not in folder.parts:
            return folder
        first = folder.parts.index(name) - (2 if "models" in folder.parts else 1)
        return root.joinpath(*folder.parts[first:])


def create_store(uri: str, artifact_root: Path) -> None:
    """Make an SQLite store if there is none, even if other processes do so at the same time.

    MLflow needs a second of migrations to make one, and two processes would corrupt the file. So
    each process makes a temporary file, and the first one to finish puts it in place.
    """
    path = sqlite_path(uri)
    if path is None or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        internals.make_database(temporary, artifact_root)
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def first_cause(error: BaseException) -> str:
    """Return the message of an error's first cause, in one line, without passwords.

    The message of a `RequestError` is used as it is.
    """
    cause, said = error, str(error)
    while (cause.__cause__ or cause.__context__) and not isinstance(cause, RequestError):
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
        said = str(cause).strip() or said
    return without_password(" ".join(said.split()) or type(cause).__name__)[:300]
