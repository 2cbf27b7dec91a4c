"""What a command with `-m` requests: a grid of values, its sweep, and the jobs, all checked.

Hydra needs a tenth of a second for a configuration, most of it for the choice of files, and a grid
may have thousands. So Hydra composes each choice of options once; values are set in its result.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from attnlab.config import composing as config
from attnlab.config.options import is_hydras, key_of
from attnlab.config.sections import (
    RunConfig,
    SearchConfig,
    SweepConfig,
    file_hash,
    parse_section,
)
from attnlab.errors import RequestError
from attnlab.runner.resume import runs_folder
from attnlab.sweeps.ray import RayConf

# A value of a setting. Everything else, such as an option or a mapping, is left to Hydra.
_VALUE = re.compile(r"(seed|(?!(hydra|search)\.)\w+(\.(?!(name|rules|_target_)=)\w+)+)=[^{]*", re.S)
# Sections that don't change a run's result.
_IDLE = ("sweep", "paths", "tracking")
_NAMED_KEYS = 3
_LONGEST_NAME = 255  # bytes, on all common file systems


@dataclass
class JoblibConf:
    """The settings `hydra.launcher` of `hydra/launcher=joblib`."""

    n_jobs: int = -1  # processes; -1: one per processor


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
        return tuple(map(shown, self.overrides))

    @property
    def is_decisive(self) -> bool:
        """Whether a run's result depends on it."""
        return self.name.partition(".")[0] not in _IDLE and self.name != "search.trials"


@dataclass(frozen=True)
class Job:
    """A run of a sweep: a point of a grid, or a trial of a search."""

    number: int  # of a point from 1, of a trial from 0
    varying: Mapping[str, str]  # its values of the keys in which jobs differ
    config: RunConfig  # checked

    @cached_property
    def digest(self) -> str:
        """Return the digest of its configuration, which identifies its run."""
        return self.config.digest


class Composer:
    """Composes and checks configurations.

    `place` is as in `config.composing.compose`.
    """

    def __init__(self, place: tuple[str, str] | None = None):
        self.place = place
        # By the words that choose options: the configuration without rules and classes, and these.
        self._bases: dict[tuple[str, ...], tuple[DictConfig, dict[str, Any]]] = {}
        self._overrides: dict[str, Override] = {}
        self._hash_of = cache(file_hash)  # a sweep hashes a file once

    def check(self, words: Sequence[str]) -> RunConfig:
        """Return the checked configuration that words make; raises `RequestError`."""
        values = [word for word in words if _VALUE.fullmatch(word)]
        options = tuple(word for word in words if word not in values)
        # Each set of keys has a copy, in which every job sets all of them.
        key = (*options, "", *(word.partition("=")[0] for word in values))
        if key not in self._bases:
            self._bases[key] = _without_rules(config.compose(options, self.place))
        base, rules = self._bases[key]
        try:
            for word in values:
                override = self._parse(word)
                OmegaConf.update(base, override.key_or_group, override.value(), merge=True)
            document = config.plain(base)
        except (HydraException, OmegaConfBaseException, RequestError):
            # Hydra's message names the word.
            return config.from_hydra(config.compose(words, self.place))
        for group, entries in rules.items():
            document[group].update(entries)
        return config.from_document(document, self._hash_of)

    def axes(self, words: Iterable[str]) -> list[Axis]:
        """Parse words as Hydra does: lists, `range()`, `glob()`, `choice()`, single values.

        `search.space={...}` and `search.space.KEY=...` add to the space of a preset. Raises
        `RequestError` if a key has no value, an interval, or several values where it needs one.
        """
        words = [f"++{w}" if w.startswith("search.space") else w for w in words]
        with initialize_config_dir(str(config.conf_folder()), version_base="1.3"):
            parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        try:
            axes = [_axis(override) for override in parser.parse_overrides(words)]
        except HydraException as error:
            raise RequestError(config.explain(error)) from error
        return list({axis.key: axis for axis in axes}.values())  # the last one counts

    def _parse(self, word: str) -> Override:
        if word not in self._overrides:
            self._overrides[word] = OverridesParser.create().parse_override(word)
        return self._overrides[word]


def _without_rules(composed: DictConfig) -> tuple[DictConfig, dict[str, Any]]:
    """Take rules and classes out of a configuration, because resolving them takes long."""
    rules: dict[str, Any] = {}
    with open_dict(composed):
        for group, settings in composed.items():
            content: Any = {}
            if isinstance(settings, DictConfig):
                content = OmegaConf.to_container(settings)
            for key in {*content} & {*config.NOT_SETTINGS}:
                rules.setdefault(str(group), {})[key] = content[key]
                del settings[key]
    return composed, rules


def _axis(override: Override) -> Axis:
    key = override.get_key_element()
    if not override.is_sweep_override():
        return Axis(key, (str(override.input_line),), swept=False)
    value = override.get_value_string()
    if not override.is_discrete_sweep():
        raise RequestError(
            f"{key}: expected a list, range(), glob() or choice(), got {value}: a search "
            "(search=NAME) takes intervals."
        )
    texts = list(override.sweep_string_iterator())
    axis = Axis(key, tuple(f"{key}={text}" for text in texts), swept=True)
    if not texts:
        raise RequestError(f"{axis.name}={value}: has no values, so the grid is empty.")
    if not axis.is_decisive:
        raise RequestError(f"{axis.name}={value}: only one value is allowed for a whole sweep.")
    return axis


