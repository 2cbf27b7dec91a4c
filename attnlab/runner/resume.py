"""The run of a configuration: a completed one is reused, a killed one resumed, else one starts."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attnlab.config.options import failure
from attnlab.config.sections import RunConfig, stored_config
from attnlab.errors import CannotResume, Pruned, RequestError, RunBusy, RunFailed, explained
from attnlab.records import logs
from attnlab.records.files import Checkpoints
from attnlab.records.logs import logging_to
from attnlab.records.run_directory import (
    REPORT,
    SYNC,
    ListedRun,
    RunDirectory,
    hold,
    list_runs,
)
from attnlab.runner.console import print_result, screen
from attnlab.runner.train import (
    SweepMember,
    check_devices,
    make_task,
    prepare,
    train,
)
from attnlab.training.plan import depends_on_length

log = logging.getLogger("attnlab")
Follower = subprocess.Popen  # `runner.follow` in a process of its own
_followers: list[Follower[str]] = []  # referenced, because they outlive a command that fails
COMPLETED, RUNNING, KILLED, FAILED = "completed", "running", "killed", "failed"
PRUNED = "pruned"  # stopped by a search
# If a configuration has several runs, the one with the first of these states counts.
_ORDER = (COMPLETED, RUNNING, KILLED, FAILED)


def run(
    config: RunConfig, sweep: SweepMember | None = None, *, wait: bool = True, quiet: bool = False
) -> Path:
    """Return the folder of a configuration's completed run, after training what is missing of it.

    A killed run is resumed. A failed one starts again, in a sweep only with `retry_failed`. While
    another process works on the configuration, this one waits. A run of a sweep prints nothing, and
    the sweep makes its figures and its copy in MLflow.

    Args:
        config: The configuration.
        sweep: The sweep that the run belongs to; None prints the result.
        wait: Whether to wait for another process; otherwise `RunBusy` is raised.
        quiet: Whether the result is not printed.

    Raises:
        RunBusy: another process works on the run.
        RequestError: the settings don't fit the data, a data file has changed since the command
            started, or the runs folder can't be written. Nothing is left behind, except a failed
            run of a sweep.
        RunFailed: the loss was not finite, the result could not be written, or the run failed
            earlier.
        Pruned: the search stopped the run.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    config.require_same_files()
    with _alone(config, wait):
        match = find_run(config)
        if match is not None and match.state == COMPLETED:
            if sweep is None and not quiet:
                if logs.verbosity >= 0:
                    print("attnlab: this run was completed before", file=sys.stderr, flush=True)
                print_result(match.run.read_metrics(), match.path)
            return match.path
        if match is not None and match.state != FAILED:
            status = match.status
            if sweep and status.get("sweep") == sweep.name and status.get("pruned"):
                raise Pruned(str(status.get("error")).removeprefix("pruned: "))
            devices = {"trainer.devices": str(config.trainer.devices)}
            return resume(match.run, devices, sweep=sweep, quiet=quiet)
        if match is not None and sweep is not None and not sweep.retry_failed:
            raise RunFailed(str(match.status.get("error") or "it failed before"))

        def new_folder() -> RunDirectory:
            names = config.task.name, config.attention.name, config.seed
            entries = {"config_hash": config.digest, **_status_entries(config, sweep)}
            return RunDirectory.create(runs_folder(config), *names, config.document, **entries)

        started, follower = time.perf_counter(), None
        with screen(quiet=sweep is not None) as shown:
            try:
                task, data = prepare(config, shown)
            except Exception as error:
                if sweep is not None:  # its table shows the failed run
                    new_folder().status.write(FAILED, error=failure(error))
                raise
            folder = new_folder()
            with hold(folder.path):
                if sweep is None:
                    follower = start_following(folder.path)
                metrics = train(config, task, data, folder, shown, started, sweep)
        _finish(config, folder, metrics, follower, quiet or sweep is not None)
        return folder.path


@contextmanager
def _alone(config: RunConfig, wait: bool) -> Iterator[None]:
    """Run the body in one process at a time; if it leaves nothing, there is no folder of runs."""
    runs = runs_folder(config)
    path, is_new = runs / ".locks" / config.digest[:32], not runs.exists()
    with explained(f"paths.runs: expected a folder that can be written, got {str(runs)!r}"):
        path.parent.mkdir(parents=True, exist_ok=True)
    what = "task={task} attention={attention} seed={seed}".format(**config.names)
    with only_here(FileLock(path), what, wait):
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()  # who waits for the deleted file locks a new one
                if [*runs.iterdir()] == [path.parent]:
                    path.parent.rmdir()
                    if is_new:
                        runs.rmdir()


