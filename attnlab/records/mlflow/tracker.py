"""How a run keeps its copy in MLflow up to date, without ever waiting for it or failing by it.

A `Tracker` only tells a helper process, `attnlab.records.mlflow.helper`, that a folder has changed;
that one reads the folder. It imports MLflow while this process imports TensorFlow, and serves all
runs of this process. So training waits for MLflow nowhere but at its end, and there for a limited
time.

Why a process and no thread: what it imports cannot meet TensorFlow's imports half-way, its Python
work takes no time from training, and when the training process is killed, the helper sees the pipe
close and can still put things in order.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

from attnlab.records.mlflow.settings import QUIET_ENVIRONMENT

_SECONDS_AT_EXIT = 2
_log = logging.getLogger(__name__)
_numbers = count()


class Tracker:
    """One folder's copy in MLflow. Whatever goes wrong there is a single warning, never an error.

    One that was not begun with `start` keeps nothing: what `tracking.enabled=false` gives. `run_id`
    is None as long as it isn't known.
    """

    def __init__(
        self, timeout: float = 0.0, on_run_id: Callable[[str], None] | None = None
    ) -> None:
        self.run_id: str | None = None
        self._number, self._timeout, self._on_run_id = next(_numbers), timeout, on_run_id
        self._helper: _Helper | None = None
        self._begun, self._told, self._done = (threading.Event() for _ in range(3))
        self._failed = self._has_ended = False

    @classmethod
    def start(
        cls,
        uri: str,
        folder: Path,
        *,
        task: str | None = None,
        resumed: bool = False,
        timeout: float = 30.0,
        on_run_id: Callable[[str], None] | None = None,
    ) -> Tracker:
        """Begin the copy of a folder, or go on with it; returns at once.

        Args:
            uri: the tracking URI; see `settings.default_uri`.
            folder: of a run, or of a sweep.
            task: of a sweep the task in whose experiment its copy is made.
            resumed: whether there may be a copy, which a process began that was killed.
            timeout: for how many seconds `ended` may wait.
            on_run_id: called in another thread with the run id, as soon as it is known.
        """
        tracker = cls(timeout, on_run_id)
        try:
            tracker._helper = _Helper.current()
        except OSError as error:
            tracker._problem(f"no process could be started for it: {error}")
            return tracker
        tracker._helper.add(tracker._number, tracker._receive)
        place = {"uri": uri, "folder": str(Path(folder).absolute())}
        tracker._send("begin", **place, task=task, resumed=resumed)
        return tracker

    def wait_run_id(self, timeout: float) -> str | None:
        """The MLflow run id, once MLflow has made the run; None if that takes longer or failed."""
        if self._helper:
            self._begun.wait(timeout)
        return self.run_id

    def changed(self) -> None:
        """The folder has something new."""
        if not self._told.is_set():  # else the helper has yet to look at the last change
            self._told.set()
            self._send("copy")

    def ended(self, state: str) -> bool:
        """The run has ended, or this process's part in it; may be called again in vain.

        The state is "running" where other processes go on with it. Returns whether MLflow has all.
        """
        if self._helper and not self._has_ended:
            self._has_ended = True
            self._send("end", state=state)
            if not self._done.wait(self._timeout):
                self._problem(f"it was not done after {self._timeout:g} s")
                self._helper.abandon()
        return not self._failed

    def _send(self, do: str, **details: Any) -> None:
        if self._helper and not self._done.is_set():
            self._helper.send({"run": self._number, "do": do, **details})

    def _receive(self, answer: Mapping[str, Any]) -> None:
        """Take what the helper process answers; runs in the reading thread."""
        if "problem" in answer:
            self._problem(answer["problem"])
        if "run_id" in answer:
            self.run_id = answer["run_id"]
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


class _Helper:
    """The process in which all folders of this process are copied; answers come in a thread."""

    _current: _Helper | None = None
    _lock = threading.RLock()

    def __init__(self) -> None:
        self._receivers: dict[int, Callable[[Mapping[str, Any]], None]] = {}
        self._owner, self._over = os.getpid(), False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "attnlab.records.mlflow.helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("ATTNLAB_DEBUG") == "1" else subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
            bufsize=0,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def current(cls) -> _Helper:
        """The one that runs and is of this process (after a fork it isn't), or a new one."""
        with cls._lock:
            helper = cls._current
            if helper is None or not helper._is_usable():
                cls._current = helper = cls()
            return helper

    def _is_usable(self) -> bool:
        return not self._over and self._owner == os.getpid() and self._process.poll() is None

    def add(self, number: int, receive: Callable[[Mapping[str, Any]], None]) -> None:
        """Have answers about a run given to `receive`, in another thread, up to one with `done`."""
        with self._lock:
            self._receivers[number] = receive
            if self._over:
                self._end()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; at once, for never more than a few short ones are under way."""
        try:
            _pipe(self._process.stdin).write(json.dumps(message).encode() + b"\n")
        except (OSError, ValueError):
            pass  # it has ended, which the reading thread reports

    def abandon(self) -> None:
        """Kill the process, which hangs; runs to come get another."""
        self._forget()
        self._process.kill()
        self._reader.join(timeout=1)

    @classmethod
    def close_current(cls) -> None:
        """At the end of this process: let the other one end, after what it has still to do."""
        helper = cls._current
        if helper and helper._owner == os.getpid():
            helper._forget()
            _pipe(helper._process.stdin).close()
            try:
                helper._process.wait(_SECONDS_AT_EXIT)
            except subprocess.TimeoutExpired:
                return
            helper._reader.join(timeout=1)

    def _forget(self) -> None:
        with self._lock:
            if _Helper._current is self:
                _Helper._current = None

    def _read(self) -> None:
        with _pipe(self._process.stdout) as raw, os.fdopen(os.dup(raw.fileno()), "rb") as stream:
            for line in stream:
                self._take(json.loads(line))
        _pipe(self._process.stdin).close()
        self._process.wait()
        self._end()

    def _take(self, answer: Mapping[str, Any]) -> None:
        with self._lock:
            receive = self._receivers.get(answer["run"])
            if "done" in answer:
                self._receivers.pop(answer["run"], None)
        if receive:
            receive(answer)

    def _end(self) -> None:
        with self._lock:
            self._over = True
            receivers, self._receivers = list(self._receivers.values()), {}
        for receive in receivers:
            receive({"problem": "its process ended", "done": True})


atexit.register(_Helper.close_current)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # both pipes were asked for
    return stream


def _environment() -> dict[str, str]:
    """An environment whose `python -m` finds this package and not the working folder."""
    paths = [str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH", "")]
    return {
        **QUIET_ENVIRONMENT,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONSAFEPATH": "1",
    }