def shown(override: str) -> str:
    """Return the value of an override without quotes."""
    value = override.partition("=")[2]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def words_of(varying: Mapping[str, str]) -> str:
    """Write keys and values as on a command line."""
    return " ".join(f"{key}={value}" for key, value in varying.items())


@dataclass(frozen=True)
class Plan:
    """A command with `-m`, parsed and checked."""

    axes: Sequence[Axis]
    words: Sequence[str]  # the overrides, as typed
    composer: Composer
    settings: SweepConfig  # the section `sweep`
    search: Mapping[str, Any]  # the section `search`
    first: RunConfig  # the configuration of the first job
    folder: Path  # the sweep's folder
    launcher: str  # name of Hydra's launcher
    launcher_settings: DictConfig

    @classmethod
    def read(cls, words: Sequence[str], place: tuple[str, str] | None = None) -> Plan:
        """Parse the overrides of a command.

        Args:
            words: The overrides, Hydra's own settings included.
            place: As in `Composer`.

        Raises:
            RequestError: A word is wrong, or the first job's configuration.
        """
        store = ConfigStore.instance().store
        for name, node in {"joblib": JoblibConf, "ray": RayConf}.items():
            store(group="hydra/launcher", name=name, node=node, provider="attnlab")
        composer = Composer(place)
        add = "++" if place else ""  # a saved configuration has no section `sweep`
        overrides = [
            f"{add}{w}" if w.startswith("sweep.") else w for w in words if not is_hydras(w)
        ]
        axes = composer.axes(overrides)
        first_words = [*filter(is_hydras, words), *(axis.overrides[0] for axis in axes)]
        composed = config.compose(first_words, place, with_hydra=True)
        launcher = composed.hydra.runtime.choices["hydra/launcher"], composed.hydra.launcher
        with open_dict(composed):
            del composed["hydra"]
        sections = {
            name: config.plain(composed[name]) for name in ("sweep", "search") if composed.get(name)
        }
        settings, search = parse_section("sweep", SweepConfig, sections), sections.get("search", {})
        first = config.from_hydra(composed)
        name = settings.name or _default_name(axes, first.task.name)
        if Path(name).name != name or name.startswith(".") or len(name.encode()) > _LONGEST_NAME:
            raise RequestError(f"sweep.name={name}: can't be the name of a folder.")
        folder = runs_folder(first) / "sweeps" / name
        return cls(axes, words, composer, settings, search, first, folder, *launcher)

    @property
    def kind(self) -> str:
        """Return `search` if the section `search` differs from its default, else `grid`."""
        default = vars(SearchConfig())
        return "search" if {**default, **self.search} != default else "grid"

    @property
    def varying(self) -> dict[str, tuple[str, ...]]:
        """Return the keys with several values."""
        return {axis.name: axis.values for axis in self.axes if axis.swept}

    @property
    def fixed(self) -> dict[str, str]:
        """Return the keys with one value that can change results."""
        axes = [axis for axis in self.axes if axis.is_decisive and not axis.swept]
        return {axis.name: axis.values[0] for axis in axes}

    def jobs(self) -> list[Job]:
        """Return the checked jobs of the grid, equal ones once.

        Raises `RequestError` if a configuration is wrong.
        """
        points = itertools.product(*(axis.overrides for axis in self.axes))
        jobs: dict[str, Job] = {}
        for number, words in enumerate(points, start=1):
            pairs = zip(self.axes, words, strict=True)
            varying = {axis.name: shown(word) for axis, word in pairs if axis.swept}
            job = Job(number, varying, self.composer.check(words))
            jobs.setdefault(job.digest, job)
        return list(jobs.values())

    def trial(self, number: int, overrides: Sequence[str]) -> Job:
        """Return a trial of a search; raises `RequestError` if its values can't be combined."""
        varying = {key_of(word): shown(word) for word in overrides}
        words = [*(axis.overrides[0] for axis in self.axes), *overrides]
        return Job(number, varying, self.composer.check(words))


def _default_name(axes: Sequence[Axis], task: str) -> str:
    """Name a sweep by its task, its varying keys, and part of a hash.

    The same command gets the same name, with any `search.trials`. `task` is the task of the first
    job; it isn't used if tasks vary.
    """
    decisive = sorted(
        (axis.key, sorted(axis.overrides), axis.swept) for axis in axes if axis.is_decisive
    )
    digest = hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]
    varying = [axis.name for axis in axes if axis.swept]
    tasks = [] if {"task", "experiment"} & {*varying} else [task]
    keys = [name for name in varying if name != "seed"] or varying
    names = [name.rpartition(".")[2] for name in keys[:_NAMED_KEYS]]
    search = [axis.values[0] for axis in axes if axis.name == "search"]
    return "-".join([*tasks, *search, *names, digest])
