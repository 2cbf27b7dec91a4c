"""What a run uses to copy itself into MLflow, without ever waiting for it or failing by it.

A `Tracker` only sends messages to a helper process, which runs `attnlab.records.mlflow.tracking`.
That imports MLflow while this process imports TensorFlow, and serves all runs of this process. So
training waits for MLflow nowhere but at its end, and there for a limited time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.records.mlflow.background import Message
from attnlab.records.mlflow.parameters import flatten
from attnlab.records.mlflow.worker import Worker

if TYPE_CHECKING:
    import numpy as np

STATUSES = ("FINISHED", "FAILED", "KILLED", "RUNNING")
_log = logging.getLogger(__name__)
_numbers = count()


def default_uri(runs: Path) -> str:
    """The store to use: `$MLFLOW_TRACKING_URI`, else an SQLite file in the runs folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or store_uri(runs)


def store_uri(runs: Path) -> str:
    """The URI of the SQLite store in a runs folder."""
    return f"sqlite:///{(Path(runs).absolute() / 'mlflow.db').as_posix()}"


class NullTracker:
    """A tracker that keeps nothing; what `tracking.enabled=false` gives, and `Tracker`'s base."""

    run_id: str | None = None

    def wait_run_id(self, timeout: float) -> str | None:
        """The MLflow run id, once MLflow has made the run; None if that takes longer or failed."""
        return self.run_id

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log the metrics of one epoch.

        Args:
            step: The epoch.
            metrics: Name to value.
        """

    def log_artifacts(self, *paths: Path, folder: str | None = None) -> None:
        """Copy files, and folders with all in them, to the run.

        Args:
            *paths: What to copy; it is read later, so it should stay as it is.
            folder: Where among the run's artifacts it goes; None for the top.
        """

    def log_dataset(self, name: str, source: str, digest: str, counts: Mapping[str, int]) -> None:
        """Log the data as inputs of the run, one for each part.

        Args:
            name: Name of the data.
            source: Where it comes from, in words.
            digest: SHA-256 of the raw values, in hex.
            counts: Items by part: "train", "validation", "test" or another name.
        """

    def log_model(
        self,
        folder: Path,
        *,
        loader_module: str = "attnlab.run.loading",
        requirements: Sequence[str] = (),
        input_example: np.ndarray | None = None,
        output_example: np.ndarray | None = None,
        step: int = 0,
        name: str = "model",
    ) -> None:
        """Log a model that `mlflow.pyfunc.load_model` loads.

        Args:
            folder: Its data, handed to `_load_pyfunc(path)` of the loader module.
            loader_module: Module that loads it; must be importable where it is loaded.
            requirements: What pip would have to install; nothing is inferred.
            input_example: A batch of inputs; with it the model carries a signature.
            output_example: What the model predicts for it.
            step: The epoch whose weights these are.
            name: The model's name.
        """

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the run."""

    def finish(self, status: str) -> bool:
        """End the run in MLflow, after all that was logged before; may be called again in vain.

        Args:
            status: "FINISHED", "FAILED", "KILLED", or "RUNNING" where other processes go on
                with the run.

        Returns:
            Whether MLflow has everything.
        """
        return True


