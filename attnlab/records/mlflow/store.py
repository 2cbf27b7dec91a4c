"""An MLflow store as the commands see it: which runs it has, and how one is removed for good."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

from attnlab.errors import RequestError
from attnlab.records.mlflow.store_check import check_store, shown, sqlite_path
from attnlab.records.mlflow.tracker import default_uri
from attnlab.records.mlflow.worker import QUIET_ENVIRONMENT
from attnlab.records.run_directory import RunDirectory

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

FOLDER_TAG = "attnlab.folder"


def own_uri(folder: Path, config: Mapping[str, Any]) -> str:
    """The tracking URI that a run in `folder` with this config uses."""
    tracking = config.get("tracking") or {}
    return tracking.get("uri") or default_uri(folder.parents[2])


class Store:
    """An MLflow store that was found fit for use.

    Args:
        uri: its tracking URI.
        artifact_root: where an SQLite store that is made here keeps artifacts; None to make none.

    Raises:
        RequestError: it is missing, can't be reached or can't be used; one sentence says why.
    """

    _shared: ClassVar[dict[str, Store]] = {}

    def __init__(self, uri: str, artifact_root: Path | None = None):
        self.uri = uri
        check_store(uri)
        with self.explained():
            _quiet()
            from mlflow.tracking import MlflowClient

            from attnlab.records.mlflow.tracking import create_store

            if artifact_root is not None:
                create_store(uri, artifact_root.absolute())
            self.client: MlflowClient = MlflowClient(uri)
            self.client.search_experiments(max_results=1)

    @staticmethod
    def exists(uri: str) -> bool:
        """Whether there is anything at a tracking URI; of a server that isn't asked."""
        path = sqlite_path(uri)
        return path is None or path.exists()

    @classmethod
    def shared(cls, uri: str) -> Store:
        """The one store object of this process for a URI, which is checked once."""
        if uri not in cls._shared:
            cls._shared[uri] = cls(uri)
        return cls._shared[uri]

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn whatever MLflow raises into one sentence.

        Raises:
            RequestError: something was raised.
        """
        try:
            yield
        except RequestError:
            raise
        except Exception as error:
            from attnlab.records.mlflow.tracking import reason

            check_store(self.uri)  # it may have been locked just now
            raise RequestError(f"MLflow: {shown(self.uri)}: {reason(error)}") from error

    def find(self, folder: Path, run_id: str | None, experiment: str | None) -> Run | None:
        """The run that a run folder was logged as, deleted ones too.

        Args:
            folder: the run's folder.
            run_id: what its status.json says; a copy of a folder says that of the original, which
                is another run's and not found.
            experiment: the name of its task, in whose experiment a run with the folder's tag is
                looked for; None to go by the id alone.
        """
        with self.explained():
            run = self._get(run_id) if run_id else None
            if run is not None and not self._is_of_another(run, folder):
                return run
            if experiment is None:
                return None
            found = self._tagged(experiment, {FOLDER_TAG: str(folder)})
            return found or self._moved(experiment, folder)

    def sweep_run(self, name: str, experiment: str, run_id: str | None) -> str | None:
        """The id of the run that stands for a sweep in an experiment; None if there is none.

        Args:
            name: the sweep's name.
            experiment: the experiment's name.
            run_id: what its folder says.
        """
        run = self._get(run_id) if run_id else None
        if run is None:
            tags = {"attnlab.sweep": name, "attnlab.kind": "sweep"}
            run = self._tagged(experiment, tags)
        if run is not None and run.info.lifecycle_stage == "deleted":
            self.client.restore_run(run.info.run_id)
        return run.info.run_id if run else None

    def remove(self, run_id: str) -> bool:
        """Remove a run, its models and its artifacts.

        In a database they are removed for good, as `mlflow gc` does. A server is asked to delete
        the run, which it keeps among its deleted ones, artifacts too, until `mlflow gc` runs there.

        Args:
            run_id: which; of a run that is gone already nothing is left to do.

        Returns:
            Whether nothing of it stays.
        """
        with self.explained():
            run = self._get(run_id)
            if run is None:
                return True
            models = self._models(run)
            for model_id, _ in models:
                self.client.delete_logged_model(model_id)
            if run.info.lifecycle_stage != "deleted":
                self.client.delete_run(run_id)
            backend = self._backend()
            if backend is None:
                return False
            for model_id, location in models:
                self._remove_artifacts(location, model_id)
                backend._hard_delete_logged_model(model_id)
            self._remove_artifacts(run.info.artifact_uri, run_id)
            backend._hard_delete_run(run_id)
        return True

    def _is_of_another(self, run: Run, folder: Path) -> bool:
        """Whether a run is that of another folder that is still there, a copy of which this is."""
        other = RunDirectory(Path(run.data.tags.get(FOLDER_TAG) or folder))
        try:
            if other.path == folder or os.path.samefile(other.path, folder):
                return False
            its_id = other.read_status().get("mlflow_run_id")
            return (
                its_id == run.info.run_id and own_uri(other.path, other.read_config()) == self.uri
            )
        except (OSError, RequestError):
            return False

    def _get(self, run_id: str) -> Run | None:
        from mlflow.exceptions import MlflowException

        try:
            return self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                return None
            raise

    def _tagged(self, experiment: str, tags: Mapping[str, str]) -> Run | None:
        """A run of an experiment with these tags, deleted ones too."""
        found = self._search(experiment, tags, "=")
        return found[0] if found else None

    def _moved(self, experiment: str, folder: Path) -> Run | None:
        """The run of a folder that lay elsewhere, store and all, when it was logged."""
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
        if found is None or any("'" in value for value in tags.values()):
            return []
        condition = " AND ".join(f"tags.`{key}` {operator} '{tags[key]}'" for key in tags)
        return self.client.search_runs([found.experiment_id], condition, ViewType.ALL)

    def _models(self, run: Run) -> list[tuple[str, str]]:
        """The id and the artifact location of each model that the run logged."""
        if not hasattr(self.client, "search_logged_models"):
            return []
        condition = f"source_run_id = '{run.info.run_id}'"
        found = self.client.search_logged_models([run.info.experiment_id], condition)
        return [(model.model_id, model.artifact_location) for model in found]

    def _remove_artifacts(self, location: str, name: str) -> None:
        """Remove the artifacts of a run or a model, with the folder of its own that has them."""
        parts = urlsplit(location)
        if parts.scheme not in ("", "file"):
            from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

            get_artifact_repository(location).delete_artifacts()
            return
        folder = self._beside(Path(unquote(parts.path) if parts.scheme else location), name)
        if folder.exists():
            shutil.rmtree(folder.parent if folder.parent.name == name else folder)

    def _beside(self, folder: Path, name: str) -> Path:
        """Where artifacts lie whose store was moved or copied: beside it, not where it was before.

        The store knows the old place, and what lies there may belong to the original.
        """
        store = sqlite_path(self.uri)
        root = store.parent.absolute() / "artifacts" if store else None
        if root is None or not root.is_dir() or root in folder.parents or name not in folder.parts:
            return folder
        first = folder.parts.index(name) - (2 if "models" in folder.parts else 1)
        return root.joinpath(*folder.parts[first:])

    def _backend(self) -> Any:
        """The store's database, where it can remove runs for good; None of a server."""
        backend = getattr(self.client._tracking_client, "store", None)
        able = all(
            hasattr(backend, name) for name in ("_hard_delete_run", "_hard_delete_logged_model")
        )
        return backend if able else None


def _quiet() -> None:
    """Let MLflow give up soon and say nothing but what the caller says."""
    for name, value in QUIET_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", module="mlflow")
    import mlflow  # noqa: F401

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
