"""The helper process that copies run folders to MLflow for the process that started it.

Each message is a `Look`. Answers have the sender's number of the run, and the id of its MLflow run,
a problem, or `done` after the last look. A problem doesn't affect the sender's run.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records.helper_process import messages
from attnlab.records.mlflow.folder_copy import FolderCopy
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory

_FAILURES_ALLOWED = 3
# After a look, the next one waits this many times as long as the look took.
_PAUSES_PER_LOOK = 20


class Look(NamedTuple):
    """A request to copy the changes of a folder."""

    run: int  # the sender's number for it
    uri: str  # of the store
    folder: str  # of a run or a sweep
    task: str | None  # for a sweep: the task whose experiment gets the copy
    state: str  # of the run or the sweep
    urgent: bool  # whether to copy at once
    last: bool  # whether the sender has finished with the folder


class Copies:
    """All copies of the helper; looks that aren't urgent are delayed if copying is slow."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], None]):
        self._answer = answer
        self._copies: dict[int, FolderCopy | None] = {}  # by run; None if the store can't be used
        self._failures = Counter[int]()
        self._put_off: dict[int, Look] = {}  # delayed looks, the oldest first
        self._next_look = 0.0

    def pause(self) -> float | None:
        """Return the seconds until `catch_up` should be called; None if no look is delayed."""
        return max(0.0, self._next_look - time.monotonic()) if self._put_off else None

    def catch_up(self) -> None:
        """Copy the folder whose look was delayed longest."""
        self.look(next(iter(self._put_off.values()))._replace(urgent=True))

    def look(self, look: Look) -> None:
        """Copy the changes of a folder, now or later."""
        started, is_first = time.monotonic(), look.run not in self._copies
        if started < self._next_look and not (look.urgent or look.last or is_first):
            self._put_off.setdefault(look.run, look)
            return
        self._put_off.pop(look.run, None)
        if look.last or self._failures[look.run] < _FAILURES_ALLOWED:
            self._update(look)
        if is_first and self._copies[look.run]:
            self._attempt(look.run, _import_what_models_need)  # now, because nothing is waiting
        elif not (is_first or look.last):
            ended = time.monotonic()
            self._next_look = ended + _PAUSES_PER_LOOK * (ended - started)
        if look.last:
            if copy := self._copies.pop(look.run):
                copy.close()
            self._answer({"run": look.run, "done": True})

    def orphaned(self) -> None:
        """Finish all copies after the process that wrote the folders was killed."""
        for run, copy in self._copies.items():
            if copy:
                state = "completed" if _is_completed(copy) else "killed"
                self._attempt(run, partial(copy.update, state))

    def _update(self, look: Look) -> None:
        if look.run not in self._copies:
            self._copies[look.run] = None
            self._attempt(look.run, partial(self._begin, look))
        if copy := self._copies[look.run]:
            self._attempt(look.run, partial(copy.update, look.state))

    def _begin(self, look: Look) -> None:
        folder = Path(look.folder)
        artifacts = folder.parents[1 if look.task else 2] / "artifacts"
        self._copies[look.run] = FolderCopy(
            Store(look.uri, artifacts, writing=False),
            folder,
            look.task,
            on_run_id=lambda run_id: self._answer({"run": look.run, "run_id": run_id}),
        )

    def _attempt(self, run: int, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self._failures[run] += 1
            self._answer({"run": run, "problem": str(error) or type(error).__name__})


def _import_what_models_need() -> None:
    import mlflow.pyfunc  # noqa: F401


def _is_completed(copy: FolderCopy) -> bool:
    """Return whether a run's folder says that the run is completed."""
    with suppress(RequestError):
        return copy.task is None and RunDirectory(copy.folder).status.state() == "completed"
    return False


def serve() -> None:
    """Handle messages until the process that started this one is gone; never returns."""
    received, answer = messages()
    copies, waiting = Copies(answer), queue.SimpleQueue[Look | None]()

    def read() -> None:
        for message in received:
            waiting.put(Look(**message))
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            look = waiting.get(timeout=copies.pause())
        except queue.Empty:
            copies.catch_up()
            continue
        if look is None:
            break
        copies.look(look)
    copies.orphaned()
    os._exit(0)  # exit hooks of libraries would make the other process wait


if __name__ == "__main__":
    serve()
