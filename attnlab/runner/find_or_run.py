"""The run of a configuration: a completed one is reused, a killed one resumed, else one starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from attnlab.config.sections import RunConfig
from attnlab.errors import Pruned, RunBusy, RunFailed, explained
from attnlab.records import logs
from attnlab.records.run_directory import ListedRun, RunDirectory, list_runs
from attnlab.runner import console, train
from attnlab.runner.building import import_tensorflow
from attnlab.runner.train import SweepMember

Result = TypeVar("Result")
COMPLETED, RUNNING, KILLED, FAILED = "completed", "running", "killed", "failed"
PRUNED = "pruned"  # stopped by a search
# If a configuration has several runs, the one with the first of these states counts.
_ORDER = (COMPLETED, RUNNING, KILLED, FAILED)


def run(
    config: RunConfig, sweep: SweepMember | None = None, *, wait: bool = True, quiet: bool = False
) -> Path:
    """Return the folder of a configuration's completed run, after training what is missing of it.

    A killed run is resumed. A failed one starts again, in a sweep only with `retry_failed`. While
    another process works on the configuration, this one waits.

    Args:
        config: The configuration.
        sweep: The sweep that the run belongs to; None prints the result.
        wait: Whether to wait for another process; otherwise `RunBusy` is raised.
        quiet: As in `train.run`.

    Raises:
        RunBusy: another process works on the run.
        RunFailed: the run failed, now or earlier.
        RequestError: a data file has changed since the command started, and as in `train.run`.
        Pruned, KeyboardInterrupt: as in `train.run` and `resume`.
    """
    config.require_same_files()
    runs = runs_folder(config)
    path, is_new = runs / ".locks" / config.digest[:32], not runs.exists()
    with explained(f"paths.runs: expected a folder that can be written, got {str(runs)!r}"):
        path.parent.mkdir(parents=True, exist_ok=True)
    what = "task={task} attention={attention} seed={seed}".format(**config.names)
    with only_here(FileLock(path), what, wait):
        try:
            return _run_alone(config, sweep, quiet)
        finally:
            with suppress(OSError):
                path.unlink()  # who waits for the deleted file locks a new one
                if [*runs.iterdir()] == [path.parent]:  # the request was refused
                    path.parent.rmdir()
                    if is_new:
                        runs.rmdir()


def _run_alone(config: RunConfig, sweep: SweepMember | None, quiet: bool) -> Path:
    match = find_run(config)
    if match is None or (match.state == FAILED and (sweep is None or sweep.retry_failed)):
        return train.run(config, sweep, quiet)
    if match.state == COMPLETED:
        if sweep is None and not quiet:
            if logs.verbosity >= 0:
                print("attnlab: this run was completed before", file=sys.stderr, flush=True)
            console.print_result(match.run.read_metrics(), match.path)
        return match.path
    if match.state == FAILED:
        raise RunFailed(str(match.status.get("error") or "it failed before"))
    if sweep and match.status.get("sweep") == sweep.name and match.status.get("pruned"):
        raise Pruned(str(match.status.get("error")).removeprefix("pruned: "))
    from attnlab.runner import resume

    devices = {"trainer.devices": str(config.trainer.devices)}
    return resume.resume(match.run, devices, sweep=sweep, quiet=quiet)


@contextmanager
def only_here(lock: FileLock, what: str, wait: bool = True) -> Iterator[None]:
    """Hold a lock; while another process holds it, report that once and wait.

    Without `wait`, raises `RunBusy` instead. The kernel releases the lock when a process ends.
    """
    try:
        lock.acquire(timeout=1.0 if wait else 0.0)
    except Timeout:
        if not wait:
            raise RunBusy(f"another process is running {what}.") from None
        if logs.verbosity >= 0:
            text = f"attnlab: another process is running {what}: waiting until it has ended"
            print(text, file=sys.stderr, flush=True)
        lock.acquire(timeout=-1)
    try:
        yield
    finally:
        lock.release()


def together(
    works: Sequence[Callable[[], Result]],
    alike: Sequence[str],
    threads: int,
    at_a_time: int | None = None,
) -> list[Result]:
    """Train runs together, in stacks where possible; see `training.stacking.StackScheduler`."""
    import_tensorflow()
    from attnlab.training.stacking import StackScheduler

    return StackScheduler(threads, at_a_time).run(works, alike)


def runs_folder(config: RunConfig) -> Path:
    """Return the absolute path of the folder of all runs."""
    return Path(config.paths.runs).expanduser().absolute()


def find_run(config: RunConfig) -> ListedRun | None:
    """Return the run of a configuration; of several, completed ones count first, then newer ones.

    A sweep calls this before each of its jobs, so only status files that have changed are read.
    """
    folder = runs_folder(config) / config.task.name / config.attention.name
    entries = []
    for path in folder.glob("[!.]*/status.json"):
        try:
            status = os.stat(path)
        except OSError:  # removed meanwhile
            continue
        entry = _read(path.parent, status.st_mtime_ns, status.st_ino)
        if entry.status.get("config_hash") == config.digest:
            entries.append(entry)
    return _that_counts(sorted(entries, key=lambda run: (str(run.status["started"]), run.path)))


@lru_cache(maxsize=10_000)
def _read(folder: Path, changed: int, inode: int) -> ListedRun:
    return ListedRun.of(RunDirectory(folder))


def runs_by_digest(runs: Path) -> dict[str, ListedRun]:
    """Map the digest of each configuration that has runs in a folder to the run that counts."""
    groups: dict[str, list[ListedRun]] = {}
    for entry in list_runs(runs):
        groups.setdefault(str(entry.status.get("config_hash")), []).append(entry)
    runs_that_count = ((digest, _that_counts(group)) for digest, group in groups.items())
    return {digest: entry for digest, entry in runs_that_count if entry}


def _that_counts(group: Sequence[ListedRun]) -> ListedRun | None:
    """Return the newest run of the first state in `_ORDER`, given the oldest run first."""
    intact = [run for run in reversed(group) if run.state in _ORDER]
    return min(intact, key=lambda run: _ORDER.index(run.state), default=None)
