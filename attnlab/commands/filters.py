"""Options that choose runs, for every verb that is about some of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from attnlab.compare.selection import STATES, Filters, none_fits

__all__ = ["Filters", "filter_options", "none_fits"]

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


def filter_options(*names: str) -> Callable[[_Command], _Command]:
    """Give a click command these fields of `Filters`, or all, as the argument `filters`."""
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
