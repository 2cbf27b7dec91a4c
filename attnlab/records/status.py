"""status.json: how far a run is, and which process owns it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.lock import is_running, this_process

FORMAT = 1  # of a run folder; see docs/reference/run-folder.md
STATES = ("running", "completed", "failed", "killed")
_ADVICE = {
    "running": "wait until it is done",
    "failed": "see its run.log, and train it again",
    "killed": "attnlab resume goes on with it",
}


class Status:
    """The entries of a status.json, always replaced as a whole."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.RLock()  # the tracker's thread adds its run id

    def write(self, state: str | None = None, **changes: Any) -> None:
        """Change entries; the others stay, unless the file is damaged.

        The state "running" makes this process the owner.

        Raises:
            ValueError: `state` is none of `STATES`.
            OSError: The file can't be written.
        """
        if state not in (None, *STATES):
            raise ValueError(f"state: expected one of {', '.join(STATES)}, got {state!r}")
        with self._lock:
            try:
                status = files.read_json(self._path)
            except RequestError:
                status = {}
            if state is not None:
                status["state"] = state
            if state == "running":
                status.update(this_process())
            status.update(changes, updated=datetime.now(timezone.utc).isoformat())
            files.write_json(self._path, {"format": FORMAT, **status})

    def read(self) -> dict[str, Any]:
        """All entries; raises `RequestError` if it is missing, damaged or of another format."""
        status = files.read_json(self._path)
        if status.get("format") != FORMAT:
            raise RequestError(
                f"{self._path}: format: expected {FORMAT}, got {status.get('format')!r}: this "
                "version of attnlab can't read the run, so train it again."
            )
        if status.get("state") not in STATES:
            raise RequestError(
                f"{self._path}: damaged: state: expected one of {', '.join(STATES)}, "
                f"got {status.get('state')!r}."
            )
        if not isinstance(status.get("epoch", 0), int):
            raise RequestError(
                f"{self._path}: damaged: epoch: expected a whole number, got {status['epoch']!r}."
            )
        return status

    def state(self) -> str:
        """The run's state; "killed" also for one whose process has gone without a word."""
        return actual_state(self.read())

    def require_completed(self, otherwise: str = "") -> None:
        """Raise `RequestError` unless the run came to its end: it says its state and what to do.

        `otherwise` is added to that.
        """
        status = self.read()
        state = actual_state(status)
        if state != "completed":
            raise RequestError(
                f"RUN: expected a completed run, but {str(self._path.parent)!r} is {state} "
                f"(epoch {status.get('epoch', 0)}): {_ADVICE[state]}{otherwise}."
            )


def actual_state(status: Mapping[str, Any]) -> str:
    """The state in a status, "killed" where it says "running" but its process has gone."""
    state = status.get("state", "damaged")
    return "killed" if state == "running" and not is_running(status) else state


def shown_state(status: Mapping[str, Any]) -> str:
    """The state in the user's words: `pruned` where a search ended the run, not an accident."""
    state = actual_state(status)
    return "pruned" if state == "killed" and status.get("pruned") else state
