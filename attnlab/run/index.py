"""The runs of a folder by the digest of their configuration, kept up to date cheaply."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, run_folders
from attnlab.records.status import actual_state

COMPLETED, RUNNING, KILLED, FAILED = "completed", "running", "killed", "failed"
PRUNED = "pruned"  # killed by a search
# Of several runs of one configuration the first state of these counts.
_ORDER = (COMPLETED, RUNNING, KILLED, FAILED)


class IndexedRun(NamedTuple):
    """A run, the digest of its configuration, and what its status.json said when it was read."""

    path: Path
    digest: str
    status: Mapping[str, Any]

    @property
    def noted_state(self) -> str:
        """The state in status.json, even if the run's process has gone."""
        state = self.status.get("state", "damaged")
        if state == COMPLETED and not (self.path / "metrics.json").is_file():
            return "damaged"  # half deleted
        return state

    @property
    def state(self) -> str:
        """The state, "killed" where the run's process has gone."""
        state = self.noted_state
        return actual_state(self.status) if state == RUNNING else state


class RunIndex:
    """Finds runs by digest. `refresh` reads only the status files that have changed."""

    def __init__(self, runs: Path):
        self._runs = Path(runs).absolute()
        self._read: dict[Path, tuple[tuple[int, int], IndexedRun]] = {}
        self._by_digest: dict[str, list[IndexedRun]] = {}

    def refresh(self) -> RunIndex:
        """Take in what has changed since the last time; returns itself."""
        known, read, changed = self._read, {}, False
        for folder in run_folders(self._runs):
            try:
                found = os.stat(folder / "status.json")
            except OSError:
                continue
            stamp = (found.st_mtime_ns, found.st_ino)
            entry = known.get(folder)
            if entry is None or entry[0] != stamp:
                entry, changed = (stamp, _read(folder)), True
            read[folder] = entry
        self._read = read
        if changed or len(read) < len(known):
            by_digest: dict[str, list[IndexedRun]] = {}  # in the order in which they began
            runs = [run for _, run in read.values()]
            for run in sorted(runs, key=lambda r: (str(r.status.get("started")), r.path.name)):
                by_digest.setdefault(run.digest, []).append(run)
            self._by_digest = by_digest  # at once, for another thread may look meanwhile
        return self

    def forget(self, digest: str) -> None:
        """Read the runs of a configuration again: network file systems report changes late."""
        for entry in self._by_digest.get(digest, []):
            self._read.pop(entry.path, None)

    def find(self, digest: str, noted: bool = False) -> IndexedRun | None:
        """The run of a configuration that counts; None where there is none.

        A completed one counts before one under way, and that before killed and failed ones; of
        equals the newest. `noted`: judge by `noted_state`, which asks for no process.
        """
        runs = self._by_digest.get(digest, [])
        newest = {run.noted_state if noted else run.state: run for run in runs}
        return next((newest[state] for state in _ORDER if state in newest), None)


def _read(folder: Path) -> IndexedRun:
    run = RunDirectory(folder)
    try:
        status = run.status.read()
        return IndexedRun(folder, str(status.get("config_hash")), status)
    except RequestError:
        return IndexedRun(folder, "", {"state": "damaged"})