def resume(
    folder: RunDirectory,
    changes: Mapping[str, str] | None = None,
    *,
    sweep: SweepMember | None = None,
    quiet: bool = False,
) -> Path:
    """Continue a run, to the same bits as an uninterrupted run; returns its folder.

    A completed run doesn't change, unless `changes` set a larger `trainer.epochs`. Nothing is
    printed if it is `quiet`, and for a run of a sweep.

    Raises:
        RunBusy: another process writes the run.
        RequestError: its data have changed, `changes` contain another setting than
            `trainer.epochs` and `trainer.devices`, or a required file is missing or damaged.
        RunFailed, Pruned, KeyboardInterrupt: as in `run`.
    """
    from attnlab.runner.loading import load_data, require_saved

    started, follower = time.perf_counter(), None
    with hold(folder.path):
        status, runs = folder.status.read(), str(folder.path.parents[2])
        document = folder.read_config()
        config = stored_config(document, status, changes or {})
        epochs_before = document["trainer"]["epochs"]
        if runs_folder(config) != Path(runs):  # it was moved
            config = config.with_values({"paths.runs": runs})
        epochs, trained = config.trainer.epochs, status.get("epoch", 0)
        if epochs < epochs_before and epochs < trained:
            raise RequestError(
                f"trainer.epochs={epochs}: must be at least {trained}, the epochs trained so far."
            )
        earlier = status.get("earlier_epochs", [])
        if epochs != epochs_before and Checkpoints(folder.checkpoint).newest():
            # A run with all epochs from the start may have other learning rates. Also, the last
            # epoch is always scored, so the earlier last epoch has a score that the other skips.
            skips = config.task.settings.get("score_every", 1) > 1
            if skips or depends_on_length(config.schedule.name, config.schedule.settings):
                earlier = [*earlier, epochs_before]
        config, metrics = replace(config, earlier_epochs=earlier), _stored_metrics(folder)
        if metrics:
            require_saved(folder, [metrics["best_epoch"]])
        if sweep is None:
            follower = start_following(folder.path)
        if metrics is None or epochs != epochs_before:
            with screen(quiet=sweep is not None) as shown:
                task = make_task(config)
                check_devices(config)
                try:
                    data = load_data(config, task, folder, shown.working)
                except CannotResume as error:
                    if sweep is not None:  # `sweep.retry_failed` trains it again
                        folder.status.write(FAILED, error=failure(error))
                    raise
                folder.make_folders()
                (folder.path / REPORT).unlink(missing_ok=True)  # it shows the earlier result
                entries = _status_entries(config, sweep)
                folder.status.write(RUNNING, error=None, pruned=False, **entries)
                metrics = train(config, task, data, folder, shown, started, sweep, resumed=True)
    _finish(config, folder, metrics, follower, quiet or sweep is not None)
    return folder.path


def _status_entries(config: RunConfig, sweep: SweepMember | None) -> dict[str, Any]:
    """Return what status.json has of a run apart from its settings and its progress."""
    return {**config.beyond_settings, **({"sweep": sweep.name} if sweep else {})}


def _finish(
    config: RunConfig,
    folder: RunDirectory,
    metrics: Mapping[str, Any],
    follower: Follower[str] | None,
    quiet: bool,
) -> None:
    """Print the result, and wait for the figures and MLflow's copy of a completed run.

    Raises `RunFailed` if the result isn't on disk, even if it was printed.
    """
    if not quiet:
        print_result(metrics, folder.path)
    with logging_to(folder.path / "run.log"):
        wait_for(follower, config.tracking.timeout)
    if _stored_metrics(folder) is None:
        raise RunFailed(f"the result could not be written to {folder.path}")


def start_following(folder: Path) -> Follower[str] | None:
    """Start the process that draws the figures of a run or a sweep and copies it to MLflow.

    The caller holds the folder's lock: when it is released, the process does the rest and ends. A
    sweep's process follows all runs that name the sweep in their status. None: it can't be started.
    """
    try:
        follower = subprocess.Popen(
            [sys.executable, "-m", "attnlab", "runs", "sync", "--follow", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("ATTNLAB_DEBUG") == "1" else subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONSAFEPATH": "1"},  # no module of the working folder
            start_new_session=True,  # so that Ctrl-C in the terminal doesn't reach it
        )
    except OSError as error:
        log.warning("there are no figures, and MLflow has no copy (%s); %s", error, SYNC)
        return None
    _followers.append(follower)
    return follower


def wait_for(follower: Follower[str] | None, timeout: float) -> None:
    """Wait until figures and MLflow's copy are complete; a problem is a warning.

    After `timeout` seconds the process continues alone.
    """
    if follower is None:
        return
    try:
        problems, _ = follower.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        problems = (
            f"figures and MLflow's copy are not complete after {timeout:g} s; another process "
            f"continues, and {SYNC} if it can't"
        )
    if follower.returncode and not problems:
        problems = f"figures and MLflow's copy are incomplete, because their process died; {SYNC}"
    for problem in problems.splitlines():
        log.warning("%s", problem)


def _stored_metrics(folder: RunDirectory) -> dict[str, Any] | None:
    """Return the metrics.json of a completed run; None if it is missing or from fewer epochs.

    The disk may have been full when the run wrote its result.
    """
    with suppress(RequestError):
        status, metrics = folder.status.read(), folder.read_metrics()
        trained = status.get("epoch", 0)
        if status["state"] == COMPLETED and metrics.get("epochs", trained) >= trained:
            return metrics
    return None


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
        with suppress(OSError):  # removed meanwhile
            status = os.stat(path)
            entries.append(_read(path.parent, status.st_mtime_ns, status.st_ino))
    entries = [run for run in entries if run.status.get("config_hash") == config.digest]
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
