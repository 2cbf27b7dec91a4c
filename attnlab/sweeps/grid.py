"""A grid: what the overrides of `-m` span, composed and checked before anything runs."""

from __future__ import annotations

import copy
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from attnlab.config import composing as config
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.sweeps.internals import apply_overrides
from attnlab.sweeps.variants import Variants, is_plain

# Sections that decide nothing about a run's result.
_OUTSIDE = ("sweep", "paths", "tracking")
_NAMED_KEYS, _NAMED_TASKS = 3, 2
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")


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


class Composer:
    """Composes and checks configurations quickly: a choice of groups is composed once.

    Hydra needs a tenth of a second for a configuration, most of it for the choice of files; what
    only changes values is applied to a copy, or, to check it, to what `Variants` share.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig):
        self._loader = loader
        self._config_name = master.hydra.job.config_name
        self._hydra = [str(override) for override in master.hydra.overrides.hydra]
        self._bases: dict[tuple[str, ...], DictConfig] = {}
        self._variants: dict[tuple[tuple[str, ...], ...], Variants] = {}
        self._parsed: dict[str, Override] = {}
        self._whole: dict[str, Override] = {}  # by its key, one whose value is a whole number

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The configuration that these overrides make, as Hydra composes it, without `hydra`.

        Raises `RequestError` where an override fits no key or value.
        """
        groups, values = self._parted(overrides)
        with self._explained(overrides):
            composed = copy.deepcopy(self._base(groups))
            apply_overrides(values, composed)
        return composed

    def check(self, overrides: Sequence[str]) -> RunConfig:
        """The same, checked; raises `RequestError` also where a value breaks a rule."""
        groups, values = self._parted(overrides)
        if not is_plain(values):
            return config.from_hydra(self.compose(overrides))
        keys = tuple(override.key_or_group for override in values)
        with self._explained(overrides):
            if (groups, keys) not in self._variants:
                self._variants[groups, keys] = Variants(self._base(groups), keys)
            return self._variants[groups, keys].check(values)

    def _parted(self, overrides: Sequence[str]) -> tuple[tuple[str, ...], list[Override]]:
        """The words that choose options, and the overrides that change values."""
        found = {word: self._read(word) for word in overrides}
        groups = tuple(word for word in overrides if not _is_value(found[word]))
        return groups, [found[word] for word in overrides if _is_value(found[word])]

    def _read(self, word: str) -> Override:
        """The override in a word; of whole numbers Hydra reads the first one of a key only."""
        if word not in self._parsed:
            key, _, value = word.partition("=")
            is_whole = _WHOLE.fullmatch(value) is not None
            if is_whole and key in self._whole:
                found = replace(self._whole[key], _value=int(value), input_line=word)
            else:
                (found,) = parse([word], self._loader)
            if is_whole:
                self._whole[key] = found
            self._parsed[word] = found
        return self._parsed[word]

    def _base(self, groups: tuple[str, ...]) -> DictConfig:
        if groups not in self._bases:
            words = [*self._hydra, *groups]
            loaded = self._loader.load_configuration(self._config_name, words, RunMode.RUN)
            with open_dict(loaded):
                del loaded["hydra"]
            self._bases[groups] = loaded
        return self._bases[groups]

    @contextmanager
    def _explained(self, overrides: Sequence[str]) -> Iterator[None]:
        try:
            yield
        except RequestError:
            raise
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise RequestError(config.explain(error, overrides)) from error


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


def _is_value(override: Override) -> bool:
    """Whether an override changes a value only, and chooses no file of a group."""
    key: Any = override.key_or_group
    plain = "/" not in key and override.package is None
    return plain and ("." in key or key == "seed")


def shown(override: str) -> str:
    """The value in an override as a reader expects it, without Hydra's quotes."""
    value = override.partition("=")[2]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def varied(overrides: Iterable[str]) -> dict[str, str]:
    """Key and value of each override."""
    return {override.partition("=")[0].lstrip("+~"): shown(override) for override in overrides}
