"""A grid: what the overrides of `-m` span, composed and checked before anything runs."""

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

# Sections that decide nothing about a run's result.
_OUTSIDE = ("sweep", "paths", "tracking")
_NAMED_KEYS, _NAMED_TASKS = 3, 2


@dataclass(frozen=True)
class Axis:
    """The values that one key takes."""

    key: str  # as it was typed: with Hydra's `+`, `++` or `~`
    overrides: tuple[str, ...]  # Hydra's override for each value
    swept: bool  # whether it was typed as several values, and not as one

    @property
    def name(self) -> str:
        """The key alone."""
        return self.key.lstrip("+~")

    @property
    def values(self) -> tuple[str, ...]:
        """The values as a table shows them."""
        return tuple(shown(override) for override in self.overrides)

    @property
    def decisive(self) -> bool:
        """Whether a run's result depends on it."""
        return self.name.partition(".")[0] not in _OUTSIDE


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of some keys."""

    axes: tuple[Axis, ...]  # the keys, in the order in which they were typed

    @classmethod
    def parse(cls, arguments: Iterable[str], loader: ConfigLoader) -> Grid:
        """Read overrides as Hydra does: lists, `range()`, `glob()`, `choice()`, and single values.

        `search.space={...}` and `search.space.KEY=...` add to the space of a preset. Raises
        `RequestError` where a key has no value at all, an interval, or several where one is
        expected.
        """
        words = [f"++{w}" if w.startswith("search.space") else w for w in arguments]
        axes = {axis.key: axis for axis in map(_axis, parse(words, loader))}
        return cls(tuple(axes.values()))

    @property
    def varying(self) -> tuple[Axis, ...]:
        """The axes along which jobs differ."""
        return tuple(axis for axis in self.axes if axis.swept)

    def points(self) -> list[tuple[str, ...]]:
        """The overrides of each job; the last key varies fastest."""
        return list(itertools.product(*(axis.overrides for axis in self.axes)))

    def default_name(self, task: str) -> str:
        """Name a sweep by its tasks, what varies, and a part of a hash.

        It is the same for the same command, except for `search.trials`. `task` is that of the first
        point; which tasks the presets of a swept `experiment` have, only their files say.
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
    """Hydra's overrides in these words; raises `RequestError` where a word is none."""
    try:
        return OverridesParser.create(config_loader=loader).parse_overrides(words)
    except OverrideParseException as error:
        if found := re.fullmatch(r"(.*?)=(choice\(\s*\))", error.override):
            raise RequestError(_empty(*found.groups())) from error
        raise RequestError(config.explain(error, words)) from error


def _empty(key: str, given: str) -> str:
    return f"{key}: expected at least one value, got {given}: the grid is empty."


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
        raise RequestError(f"{key}: expected values to try, but: {error}.") from error
    axis = Axis(key, tuple(f"{key}={value}" for value in values), swept=True)
    given = override.get_value_string()
    if not values:
        raise RequestError(_empty(axis.name, given))
    if not axis.decisive:
        raise RequestError(f"{axis.name}: expected one value for the whole sweep, got {given}.")
    return axis


def shown(override: str) -> str:
    """The value in an override as a reader expects it, without Hydra's quotes."""
    value = override.partition("=")[2]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def varied(overrides: Iterable[str]) -> dict[str, str]:
    """Key and value of each override."""
    return {override.partition("=")[0].lstrip("+~"): shown(override) for override in overrides}
