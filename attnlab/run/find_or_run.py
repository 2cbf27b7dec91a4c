"""The run of a configuration: found where there is one, and begun only where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from attnlab.config.sections import RunConfig
from attnlab.errors import CannotGoOn, Pruned, RunBusy, RunFailed
from attnlab.records.lock import flocked
from attnlab.records.run_directory import ListedRun
from attnlab.run import runner
from attnlab.run.building import import_tensorflow
from attnlab.run.index import COMPLETED, FAILED, RUNNING, RunIndex
from attnlab.run.loop import SweepMember
from attnlab.run.profile import spent
from attnlab.run.resume import resume

Result = TypeVar("Result")
# One for this process: a worker with many runs to make reads each of the others once.
_index = cache(RunIndex)


def run_once(config: RunConfig, sweep: SweepMember) -> Path:
    """Skip a run that is done, go on with one that was killed, begin one that is new.

    Raises:
        RunBusy: a process that lives is at it.
        RunFailed: it failed before, or now.
        RequestError: a file of the user's own has changed meanwhile, and as in `runner.run_in`.
        Pruned, KeyboardInterrupt: as in `runner.run_in` and `resume`.
    """
    config.require_same_files()
    folder = runs_folder(config) / config.task.name / config.attention.name
    folder.mkdir(parents=True, exist_ok=True)
    with flocked(folder):  # of two processes only one begins it
        found = find_run(config)
        state = found.state if found else None
        begin = found is None or (state == FAILED and found.path in sweep.retry_failed)
        ours = found is not None and found.status.get("sweep") == sweep.name
        searched = ours and sweep.on_epoch is not None
        begin = begin or (searched and state == RUNNING)  # two trials may be equal
        new = runner.new_folder(config, sweep) if begin else None
    if new is not None:
        return runner.run_in(new, config, sweep)
    assert found is not None
    if state == COMPLETED:
        return found.path
    if state == FAILED:
        raise RunFailed(str(found.status.get("error") or "it failed before"))
    if searched and found.status.get("pruned"):  # a trial that is equal, or was killed with others
        raise Pruned(str(found.status.get("error")).removeprefix("pruned: "))
    if state == RUNNING:
        raise RunBusy(f"{found.path}: process {found.status.get('pid')} is at it.")
    try:
        return resume(found.run, sweep=sweep)
    except CannotGoOn as error:  # that it is tried anew can be asked for
        found.run.status.write(FAILED, error=f"RequestError: {error}")
        raise


def together(
    works: Sequence[Callable[[], Result]],
    alike: Sequence[str],
    threads: int,
    at_a_time: int | None = None,
) -> list[Result]:
    """Do works that make runs, which train together; see `training.stacking.StackScheduler`."""
    import_tensorflow()
    from attnlab.training.stacking import StackScheduler

    with spent("jobs together"):
        return StackScheduler(threads, at_a_time).run(works, alike)


def find_run(config: RunConfig) -> ListedRun | None:
    """Return the run of a configuration in its present state; see `RunIndex.find`."""
    return _index(runs_folder(config)).refresh().find(config.digest)


def runs_folder(config: RunConfig) -> Path:
    """The folder of all runs, absolute."""
    return Path(config.paths.runs).expanduser().absolute()
