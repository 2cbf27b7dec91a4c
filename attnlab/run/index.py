"""The runs of a folder by the digest of their configuration, kept up to date cheaply."""

from __future__ import annotations

import os
from pathlib import Path

from attnlab.records.run_directory import ListedRun, RunDirectory, run_folders

COMPLETED, RUNNING, KILLED, FAILED = "completed", "running", "killed", "failed"
PRUNED = "pruned"  # killed by a search
# Of several runs of one configuration the first state of these counts.
_ORDER = (COMPLETED, RUNNING, KILLED, FAILED)


class RunIndex:
    """Finds runs by digest. `refresh` reads only the status files that have changed."""

    def __init__(self, runs: Path):
        self._runs = Path(runs).absolute()
        self._read: dict[Path, tuple[tuple[int, int], ListedRun]] = {}
        self._by_digest: dict[str, list[ListedRun]] = {}

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
            by_digest: dict[str, list[ListedRun]] = {}  # in the order in which they began
            runs = [run for _, run in read.values()]
            for run in sorted(runs, key=lambda r: (str(r.status.get("started")), r.path.name)):
                by_digest.setdefault(str(run.status.get("config_hash")), []).append(run)
            self._by_digest = by_digest  # at once, for another thread may look meanwhile
        return self

    def forget(self, digest: str) -> None:
        """Read the runs of a configuration again: network file systems report changes late."""
        for entry in self._by_digest.get(digest, []):
            self._read.pop(entry.path, None)

    def find(self, digest: str, noted: bool = False) -> ListedRun | None:
        """The run of a configuration that counts; None where there is none.

        A completed one counts before one under way, and that before killed and failed ones; of
        equals the newest. `noted`: judge by `ListedRun.noted_state`, which asks for no process.
        """
        runs = self._by_digest.get(digest, [])
        newest = {run.noted_state if noted else run.state: run for run in runs}
        return next((newest[state] for state in _ORDER if state in newest), None)


def _read(folder: Path) -> ListedRun:
    return ListedRun.of(RunDirectory(folder))
