"""The run of a configuration: an existing one is reused or resumed, else a new one starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from attnlab.config.sections import RunConfig
from attnlab.errors import Pruned, RunBusy, RunFailed
from attnlab.records.run_directory import ListedRun, RunDirectory, run_folders
from attnlab.records.status import flocked
from attnlab.run import runner
from attnlab.run.building import import_tensorflow
from attnlab.run.command import spent
from attnlab.run.loop import SweepMember
from attnlab.run.resume import resume

Result = TypeVar("Result")


def run_once(config: RunConfig, sweep: SweepMember) -> Path:
    """Skip a completed run, resume a killed one, or start a new one; returns the folder.

    Raises:
        RunBusy: another process is training the run.
        RunFailed: the run failed, now or earlier.
        RequestError: a data file has changed since the command started, and as in `runner.run_in`.
        Pruned, KeyboardInterrupt: as in `runner.run_in` and `resume`.
    """
    config.require_same_files()
    folder = runs_folder(config) / config.task.name / config.attention.name
    folder.mkdir(parents=True, exist_ok=True)
    with flocked(folder):  # only one process may start the run
        found = find_run(config)
        state = found.state if found else None
        begin = found is None or (state == FAILED and found.path in sweep.retry_failed)
        ours = found is not None and found.status.get("sweep") == sweep.name
        searched = ours and sweep.on_epoch is not None
        begin = begin or (searched and state == RUNNING)  # two trials may have equal values
        new = runner.new_folder(config, sweep) if begin else None
    if new is not None:
        return runner.run_in(new, config, sweep)
    assert found is not None
    if state == COMPLETED:
        return found.path
    if state == FAILED:
        raise RunFailed(str(found.status.get("error") or "it failed before"))
    if searched and found.status.get("pruned"):  # an equal trial was pruned
        raise Pruned(str(found.status.get("error")).removeprefix("pruned: "))
    if state == RUNNING:
        raise RunBusy(f"{found.path}: process {found.status.get('pid')} is training this run.")
    return resume(found.run, {"trainer.devices": str(config.trainer.devices)}, sweep=sweep)


def together(
    works: Sequence[Callable[[], Result]],
    alike: Sequence[str],
    threads: int,
    at_a_time: int | None = None,
) -> list[Result]:
    """Train runs together, in stacks where possible; see `training.stacking.StackScheduler`."""
    import_tensorflow()
    from attnlab.training.stacking import StackScheduler

    with spent("jobs together"):
        return StackScheduler(threads, at_a_time).run(works, alike)


def find_run(config: RunConfig) -> ListedRun | None:
    """Return the run of a configuration in its current state; see `RunIndex.find`."""
    return _index(runs_folder(config)).refresh(config.digest).find(config.digest)


def runs_folder(config: RunConfig) -> Path:
    """Return the absolute path of the folder of all runs."""
    return Path(config.paths.runs).expanduser().absolute()


COMPLETED, RUNNING, KILLED, FAILED = "completed", "running", "killed", "failed"
PRUNED = "pruned"  # stopped by a search
# If a configuration has several runs, the one with the first of these states counts.
_ORDER = (COMPLETED, RUNNING, KILLED, FAILED)


class RunIndex:
    """Finds runs by digest. `refresh` reads only the status files that have changed.

    A sweep looks before each job, so `refresh` for one digest asks the disk only about new folders
    and the runs of that digest.
    """

    def __init__(self, runs: Path):
        self._runs = Path(runs).absolute()
        self._read: dict[Path, tuple[tuple[int, int], ListedRun]] = {}
        self._by_digest: dict[str, list[ListedRun]] = {}

    def refresh(self, digest: str | None = None) -> RunIndex:
        """Read what has changed since the last call, of one digest or of all; returns itself."""
        known, read, changed = self._read, {}, False
        for folder in run_folders(self._runs):
            entry = known.get(folder)
            if digest and entry and entry[1].status.get("config_hash", digest) != digest:
                read[folder] = entry
                continue
            try:
                found = os.stat(folder / "status.json")
            except OSError:
                continue
            stamp = (found.st_mtime_ns, found.st_ino)
            if entry is None or entry[0] != stamp:
                entry, changed = (stamp, _read(folder)), True
            read[folder] = entry
        self._read = read
        if changed or len(read) < len(known):
            by_digest: dict[str, list[ListedRun]] = {}  # in the order in which the runs started
            runs = [run for _, run in read.values()]
            for run in sorted(runs, key=lambda r: (str(r.status.get("started")), r.path.name)):
                by_digest.setdefault(str(run.status.get("config_hash")), []).append(run)
            self._by_digest = by_digest  # in one assignment, because other threads read it
        return self

    def forget(self, digest: str) -> None:
        """Read the runs of a configuration again: network file systems report changes late."""
        for entry in self._by_digest.get(digest, []):
            self._read.pop(entry.path, None)

    def find(self, digest: str, noted: bool = False) -> ListedRun | None:
        """Return the run of a configuration; None if it has none.

        Of several, completed runs count first, then running, killed and failed ones; among equals
        the newest. With `noted` the state is `ListedRun.noted_state`, which checks no process.
        """
        runs = self._by_digest.get(digest, [])
        newest = {run.noted_state if noted else run.state: run for run in runs}
        return next((newest[state] for state in _ORDER if state in newest), None)


# One index for the process, so that a worker reads each run's status once, not for every job.
_index = cache(RunIndex)


def _read(folder: Path) -> ListedRun:
    return ListedRun.of(RunDirectory(folder))
