"""The sweeper that Hydra calls for `-m`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from attnlab.config import composing as config
from attnlab.errors import RequestError
from attnlab.sweeps.internals import register_sweeper


class AttnlabSweeper(Sweeper):
    """Grids and searches that resume where they stopped."""

    # of the command, without Hydra's own. Hydra is not shown them when it composes the sweep's own
    # configuration, for a key may exist in some of the points only
    overrides: Sequence[str] = ()
    # what the sweep ended with, not by way of Hydra, whose errors are about the command's words
    error: Exception | None = None
    folder: Path | None = None  # of the last sweep

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep what Hydra hands over; the task function is one of `worker` in any case."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Carry the sweep out; `raise_error` raises what went wrong but `KeyboardInterrupt`."""
        HydraConfig.instance().set_config(self._config)
        words = self.overrides or arguments
        try:
            from attnlab.sweeps.launching import Launcher
            from attnlab.sweeps.plan import SweepPlan

            plan = SweepPlan.read(words, self._context.config_loader, self._config)
            AttnlabSweeper.folder = plan.folder.path
            launcher = Launcher(self._context, self._config, plan.folder.path)
            if plan.search is None:
                from attnlab.sweeps.grid_sweep import GridSweep

                GridSweep(plan, launcher).execute()
            else:
                from attnlab.sweeps.search.sweep import SearchSweep

                SearchSweep(plan, launcher, plan.search).execute()
        except HydraException as error:
            AttnlabSweeper.error = RequestError(config.explain(error, words))
        except Exception as error:
            AttnlabSweeper.error = error


def register(overrides: Sequence[str]) -> None:
    """Make the sweeper known to Hydra."""
    AttnlabSweeper.overrides, AttnlabSweeper.error = list(overrides), None
    register_sweeper(AttnlabSweeper)


def raise_error() -> None:
    """Raise what the sweep of this command ended with."""
    error, AttnlabSweeper.error = AttnlabSweeper.error, None
    if error is not None:
        raise error
