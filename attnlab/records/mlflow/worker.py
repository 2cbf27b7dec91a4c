"""The one helper process in which all runs of this process are kept in MLflow."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable

from attnlab.records.mlflow.background import BackgroundProcess, Message

# What MLflow does unless the user's environment says otherwise: give up soon on a server that does
# not answer (its own default is four minutes), print nothing, report nothing to anyone.
QUIET_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_UV_AUTO_DETECT": "false",
}
_SECONDS_AT_EXIT = 2


class Worker:
    """A process that runs `tracking`; messages carry the number of their run.

    Raises:
        OSError: The process can't be started.
    """

    _current: Worker | None = None
    _lock = threading.RLock()

    def __init__(self) -> None:
        self._receivers: dict[int, Callable[[Message], None]] = {}
        self._over = False
        self._process = BackgroundProcess(
            "attnlab.records.mlflow.tracking",
            {**QUIET_ENVIRONMENT, **os.environ},
            self._message,
            self._ended,
        )

    @classmethod
    def current(cls) -> Worker:
        """The one that runs, or a new one."""
        with cls._lock:
            if cls._current is None or not cls._current._usable:
                cls._current = cls()
            return cls._current

    @property
    def _usable(self) -> bool:
        return self._process.alive and not self._over

    def add(self, number: int, receive: Callable[[Message], None]) -> None:
        """Have answers about a run given to `receive`, in another thread, up to one with `done`."""
        with self._lock:
            self._receivers[number] = receive
            if self._over:
                self._ended()

    def send(self, message: Message) -> None:
        """Send a message; at once, and without knowing whether it arrives."""
        self._process.send(message)

    def abandon(self) -> None:
        """Kill the process, which hangs; runs to come get another."""
        self._forget()
        self._process.close(timeout=0, kill=True)

    @classmethod
    def close_current(cls) -> None:
        """At the end of this process: let the other one end, after what it has still to do."""
        worker = cls._current
        if worker:
            worker._forget()
            worker._process.close(timeout=_SECONDS_AT_EXIT, kill=False)

    def _forget(self) -> None:
        with self._lock:
            if Worker._current is self:
                Worker._current = None

    def _message(self, message: Message) -> None:
        with self._lock:
            receive = self._receivers.get(message["run"])
            if "done" in message:
                self._receivers.pop(message["run"], None)
        if receive:
            receive(message)

    def _ended(self) -> None:
        with self._lock:
            self._over = True
            receivers, self._receivers = list(self._receivers.values()), {}
        for receive in receivers:
            receive({"problem": "its process ended", "done": True})


atexit.register(Worker.close_current)
