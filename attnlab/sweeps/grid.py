"""A grid: all combinations of the values that the overrides of `-m` list."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException

from attnlab.config import composing as config
from attnlab.errors import RequestError

# Sections that don't change a run's result.
_OUTSIDE = ("sweep", "paths", "tracking")
_NAMED_KEYS, _NAMED_TASKS = 3, 2


@dataclass(frozen=True)
class Axis:
    """A key and its values."""

    key: str  # as typed, with Hydra's `+`, `++` or `~`
    overrides: tuple[str, ...]  # Hydra's override for each value
    swept: bool  # whether several values were typed

    @property
    def name(self) -> str:
        """Return the key without Hydra's signs."""
        return self.key.lstrip("+~")

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values, as in a table."""
        return tuple(shown(override) for override in self.overrides)

    @property
    def decisive(self) -> bool:
        """Whether a run's result depends on it."""
        return self.name.partition(".")[0] not in _OUTSIDE


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of some keys."""

    axes: tuple[Axis, ...]  # in the order as typed

    @classmethod
    def parse(cls, arguments: Iterable[str], loader: ConfigLoader) -> Grid:
        """Parse overrides as Hydra does: lists, `range()`, `glob()`, `choice()`, single values.

        `search.space={...}` and `search.space.KEY=...` add to the space of a preset.

        Raises:
            RequestError: A key has no value, has an interval, or has several values where only one
                is allowed.
        """
        words = [f"++{w}" if w.startswith("search.space") else w for w in arguments]
        axes = {axis.key: axis for axis in map(_axis, parse(words, loader))}
        return cls(tuple(axes.values()))

    @property
    def varying(self) -> tuple[Axis, ...]:
        """Return the axes along which jobs differ."""
        return tuple(axis for axis in self.axes if axis.swept)

    def points(self) -> list[tuple[str, ...]]:
        """List the overrides of each job; the last key varies fastest."""
        return list(itertools.product(*(axis.overrides for axis in self.axes)))

    def default_name(self, task: str) -> str:
        """Name a sweep by its tasks, its varying keys, and part of a hash.

        The same command gets the same name, with any `search.trials`. `task` is the task of the
        first job; it isn't used if `experiment` varies, because presets may have other tasks.
        """
        decisive = sorted(
            (axis.key, sorted(axis.overrides), axis.swept)
            for axis in self.axes
            if axis.decisive and axis.name != "search.trials"
        )
        digest = hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]
        varying = {axis.name: axis.values for axis in self.varying}
        tasks = varying.pop("task", () if "experiment" in varying else (task,))
        tasks = tasks if len(tasks) <= _NAMED_TASKS else (f"{len(tasks)}_tasks",)
        keys = [name for name in varying if name != "seed"] or [*varying]
        words = [name.rpartition(".")[2] for name in keys[:_NAMED_KEYS]]
        search = [axis.values[0] for axis in self.axes if axis.name == "search"][:1]
        return "-".join([*tasks, *search, *words, digest])


def parse(words: list[str], loader: ConfigLoader) -> list[Override]:
    """Parse words as Hydra's overrides; raises `RequestError` if a word isn't one."""
    try:
        return OverridesParser.create(config_loader=loader).parse_overrides(words)
    except OverrideParseException as error:
        if found := re.fullmatch(r"(.*?)=(choice\(\s*\))", error.override):
            raise RequestError(_empty(*found.groups())) from error
        raise RequestError(config.explain(error, words)) from error


def _empty(key: str, given: str) -> str:
    return f"{key}={given}: has no values, so the grid is empty."


def _axis(override: Override) -> Axis:
    key, line = override.get_key_element(), str(override.input_line)
    if not override.is_sweep_override():
        return Axis(key, (line,), swept=False)
    if not override.is_discrete_sweep():
        raise RequestError(
            f"{key}: expected a list, range(), glob() or choice(), got "
            f"{override.get_value_string()}: a search (search=NAME) takes intervals."
        )
    try:
        values = list(override.sweep_string_iterator())
    except HydraException as error:
        raise RequestError(f"{key}: can't be read as a list of values: {error}.") from error
    axis = Axis(key, tuple(f"{key}={value}" for value in values), swept=True)
    given = override.get_value_string()
    if not values:
        raise RequestError(_empty(axis.name, given))
    if not axis.decisive:
        raise RequestError(f"{axis.name}={given}: only one value is allowed for a whole sweep.")
    return axis


def shown(override: str) -> str:
    """Return the value of an override without quotes."""
    value = override.partition("=")[2]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def varied(overrides: Iterable[str]) -> dict[str, str]:
    """Map the key of each override to its value."""
    return {override.partition("=")[0].lstrip("+~"): shown(override) for override in overrides}
