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
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from attnlab.records.mlflow.settings import QUIET_ENVIRONMENT

_SECONDS_AT_EXIT = 2
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
        self._helper: _Helper | None = None
        self._begun, self._told, self._done = (threading.Event() for _ in range(3))
        self._failed = self._has_ended = False
        if uri is None:
            return
        try:
            self._helper = _Helper.current()
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


class _Helper:
    """The process in which all folders of this process are copied; answers come in a thread."""

    _current: _Helper | None = None
    _lock = threading.RLock()

    def __init__(self) -> None:
        self._trackers: dict[int, Tracker] = {}
        self._owner, self._over = os.getpid(), False
        # `python -m` is to find this package, and not the working folder.
        paths = [str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH", "")]
        found = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONSAFEPATH": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "attnlab.records.mlflow.helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("ATTNLAB_DEBUG") == "1" else subprocess.DEVNULL,
            env={**QUIET_ENVIRONMENT, **os.environ, **found},
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout  # both pipes were asked for
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def current(cls) -> _Helper:
        """The one that runs and is of this process (after a fork it isn't), or a new one."""
        with cls._lock:
            helper = cls._current
            ours = helper is not None and helper._owner == os.getpid() and not helper._over
            if helper is None or not ours or helper._process.poll() is not None:
                cls._current = helper = cls()
            return helper

    def add(self, tracker: Tracker) -> None:
        """Have a tracker receive its answers, in another thread, up to one with `done`."""
        with self._lock:
            self._trackers[tracker.number] = tracker
            if self._over:
                self._end()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; at once, for never more than a few short ones are under way."""
        with suppress(OSError, ValueError):  # it has ended, which the reading thread reports
            self._stdin.write(json.dumps(message).encode() + b"\n")

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
            helper._stdin.close()
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
        with self._stdout as raw, os.fdopen(os.dup(raw.fileno()), "rb") as stream:
            for line in stream:
                answer = json.loads(line)
                with self._lock:
                    take = self._trackers.pop if "done" in answer else self._trackers.get
                    tracker = take(answer["run"], None)
                if tracker:
                    tracker.receive(answer)
        self._stdin.close()
        self._process.wait()
        self._end()

    def _end(self) -> None:
        with self._lock:
            self._over = True
            trackers, self._trackers = list(self._trackers.values()), {}
        for tracker in trackers:
            tracker.receive({"problem": "its process ended", "done": True})


atexit.register(_Helper.close_current)