class Tracker(NullTracker):
    """One run's copy in MLflow. Whatever goes wrong there is a single warning, never an error."""

    def __init__(self, timeout: float, on_run_id: Callable[[str], None] | None):
        self.run_id = None
        self._number = next(_numbers)
        self._timeout = timeout
        self._on_run_id = on_run_id
        self._started = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._finished = False
        self._failed = False
        self._worker: Worker | None = None

    @classmethod
    def start(
        cls,
        uri: str,
        experiment: str,
        run_name: str,
        params: Mapping[str, Any],
        tags: Mapping[str, str],
        artifact_root: Path,
        *,
        timeout: float = 30.0,
        run_id: str | None = None,
        folder: Path | None = None,
        resumed: bool = False,
        on_run_id: Callable[[str], None] | None = None,
    ) -> Tracker:
        """Begin a run in MLflow, or go on with one; returns at once.

        Args:
            uri: The tracking URI; see `default_uri`.
            experiment: Name of the experiment; made if missing.
            run_name: Name of the run.
            params: The run's config, nested; see `parameters.flatten`.
            tags: Tags of the run.
            artifact_root: Where an SQLite store keeps the artifacts of its experiments.
            timeout: For how many seconds `finish` may wait.
            run_id: An MLflow run to go on with.
            folder: The run's folder, of which one process at a time may write the copy.
            resumed: Whether to look for a run of the tag `attnlab.folder` where there is no run
                id, as a process that was killed may have begun one.
            on_run_id: Called in another thread with the run id, as soon as it is known.
        """
        tracker = cls(timeout, on_run_id)
        try:
            tracker._worker = Worker.current()
        except OSError as error:
            tracker._problem(f"no process could be started for it: {error}")
            return tracker
        tracker._worker.add(tracker._number, tracker._receive)
        tracker._send(
            "start",
            uri=uri,
            experiment=experiment,
            run_name=run_name,
            params=flatten(params),
            tags={str(key): str(value) for key, value in tags.items()},
            artifact_root=str(Path(artifact_root).absolute()),
            run_id=run_id,
            folder=str(folder) if folder else None,
            resumed=resumed,
        )
        return tracker

    def wait_run_id(self, timeout: float) -> str | None:  # noqa: D102
        self._started.wait(timeout)
        return self.run_id

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:  # noqa: D102
        values = {name: float(value) for name, value in metrics.items()}
        self._send("metrics", step=int(step), metrics=values)

    def log_artifacts(self, *paths: Path, folder: str | None = None) -> None:  # noqa: D102
        self._send("artifacts", paths=[str(Path(path).absolute()) for path in paths], folder=folder)

    def log_dataset(  # noqa: D102
        self, name: str, source: str, digest: str, counts: Mapping[str, int]
    ) -> None:
        numbers = {part: int(number) for part, number in counts.items()}
        self._send("dataset", name=name, source=source, digest=digest, counts=numbers)

    def log_model(  # noqa: D102
        self,
        folder: Path,
        *,
        loader_module: str = "attnlab.run.loading",
        requirements: Sequence[str] = (),
        input_example: np.ndarray | None = None,
        output_example: np.ndarray | None = None,
        step: int = 0,
        name: str = "model",
    ) -> None:
        self._send(
            "model",
            folder=str(Path(folder).absolute()),
            name=name,
            loader_module=loader_module,
            requirements=list(requirements),
            input_example=_sendable(input_example),
            output_example=_sendable(output_example),
            step=int(step),
        )

    def set_tags(self, tags: Mapping[str, str]) -> None:  # noqa: D102
        self._send("tags", tags={str(key): str(value) for key, value in tags.items()})

    def finish(self, status: str) -> bool:  # noqa: D102
        if status not in STATUSES:
            raise ValueError(f"status: expected one of {', '.join(STATUSES)}, got {status!r}")
        if not self._finished:
            self._finished = True
            self._send("finish", status=status)
            if self._worker and not self._done.wait(self._timeout):
                self._problem(f"it was not done after {self._timeout:g} s")
                self._worker.abandon()
        return not self._failed

    def _send(self, do: str, **details: Any) -> None:
        if self._worker and not self._done.is_set():
            self._worker.send(
                {
                    "run": self._number,
                    "do": do,
                    "time": time.time_ns() // 1_000_000,
                    "with": details,
                }
            )

    def _receive(self, message: Message) -> None:
        """Take what the helper process answers; runs in the reading thread."""
        if "problem" in message:
            self._problem(message["problem"])
        if "run_id" in message:
            self.run_id = message["run_id"]
            self._tell_run_id()
        if "done" in message:
            self._done.set()
        self._started.set()

    def _tell_run_id(self) -> None:
        try:
            if self._on_run_id and self.run_id:
                self._on_run_id(self.run_id)
        except Exception as error:  # nobody could catch it in this thread
            _log.warning("the MLflow run id could not be kept: %s", error)

    def _problem(self, what: str) -> None:
        """Warn, the first time."""
        with self._lock:
            first, self._failed = not self._failed, True
        if first:
            reason = what.removeprefix("MLflow: ").rstrip(".")
            _log.warning(
                "MLflow lacks some or all of this run (%s); the run folder has all%s",
                reason,
                "" if "runs sync" in reason else ", and attnlab runs sync logs it again",
            )
        else:
            _log.debug("MLflow: %s", what)


def _sendable(array: Any) -> dict[str, Any] | None:
    if isinstance(array, dict):
        return array
    return None if array is None else {"values": array.tolist(), "dtype": str(array.dtype)}
