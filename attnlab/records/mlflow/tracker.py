"""Keep a run's copy in MLflow up to date without delaying the run, and without making it fail.

A `Tracker` notifies a helper process, `attnlab.records.mlflow.helper`, that a folder has changed.
The helper serves all runs of this process; it reads their folders and imports MLflow while this
process imports TensorFlow. A run waits for MLflow only at its end, and for a limited time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from attnlab.records.helper_process import HelperProcess
from attnlab.records.mlflow.settings import QUIET_ENVIRONMENT

_MODULE = "attnlab.records.mlflow.helper"
_log = logging.getLogger(__name__)
_numbers = count()


class Tracker:
    """Starts or continues the copy of one folder in MLflow.

    Problems with MLflow cause one warning, never an error. `run_id` is None until it is known.

    Args:
        uri: the tracking URI; see `settings.default_uri`. None: there is no copy.
        folder: of a run or of a sweep.
        task: for a sweep, the task whose experiment gets the copy.
        timeout: seconds that `ended` may wait.
        on_run_id: called in another thread with the MLflow run id, once it is known.
    """

    def __init__(
        self,
        uri: str | None,
        folder: Path,
        *,
        task: str | None = None,
        timeout: float = 30.0,
        on_run_id: Callable[[str], None] | None = None,
    ) -> None:
        self.run_id: str | None = None
        self.number, self._timeout, self._on_run_id = next(_numbers), timeout, on_run_id
        self._helper: HelperProcess | None = None
        self._answered, self._done = threading.Event(), threading.Event()
        self._failed = self._has_ended = False
        if uri is None:
            return
        place = {"uri": uri, "folder": str(Path(folder).absolute()), "task": task}
        self._place = {"run": self.number, **place}
        try:
            self._helper = HelperProcess.current(_MODULE, QUIET_ENVIRONMENT)
        except OSError as error:
            return self._problem(f"no process could be started for it: {error}")
        self._helper.add(self)
        self.changed()

    def wait_run_id(self, timeout: float) -> str | None:
        """Wait for the MLflow run id; None if MLflow needs longer than `timeout` or failed."""
        if self._helper:
            self._answered.wait(timeout)
        return self.run_id

    def changed(self, urgent: bool = False) -> None:
        """Report that the folder has changed; it is copied at once if `urgent`, else soon."""
        if not self._has_ended:
            self._look("running", urgent)

    def end(self, state: str) -> None:
        """Request the last copy of the folder; a second call does nothing.

        The state is "running" if other processes continue the run.
        """
        if not self._has_ended:
            self._has_ended = True
            self._look(state, last=True)

    def ended(self, state: str) -> bool:
        """End and wait for MLflow; returns whether the copy is complete."""
        self.end(state)
        if self._helper and not self._done.wait(self._timeout):
            self._problem(f"it was not done after {self._timeout:g} s")
            self._helper.abandon()
        _log.debug("MLflow: the copy is %s", "incomplete" if self._failed else "complete")
        return not self._failed

    def _look(self, state: str, urgent: bool = False, last: bool = False) -> None:
        if self._helper and not self._done.is_set():
            self._helper.send({**self._place, "state": state, "urgent": urgent, "last": last})

    def receive(self, answer: Mapping[str, Any]) -> None:
        """Receive an answer of the helper process; runs in the reading thread."""
        if "problem" in answer:
            self._problem(answer["problem"])
        if "run_id" in answer:
            self.run_id = answer["run_id"]
            _log.debug("MLflow: run %s", self.run_id)
            try:
                if self._on_run_id:
                    self._on_run_id(answer["run_id"])
            except Exception as error:  # nothing would catch it in this thread
                _log.warning("the MLflow run id could not be saved: %s", error)
        self._answered.set()
        if "done" in answer:
            self._done.set()

    def _problem(self, what: str) -> None:
        """Warn about the first problem; log the others."""
        if self._failed:
            return _log.debug("MLflow: %s", what)
        self._failed = True
        _log.warning(
            "MLflow's copy of this run is incomplete (%s); the run folder is complete, and attnlab "
            "runs sync copies it again",
            what.removeprefix("MLflow: ").rstrip("."),
        )
