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
from attnlab.sweeps.internals import register_launcher, register_sweeper
from attnlab.sweeps.ray_launcher import TARGET, RayConf, RayLauncher


class AttnlabSweeper(Sweeper):
    """Grids and searches that resume where they stopped."""

    # the command's overrides, without Hydra's own. Hydra doesn't get them when it composes the
    # sweep's own configuration, because a key may exist only in some of the jobs
    overrides: Sequence[str] = ()
    # the sweep's error. It is not raised through Hydra, whose own errors are about the arguments
    error: Exception | None = None
    folder: Path | None = None  # folder of the last sweep

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Store Hydra's context and configuration; the task function is not used."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run the sweep; errors except `KeyboardInterrupt` are stored for `raise_error`."""
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
    """Register the sweeper and the Ray launcher with Hydra, and pass the sweeper the overrides."""
    AttnlabSweeper.overrides, AttnlabSweeper.error = list(overrides), None
    register_sweeper(AttnlabSweeper)
    register_launcher(RayLauncher, TARGET, RayConf)


def raise_error() -> None:
    """Raise the error of this command's sweep, if there is one."""
    error, AttnlabSweeper.error = AttnlabSweeper.error, None
    if error is not None:
        raise error
