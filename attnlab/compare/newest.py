"""Which runs `attnlab compare` is about if nobody says which: those of the newest sweep or task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attnlab.compare.selection import Filters
from attnlab.records.run_directory import ListedRun
from attnlab.records.status import shown_state
from attnlab.records.sweep_runs import is_of_study, newest_first, runs_of_sweep

_MOST_NAMED = 4
_ALL = "attnlab compare --all shows all"


class Chosen(NamedTuple):
    """Runs to compare, and sentences about those that are left out."""

    runs: list[ListedRun]
    left_out: list[str]


def choose_runs(listed: Sequence[ListedRun], filters: Filters) -> Chosen:
    """Choose by filters, and without any the newest sweep, or else the task of the newest run.

    Runs of studies are left out unless their sweep is named, or there are no others.

    Raises:
        RequestError: a filter can't be read, or names a key that no run has.
    """
    if not filters:
        return _newest(listed)
    fitting = filters.apply(listed)
    own = _without_studies(fitting)
    if filters.sweep is not None or not own or len(own) == len(fitting):
        return Chosen(fitting, [])
    return Chosen(own, [f"{_count(len(fitting) - len(own))} of studies: {_ALL}"])


def _newest(listed: Sequence[ListedRun]) -> Chosen:
    """Choose the runs of the newest sweep, or of the newest single run's task."""
    own = _without_studies(listed)
    sweeps = newest_first(listed)
    for sweep in sorted(sweeps, key=is_of_study):  # the order of equals stays
        if sweep is None:
            task = next(run.status["task"] for run in reversed(own) if not run.status.get("sweep"))
            found = [run for run in own if run.status["task"] == task]
            which = f"task {task}, which the newest run is of"
        else:
            found = runs_of_sweep(listed, sweep)
            which = f"sweep {sweep}, the newest"
        if any(shown_state(run.status) == "completed" for run in found):
            return Chosen(found, _left_out(listed, found, which))
    return Chosen([*listed], [])


def _left_out(listed: Sequence[ListedRun], found: Sequence[ListedRun], which: str) -> list[str]:
    if len(found) == len(listed):
        return []
    others = [run for run in listed if run not in found]
    own = _without_studies(others)
    tasks = dict.fromkeys(str(run.status["task"]) for run in reversed(own))
    options = [f"--task {task}" for task in [*tasks][:_MOST_NAMED]]
    words = " or ".join([*options, "--sweep NAME"] if options else ["--sweep NAME"])
    studies = len(others) - len(own)
    of_studies = f", {studies} of them of studies" if studies else ""
    return [f"{_count(len(others))} that are not of {which}{of_studies}: {_ALL}, {words} others"]


def _without_studies(runs: Sequence[ListedRun]) -> list[ListedRun]:
    return [run for run in runs if not is_of_study(run.status.get("sweep"))]


def _count(number: int) -> str:
    return f"{number} run{'s' * (number != 1)}"
