"""How a run keeps its copy in MLflow up to date, without ever waiting for it or failing by it.

A `Tracker` only tells a helper process, `attnlab.records.mlflow.helper`, that a folder has changed;
that one reads the folder. It imports MLflow while this process imports TensorFlow, and serves all
runs of this process. So training waits for MLflow nowhere but at its end, and there for a limited
time.
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
    """One folder's copy in MLflow. Whatever goes wrong there is a single warning, never an error.

    It is begun, or gone on with, at once. `run_id` is None as long as it isn't known.

    Args:
        uri: the tracking URI; see `settings.default_uri`. None keeps nothing.
        folder: of a run, or of a sweep.
        task: of a sweep the task in whose experiment its copy is made.
        resumed: whether there may be a copy, which a process began that was killed.
        timeout: for how many seconds `ended` may wait.
        on_run_id: called in another thread with the run id, as soon as it is known.
    """

    def __init__(
        self,
        uri: str | None,
        folder: Path,
        *,
        task: str | None = None,
        resumed: bool = False,
        timeout: float = 30.0,
        on_run_id: Callable[[str], None] | None = None,
    ) -> None:
        self.run_id: str | None = None
        self.number, self._timeout, self._on_run_id = next(_numbers), timeout, on_run_id
        self._helper: HelperProcess | None = None
        self._begun, self._told, self._done = (threading.Event() for _ in range(3))
        self._failed = self._has_ended = False
        if uri is None:
            return
        try:
            self._helper = HelperProcess.current(_MODULE, QUIET_ENVIRONMENT)
        except OSError as error:
            return self._problem(f"no process could be started for it: {error}")
        self._helper.add(self)
        place = {"uri": uri, "folder": str(Path(folder).absolute())}
        self._send("begin", **place, task=task, resumed=resumed)

    def wait_run_id(self, timeout: float) -> str | None:
        """The MLflow run id, once MLflow has made the run; None if that takes longer or failed."""
        if self._helper:
            self._begun.wait(timeout)
        return self.run_id

    def changed(self, much: bool = False) -> None:
        """The folder has something new, which may wait a while if it is not `much`."""
        if much or not self._told.is_set():  # else the helper has yet to look at the last change
            self._told.set()
            self._send("copy", much=much)

    def end(self, state: str) -> None:
        """The run has ended, or this process's part in it; may be called again in vain.

        The state is "running" where other processes go on with it.
        """
        if not self._has_ended:
            self._has_ended = True
            self._send("end", state=state)

    def ended(self, state: str) -> bool:
        """The same, and wait for MLflow; returns whether it has all."""
        self.end(state)
        if self._helper and not self._done.wait(self._timeout):
            self._problem(f"it was not done after {self._timeout:g} s")
            self._helper.abandon()
        _log.debug("MLflow: %s", "it lacks something" if self._failed else "it has all")
        return not self._failed

    def _send(self, do: str, **details: Any) -> None:
        if self._helper and not self._done.is_set():
            self._helper.send({"run": self.number, "do": do, **details})

    def receive(self, answer: Mapping[str, Any]) -> None:
        """Take what the helper process answers; runs in the reading thread."""
        if "problem" in answer:
            self._problem(answer["problem"])
        if "run_id" in answer:
            self.run_id = answer["run_id"]
            _log.debug("MLflow: run %s", self.run_id)
            try:
                if self._on_run_id:
                    self._on_run_id(answer["run_id"])
            except Exception as error:  # nobody could catch it in this thread
                _log.warning("the MLflow run id could not be kept: %s", error)
        if "looking" in answer:
            self._told.clear()
        else:
            self._begun.set()
        if "done" in answer:
            self._done.set()

    def _problem(self, what: str) -> None:
        """Warn, the first time."""
        if self._failed:
            return _log.debug("MLflow: %s", what)
        self._failed = True
        _log.warning(
            "MLflow lacks some or all of this run (%s); the run folder has all, and attnlab runs "
            "sync logs it again",
            what.removeprefix("MLflow: ").rstrip("."),
        )
