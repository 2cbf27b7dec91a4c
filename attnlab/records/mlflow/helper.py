"""The helper process, which copies the folders of the process that started it to MLflow.

It reads messages from standard input, each a line of JSON with the number of a run and what to do:
begin its copy, copy what is new, or copy all and end it. Everything that goes wrong is answered
with a message and changes nothing for the sender.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from attnlab.records.lock import flocked
from attnlab.records.mlflow.copying import Copy, lock_of_copy
from attnlab.records.mlflow.snapshot import Snapshot, run_snapshot, sweep_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory

_FAILURES_ALLOWED = 3


class LiveCopy:
    """The copy of one folder that is being written.

    The folder is that of a run, which no other process may copy meanwhile, or with a `task` that of
    a sweep, whose copy is made in the task's experiment. `resumed`: there may be a copy. Raises
    `RequestError` where the store can't be used, or the folder is damaged.
    """

    def __init__(self, uri: str, folder: str, task: str | None, resumed: bool):
        self.failures = 0
        self._folder, self._task = Path(folder), task
        with ExitStack() as locks:
            locks.enter_context(flocked(self._folder) if task else lock_of_copy(self._folder))
            root = self._folder.parents[1 if task else 2] / "artifacts"
            self._store = Store(uri, root, writing=False)
            with self._store.explained():
                snapshot = self._snapshot("running")
                self.copy = Copy(self._store)
                if resumed:
                    self.copy = Copy.of(snapshot, self._store, since=time.time_ns())
                self.copy.begin(snapshot)
            self.locks = locks.pop_all()  # closed, they let other processes write the copy
        if task:  # several processes have a part in a sweep
            self.locks.close()

    def update(self, state: str = "running") -> None:
        """Add what is new; raises `RequestError` where the store or the folder fails."""
        with self._store.explained():
            self.copy.add(self._snapshot(state))

    def _snapshot(self, state: str) -> Snapshot:
        if self._task is None:
            return run_snapshot(RunDirectory(self._folder), state)
        return sweep_snapshot(self._folder, self._task, state)


class Copies:
    """Keeps several copies at a time, told apart by the number in each message.

    Answers have the run's number and `run_id`, `looking`, `problem` or `done`.
    """

    def __init__(self, answer: Callable[[Mapping[str, Any]], None]):
        self._answer = answer
        self._copies: dict[int, LiveCopy] = {}

    def handle(self, run: int, do: str, **details: Any) -> None:
        """Do what a message says."""
        if do == "begin":
            self._attempt(run, lambda: self._begin(run, **details))
        elif do == "copy":
            self._answer({"run": run, "looking": True})
            copy = self._copies.get(run)
            if copy and copy.failures < _FAILURES_ALLOWED:
                copy.failures += not self._attempt(run, copy.update)
        else:
            self._end(run, **details)
            self._answer({"run": run, "done": True})

    def orphaned(self) -> None:
        """The process that ran them is gone: what was not ended was killed."""
        for number in list(self._copies):
            self._end(number, "killed")

    def _begin(self, number: int, **details: Any) -> None:
        self._copies[number] = copy = LiveCopy(**details)
        self._answer({"run": number, "run_id": copy.copy.run_id})
        copy.failures += not self._attempt(number, copy.update)
        import mlflow.pyfunc  # noqa: F401  (what logging a model needs, while nothing waits for it)

    def _end(self, number: int, state: str) -> None:
        copy = self._copies.pop(number, None)
        if copy:
            self._attempt(number, lambda: copy.update(state))
            copy.locks.close()

    def _attempt(self, number: int, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:
            self._answer({"run": number, "problem": str(error) or type(error).__name__})
            return False
        return True


def serve() -> None:
    """Handle the messages of the process that started this one until it is gone; never returns.

    Standard output belongs to the answers: what else is printed goes to standard error. Signals
    that ask to end are left to the other process, whose end is the end of this one.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)  # where cores are few, the other process comes first
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def answer(message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # nobody listens any more
            answers.write(json.dumps(message).encode() + b"\n")

    copies = Copies(answer)
    for line in sys.stdin.buffer:
        if line.endswith(b"\n"):  # a line that was cut off came from a killed process
            copies.handle(**json.loads(line))
    copies.orphaned()
    os._exit(0)  # nothing is left to do, and library exit hooks must not hold up the other process


if __name__ == "__main__":
    serve()
