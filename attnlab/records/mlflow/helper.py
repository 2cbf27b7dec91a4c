"""The helper process, which copies the folders of the process that started it to MLflow.

Its messages have the number of a run and what to do: begin its copy, copy what is new, or copy all
and end it. Everything that goes wrong is answered with a message, and changes nothing for the
sender.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.helper_process import messages
from attnlab.records.lock import flocked
from attnlab.records.mlflow.copying import Copy, lock_of_copy
from attnlab.records.mlflow.snapshot import Snapshot, run_snapshot, sweep_snapshot
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory

_FAILURES_ALLOWED = 3
# Between two looks at what is new, so many times what the first one took.
_PAUSES_PER_LOOK = 20


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

    def is_done(self) -> bool:
        """Whether the folder says that its run came to its end."""
        with suppress(RequestError):
            return self._task is None and RunDirectory(self._folder).status.state() == "completed"
        return False

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
        self._next_look = 0.0
        self._passed_over: dict[int, None] = {}  # runs with something new, by how long

    def handle(self, run: int, do: str, **details: Any) -> None:
        """Do what a message says."""
        if do == "begin":
            self._attempt(run, lambda: self._begin(run, **details))
        elif do == "copy":
            self._answer({"run": run, "looking": True})
            self._look(run, **details)
        else:
            self._end(run, **details)
            self._answer({"run": run, "done": True})

    def pause(self) -> float | None:
        """Seconds until `look` is to be called; None while nothing is passed over."""
        return max(0.0, self._next_look - time.monotonic()) if self._passed_over else None

    def look(self) -> None:
        """Copy what is new of the run that was passed over first."""
        self._look(next(iter(self._passed_over)), much=True)

    def _look(self, run: int, much: bool) -> None:
        """Copy what is new; if it is not much, it may be passed over for a while."""
        copy, started = self._copies.get(run), time.monotonic()
        if not much and started < self._next_look:
            self._passed_over.setdefault(run)
            return
        self._passed_over.pop(run, None)
        if copy and copy.failures < _FAILURES_ALLOWED:
            copy.failures += not self._attempt(run, copy.update)
            ended = time.monotonic()
            self._next_look = ended + _PAUSES_PER_LOOK * (ended - started)

    def orphaned(self) -> None:
        """The process that ran them is gone: what was not done was killed."""
        for number, copy in list(self._copies.items()):
            self._end(number, "completed" if copy.is_done() else "killed")

    def _begin(self, number: int, **details: Any) -> None:
        self._copies[number] = copy = LiveCopy(**details)
        self._answer({"run": number, "run_id": copy.copy.run_id})
        copy.failures += not self._attempt(number, copy.update)
        import mlflow.pyfunc  # noqa: F401  (what logging a model needs, while nothing waits for it)

    def _end(self, number: int, state: str) -> None:
        copy = self._copies.pop(number, None)
        self._passed_over.pop(number, None)
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
    """Handle messages until the process that started this one is gone; never returns."""
    received, answer = messages()
    copies, waiting = Copies(answer), queue.SimpleQueue[dict[str, Any] | None]()

    def read() -> None:
        for message in received:
            waiting.put(message)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            message = waiting.get(timeout=copies.pause())
        except queue.Empty:
            copies.look()
            continue
        if message is None:
            break
        copies.handle(**message)
    copies.orphaned()
    os._exit(0)  # nothing is left to do, and library exit hooks must not hold up the other process


if __name__ == "__main__":
    serve()
