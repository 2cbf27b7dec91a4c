"""Which runs a command is about: `--task`, `--attention`, `--where`, `--state`, `--sweep`, ...

A run's config is read only where `--where` asks for it, so the other filters cost nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any, TypeVar

import click

from attnlab.compare.conditions import check_keys, fits, read_conditions, read_settings
from attnlab.config.rules import nearest
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.records.status import shown_state
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names

STATES = ("completed", "running", "failed", "killed", "pruned", "damaged")
_NOT_DONE = ("failed", "killed")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = {
    "tasks": click.option(
        "--task", "tasks", metavar="NAME", multiple=True, help="Runs of this task; may be repeated."
    ),
    "attentions": click.option(
        *("--attention", "attentions"),
        metavar="NAME",
        multiple=True,
        help="Runs with this mechanism; may be repeated.",
    ),
    "where": click.option(
        "--where",
        metavar="KEY=VALUE",
        multiple=True,
        help="Runs whose config has this value, as model.units=64 or seed=0,1 (either); "
        "may be repeated, and all must fit.",
    ),
    "states": click.option(
        "--state", "states", type=click.Choice(STATES), multiple=True, help="Runs in this state."
    ),
    "failed": click.option(
        "--failed", is_flag=True, help="Runs that came to no end: --state failed --state killed."
    ),
    "sweep": click.option("--sweep", metavar="NAME", help="Runs of this sweep."),
    "since": click.option(
        "--since",
        metavar="AGE",
        help="Runs that began at most this long ago, as 90m, 12h, 2d or 1w, or since 2026-01-31.",
    ),
}


@dataclass(frozen=True)
class Filters:
    """What a run must be to be meant; a field that is empty asks for nothing.

    Attributes:
        tasks: names of tasks, one of which it must have.
        attentions: names of mechanisms, one of which it must have.
        where: `key=value` with a key of the config; see `read_conditions`.
        states: of `STATES`.
        failed: `failed` and `killed` are meant too.
        sweep: name of its sweep.
        since: the greatest age, or a date.
    """

    tasks: tuple[str, ...] = ()
    attentions: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    failed: bool = False
    sweep: str | None = None
    since: str | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return any(getattr(self, field.name) for field in fields(self))

    def apply(self, entries: Iterable[ListedRun]) -> list[ListedRun]:
        """The entries that are meant, in their order.

        Raises:
            RequestError: A filter can't be read, or asks for a key that no run has.
        """
        conditions = read_conditions(self.where)
        found = [entry for entry in entries if self._fits(entry.status)]
        if self.sweep is not None:
            found = runs_of_sweep(found, self.sweep)
        return _with_values(found, conditions) if conditions and found else found

    def _fits(self, status: Mapping[str, Any]) -> bool:
        states = {*self.states, *(_NOT_DONE if self.failed else ())}
        return (
            (not self.tasks or status.get("task") in self.tasks)
            and (not self.attentions or status.get("attention") in self.attentions)
            and (self._earliest is None or _began(status) >= self._earliest)
            and (not states or shown_state(status) in states)
        )

    @functools.cached_property
    def _earliest(self) -> float | None:
        """Seconds since 1970 of the first moment that counts."""
        return None if self.since is None else _moment(self.since)


def filter_options(*names: str) -> Callable[[_Command], _Command]:
    """Give a click command filters, which it gets as the argument `filters`.

    Args:
        *names: fields of `Filters`; all of them when none is named.
    """
    chosen = names or tuple(_OPTIONS)

    def decorate(function: _Command) -> _Command:
        @functools.wraps(function)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            given = {name: options.pop(name) for name in chosen}
            return function(*arguments, filters=Filters(**given), **options)

        for name in reversed(chosen):
            wrapped = _OPTIONS[name](wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


def none_fits(filters: Filters, entries: Iterable[ListedRun]) -> str:
    """A sentence for a filter that leaves nothing over, with the nearest name there is."""
    entries = list(entries)
    statuses = [entry.status for entry in entries]
    for option, key, given in (
        ("--task", "task", filters.tasks),
        ("--attention", "attention", filters.attentions),
        ("--sweep", "sweep", (filters.sweep,) if filters.sweep else ()),
    ):
        names = sorted({str(status[key]) for status in statuses if status.get(key)})
        if key == "sweep":
            names = sweep_names(entries)
        unknown = [name for name in given if name not in names]
        if unknown:
            near = nearest(unknown[0], names)
            hint = f" Did you mean {near}?" if near else ""
            return f"{option}: none of the {len(statuses)} runs has {key} {unknown[0]}.{hint}"
    return f"None of the {len(statuses)} runs fits all filters."


def _with_values(entries: list[ListedRun], conditions: Mapping[str, str]) -> list[ListedRun]:
    """The entries whose config has all the values; a config that can't be read has none."""
    settings = [_settings(entry) for entry in entries]
    check_keys("--where", conditions, settings)
    return [entry for entry, own in zip(entries, settings, strict=True) if fits(own, conditions)]


def _settings(entry: ListedRun) -> Mapping[str, str]:
    try:
        return read_settings(entry.run)
    except RequestError:
        return {}


def _moment(text: str) -> float:
    """The moment that `--since` names, in seconds since 1970."""
    age = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    now = datetime.now(timezone.utc).timestamp()
    if age:
        return now - float(age[1]) * _SECONDS[age[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise RequestError(
            "--since: expected an age as 90m, 12h, 2d or 1w, or a date as 2026-01-31, "
            f"got {text!r}."
        ) from error


def _began(status: Mapping[str, Any]) -> float:
    """When a run began, in seconds since 1970."""
    try:
        return datetime.fromisoformat(str(status.get("started"))).timestamp()
    except ValueError:
        return 0.0
