"""Find the run that a command's RUN names, and the one that `latest` means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from attnlab.commands.options import runs_folder
from attnlab.config.options import options
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


def _require_kind(run: RunDirectory, kind: Kind) -> None:
    """Raise `RequestError` if a run is not of this kind."""
    own = kind_of_run(run)
    if own.name != kind.name:
        raise RequestError(
            f"RUN: expected a run of {kind.name}, but {run.path} is one of {own.name}: use "
            f"attnlab {own.predictions.command}."
        )


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
            raise RequestError(_a_setting(run))
        return find_run(run, folder)
    listed = list_runs(folder)
    if not listed:
        raise RequestError(
            f"RUN: latest: there are no runs in {str(folder)!r}. Train one, for example with "
            f"attnlab task=fib. Another folder of runs: {OTHER_FOLDER}."
        )
    for each in usable or (ANY,):
        if found := next(filter(each.fits, reversed(listed)), None):
            click.echo(f"attnlab: latest is {found.run.name}", err=True)
            return RunDirectory.open(found.run.path)
    wanted = " or ".join(dict.fromkeys(each.what for each in usable))
    raise RequestError(
        f"RUN: latest: expected {wanted} in {str(folder)!r}, which has {_counted(listed)}. Another "
        f"folder of runs: {OTHER_FOLDER}."
    )


def _a_setting(word: str) -> str:
    """Return the message for a setting in place of a run, as in `attnlab translate seed=1`."""
    context = click.get_current_context(silent=True)
    verb = str(context.info_name).split()[-1] if context else ""
    task = f"task={verb} " if verb in options("task") else ""
    return f"RUN: {word} is a setting, not a run. To train a run: attnlab {task}{word}"


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
        own = known_kind(entry.status["task"])
        is_of_kind = own is not None and (kind is None or own.name == kind.name)
        return is_of_kind and _has_weights(entry) and (_is_completed(entry) or not needs_best)

    def is_preferred(entry: ListedRun) -> bool:
        return fits(entry) and prefers(str(entry.status["task"]))

    of = f" of {kind.name}" if kind else ""
    what = f"{COMPLETED.what if needs_best else 'a run'}{of} with saved weights"
    found = find(run, runs, Usable(what, is_preferred), Usable(what, fits))
    if kind:
        _require_kind(found, kind)
    return found


def _counted(listed: Sequence[ListedRun]) -> str:
    """Count runs in words: `2 completed runs of forecasting, 1 failed run of translation`."""
    kinds = [known_kind(entry.status["task"]) for entry in listed]
    counts = Counter(
        (
            shown_state(entry.status),
            kind.name if kind else entry.status["task"],
            "" if entry.run.weights_epochs() else " without weights",
        )
        for entry, kind in zip(listed, kinds, strict=True)
    )
    return ", ".join(
        f"{count} {state} run{'s' * (count > 1)} of {name}{weights}"
        for (state, name, weights), count in counts.items()
    )
