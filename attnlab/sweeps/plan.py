"""The plan of a command with `-m`, checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig

from attnlab.config import composing as config
from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig, SweepConfig
from attnlab.errors import RequestError
from attnlab.sweeps.composer import Composer
from attnlab.sweeps.grid import Grid, shown, varied
from attnlab.sweeps.progress import checking
from attnlab.sweeps.search.settings import SearchSettings, is_wanted
from attnlab.sweeps.sweep_folder import GRID, SEARCH, SweepFolder


@dataclass(frozen=True)
class Point:
    """One run of a sweep: a point of a grid, or a trial."""

    number: int  # place in the grid, from 1; for a trial, its number in the study, from 0
    overrides: tuple[str, ...]  # the overrides of its configuration
    varying: Mapping[str, str]  # its values of the keys in which points differ
    config: RunConfig  # its configuration, checked

    @cached_property
    def digest(self) -> str:
        """Return the digest of its configuration, which identifies its run."""
        return self.config.digest


@dataclass(frozen=True)
class SweepPlan:
    """What a command with `-m` requests. Can be pickled."""

    grid: Grid  # the grid of the overrides; a search has one point
    settings: SweepConfig  # the section `sweep`
    search: SearchSettings | None  # None for a grid
    first: RunConfig  # the configuration of the first point
    folder: SweepFolder  # the sweep's folder
    composer: Composer  # composes configurations
    command: tuple[str, ...]  # the overrides as typed

    @classmethod
    def read(cls, arguments: Iterable[str], loader: ConfigLoader, master: DictConfig) -> SweepPlan:
        """Parse and check the overrides of a sweep; raises `RequestError` if one is wrong."""
        command = tuple(arguments)
        grid = Grid.parse(command, loader)
        composer = Composer(loader, master)
        composed = composer.compose(grid.points()[0])
        settings, section = config.sweep_from_hydra(composed)
        first = config.from_hydra(composed)
        search = None
        if is_wanted(section):
            from attnlab.run.building import make_task

            if grid.varying:
                axis = grid.varying[0]
                raise RequestError(
                    f"{axis.name}={','.join(axis.values)}: a search allows only one value, because "
                    "it chooses values itself. Add the key to search.space."
                )
            fixed = [override for axis in grid.axes for override in axis.overrides]
            search = SearchSettings.parse(section, fixed, make_task(first).monitor)
            search = replace(search, files=first.file_hashes)
        runs = Path(first.paths.runs).expanduser().absolute()
        folder = SweepFolder.named(runs, settings.name or grid.default_name(first.task.name))
        plan = cls(grid, settings, search, first, folder, composer, command)
        folder.require_same(plan.kind, plan.fixed, plan.varying)
        return plan

    @property
    def kind(self) -> str:
        """Return either `GRID` or `SEARCH`."""
        return GRID if self.search is None else SEARCH

    @property
    def judged_by(self) -> str:
        """Return what decides the best run: validation, or the metrics of a search."""
        metrics = list(self.search.metrics) if self.search else []
        return "validation" if metrics in ([], ["best_value"]) else ", ".join(metrics)

    @property
    def fixed(self) -> dict[str, str]:
        """Return keys with one value that can change results; a study checks those of `search`."""
        axes = [axis for axis in self.grid.axes if not axis.swept and axis.decisive]
        return {a.name: a.values[0] for a in axes if a.name.partition(".")[0] != "search"}

    @property
    def varying(self) -> dict[str, tuple[str, ...]]:
        """Return the keys with several values."""
        return {axis.name: axis.values for axis in self.grid.varying}

    @property
    def words(self) -> tuple[str, ...]:
        """Return the overrides that all trials of a search share."""
        return self._words(self.grid.points()[0])

    def points(self) -> tuple[list[Point], int]:
        """Return the checked points of a grid, and the number of duplicates left out.

        Raises:
            RequestError: A configuration is wrong.
        """
        points = self.grid.points()
        with checking(len(points)) as progress:
            return self._checked(points, progress)

    def _checked(
        self, points: Sequence[tuple[str, ...]], progress: Callable[[int], None]
    ) -> tuple[list[Point], int]:
        found: dict[str, Point] = {}
        for number, words in enumerate(points, start=1):
            pairs = zip(self.grid.axes, words, strict=True)
            varying = {axis.name: shown(word) for axis, word in pairs if axis.swept}
            own = self._words(words)
            point = Point(number, own, varying, self.composer.check(own))
            found.setdefault(point.digest, point)
            progress(number)
        return list(found.values()), len(points) - len(found)

    def ends(self) -> list[RunConfig]:
        """Compose configurations with every end and every choice of a search's space.

        Raises:
            RequestError: A configuration is not allowed.
        """
        probes = self.search.space.probes() if self.search else ()
        return [self.composer.check([*self.grid.points()[0], *probe]) for probe in probes]

    def trial(self, number: int, overrides: Sequence[str]) -> Point:
        """Make a trial of a search; raises `RequestError` if its values can't be combined.

        It has the hashes of the data files at the start of the search, so that its run refuses
        changed files.
        """
        words = (*self.words, *overrides)
        config = self.composer.check(words)
        first = self.first.file_hashes
        known = {
            key: first[key]
            for key in config.file_hashes
            if key in first and lookup(config.document, key) == lookup(self.first.document, key)
        }
        if known:
            config = replace(config, file_hashes={**config.file_hashes, **known})
        return Point(number, words, varied(overrides), config)

    def _words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a point's overrides, without those of the section `sweep`."""
        return tuple(word for word in words if not word.lstrip("+~").startswith("sweep."))
