"""What a command with `-m` asks for, checked before anything begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.config import composing as config
from attnlab.errors import RequestError
from attnlab.sweeps.grid import Axis, Composer, Grid, shown, varied
from attnlab.sweeps.jobs import Job, without_twins
from attnlab.sweeps.search_settings import SearchSettings, is_wanted
from attnlab.sweeps.sweep_folder import GRID, SEARCH, SweepFolder

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from omegaconf import DictConfig

    from attnlab.config.sections import RunConfig, SweepConfig
    from attnlab.sweeps.search import Suggestion


@dataclass(frozen=True)
class Request:
    """A sweep as it was asked for.

    Attributes:
        grid: what the overrides span; of a search one point.
        settings: of the section `sweep`.
        search: settings of a search; None for a grid.
        first: the configuration of the first job, for what all share.
        folder: the sweep's.
        composer: makes configurations.
        command: the overrides as they were typed.
    """

    grid: Grid
    settings: SweepConfig
    search: SearchSettings | None
    first: RunConfig
    folder: SweepFolder
    composer: Composer
    command: tuple[str, ...]

    @classmethod
    def read(cls, arguments: Iterable[str], loader: ConfigLoader, master: DictConfig) -> Request:
        """Read and check the overrides of a sweep.

        Args:
            arguments: overrides, without Hydra's own.
            loader: Hydra's.
            master: the configuration of the sweep itself, with Hydra's part.

        Raises:
            RequestError: one of them is wrong; the text says which.
        """
        command = tuple(arguments)
        grid = Grid.parse(command, loader)
        composer = Composer(loader, master)
        composed = composer.compose(grid.points()[0])
        settings, section = config.sweep_from_hydra(composed), config.search_from_hydra(composed)
        if settings.trial is not None:
            raise RequestError("sweep.trial: expected none, since a search counts its own trials.")
        first = config.from_hydra(composed)
        wanted = is_wanted(section)
        search = _search(section, grid, first) if wanted else None
        runs = Path(first.paths.runs).expanduser().absolute()
        name = settings.name or grid.default_name()
        folder = SweepFolder.named(runs, name)
        return cls(grid, settings, search, first, folder, composer, command)

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self.folder.path.parents[1]

    @property
    def kind(self) -> str:
        """A grid or a search."""
        return GRID if self.search is None else SEARCH

    @property
    def fixed(self) -> dict[str, str]:
        """Keys of one value; a study checks for itself what its search is."""
        return {
            key: value
            for key, value in self.grid.fixed.items()
            if key.partition(".")[0] != "search"
        }

    @property
    def varying(self) -> dict[str, tuple[str, ...]]:
        """Keys of several values."""
        return {axis.name: axis.values for axis in self.grid.varying}

    def jobs(self) -> tuple[list[Job], int]:
        """The jobs of a grid, each composed and checked, and how many more had equal ones.

        Raises:
            RequestError: a job's configuration is wrong.
        """
        jobs = []
        for number, point in enumerate(self.grid.points(), start=1):
            varying = {axis.name: shown(o) for axis, o in self._pairs(point) if axis.swept}
            jobs.append(Job(number, self._words(point), varying, self.composer.check(point)))
        return without_twins(jobs)

    def check_space(self) -> None:
        """Compose and check some trials of a search that touch every end and every choice.

        Raises:
            RequestError: a key or a value does not fit.
        """
        if self.search is not None:
            for probe in self.search.space.probes():
                self.composer.check([*self.grid.points()[0], *probe])

    def trial(self, suggestion: Suggestion) -> Job:
        """The job of a search's trial.

        Raises:
            RequestError: its values can't be combined.
        """
        (point,) = self.grid.points()
        words = (*self._words(point), *suggestion.overrides)
        checked = self.composer.check(words)
        varying = varied(suggestion.overrides)
        number = suggestion.number
        return Job(number, (*words, f"++sweep.trial={number}"), varying, checked, trial=number)

    def _pairs(self, point: tuple[str, ...]) -> Iterable[tuple[Axis, str]]:
        return zip(self.grid.axes, point, strict=True)

    def _words(self, point: tuple[str, ...]) -> tuple[str, ...]:
        """A job's overrides: those of the sweep itself are none of them."""
        return tuple(o for axis, o in self._pairs(point) if not axis.name.startswith("sweep."))


def _search(section: Mapping[str, object], grid: Grid, first: RunConfig) -> SearchSettings:
    from attnlab.run.building import make_task

    if grid.varying:
        axis = grid.varying[0]
        raise RequestError(
            f"{axis.name}: expected one value in a search, which chooses values itself, got "
            f"{', '.join(axis.values)}."
        )
    fixed = [override for axis in grid.axes for override in axis.overrides]
    return SearchSettings.parse(section, fixed, make_task(first).monitor)
