"""Find the run that a command's RUN names, and the one that `latest` means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click

from attnlab.commands.options import runs_folder
from attnlab.errors import RequestError
from attnlab.records.run_directory import (
    OTHER_FOLDER,
    ListedRun,
    RunDirectory,
    find_run,
    list_runs,
)
from attnlab.records.status import shown_state
from attnlab.tasks.declaration import Kind
from attnlab.tasks.kinds import kind_of, known_kind


def kind_of_run(run: RunDirectory) -> Kind:
    """Return the kind of a run's task; raises `RequestError` if it isn't installed here."""
    return kind_of(run.read_task())


class Usable(NamedTuple):
    """Which runs a command can use; `latest` is the newest of them."""

    what: str  # in words, such as `a completed run`
    fits: Callable[[ListedRun], bool]  # whether a run is one


def _has_weights(entry: ListedRun) -> bool:
    return entry.status["state"] != "damaged" and bool(entry.run.weights_epochs())


def _is_completed(entry: ListedRun) -> bool:
    return shown_state(entry.status) == "completed"


def _can_continue(entry: ListedRun) -> bool:
    state = shown_state(entry.status)
    has_checkpoint = any(entry.run.checkpoint.glob("step_*.ckpt"))
    return state == "killed" or (state == "failed" and has_checkpoint)


ANY = Usable("a run", lambda entry: True)
COMPLETED = Usable("a completed run", _is_completed)
WITH_WEIGHTS = Usable("a run with saved weights", _has_weights)
INTERRUPTED = Usable("an interrupted run", _can_continue)
LONGER = Usable("a run to continue", lambda entry: _is_completed(entry) or _can_continue(entry))


def find(run: str, runs: str | Path | None, *usable: Usable) -> RunDirectory:
    """Find the run that RUN names; `latest` is the newest one that is usable.

    Args:
        run: The word that the user typed.
        runs: The folder of runs, such as the value of `--runs`; None: the default folder.
        *usable: The runs that the command can use, preferred ones first; by default `ANY`.

    Raises:
        RequestError: The run doesn't exist or is damaged.
    """
    folder = runs_folder(runs)
    if run != "latest":
        if "=" in run and not (folder / run).exists() and not Path(run).exists():
            raise RequestError(
                f"RUN: {run} is a setting, not a run. To train a run: attnlab task=NAME {run}"
            )
        return find_run(run, folder)
    listed = list_runs(folder)
    for choice in usable or (ANY,):
        if entry := next(filter(choice.fits, reversed(listed)), None):
            click.echo(f"attnlab: latest is {entry.run.name}", err=True)
            return RunDirectory.open(entry.run.path)
    what = " or ".join(dict.fromkeys(choice.what for choice in usable or (ANY,)))
    raise RequestError(
        f"RUN: latest: expected {what}, but there is none among the {len(listed)} runs in "
        f"{str(folder)!r}. Train one, for example with attnlab task=fib. Another folder of runs: "
        f"{OTHER_FOLDER}."
    )


def find_trained(
    run: str,
    runs: str | None,
    kind: Kind | None,
    epoch: str | None,
    average: int | None = None,
    prefers: Callable[[str], bool] = lambda task: True,
) -> RunDirectory:
    """Find the run that RUN names, for a command that loads its weights.

    Args:
        run: See `find`.
        runs: See `find`.
        kind: The kind of task that the run must have; None for any kind.
        epoch: Which weights, see `TrainedRun.load`. Only a completed run has a best epoch.
        average: How many epochs' weights are averaged, see `TrainedRun.load`.
        prefers: Tells, given the name of a task, whether `latest` prefers its runs.

    Raises:
        RequestError: The run doesn't exist, is damaged, or is of another kind.
    """
    needs_best = (epoch or ("last" if average else "best")) == "best"

    def fits(entry: ListedRun) -> bool:
        run_kind = known_kind(entry.status["task"])
        is_of_kind = run_kind is not None and (kind is None or run_kind.name == kind.name)
        return is_of_kind and _has_weights(entry) and (_is_completed(entry) or not needs_best)

    def is_preferred(entry: ListedRun) -> bool:
        return fits(entry) and prefers(str(entry.status["task"]))

    of = f" of {kind.name}" if kind else ""
    what = f"{COMPLETED.what if needs_best else 'a run'}{of} with saved weights"
    folder = find(run, runs, Usable(what, is_preferred), Usable(what, fits))
    if kind and (run_kind := kind_of_run(folder)).name != kind.name:
        raise RequestError(
            f"RUN: expected a run of {kind.name}, but {folder.path} is one of {run_kind.name}: use "
            f"attnlab {run_kind.predictions.command}."
        )
    return folder
