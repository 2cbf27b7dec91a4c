"""The sweeper that Hydra calls for `-m`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

# Hydra takes sweepers of this package alone. There is none: the class is registered by that name.
_TARGET = "hydra_plugins.attnlab.AttnlabSweeper"


class AttnlabSweeper(Sweeper):
    """Grids and searches that go on where they stopped.

    Attributes:
        overrides: of the command, without Hydra's own. Hydra is not shown them when it composes the
            sweep's own configuration, for a key may exist in some of the jobs only.
    """

    overrides: Sequence[str] = ()

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep what Hydra hands over; the task function is `job.run_job` in any case."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Carry the sweep out.

        Args:
            arguments: those of the overrides that Hydra was shown; they are in `overrides`, too.

        Raises:
            RequestError: the request is wrong; nothing was begun.
            SweepFailed: jobs failed.
            KeyboardInterrupt: interrupted.
        """
        from attnlab.sweeps.launching import Launching
        from attnlab.sweeps.request import Request

        HydraConfig.instance().set_config(self._config)
        request = Request.read(
            self.overrides or arguments, self._context.config_loader, self._config
        )
        launching = Launching(self._context, self._config, request.folder)
        conductor = _conductor(request, launching)
        request.folder.require_same(request.kind, request.fixed, request.varying)
        if request.settings.dry_run:
            conductor.preview()
        else:
            conductor.conduct()


def _conductor(request: Any, launching: Any) -> Any:
    if request.search is None:
        from attnlab.sweeps.grid_sweep import GridSweep

        return GridSweep(request, launching)
    from attnlab.sweeps.search_sweep import SearchSweep

    return SearchSweep(request, launching, request.search)


def register(overrides: Sequence[str]) -> None:
    """Make the sweeper known to Hydra as `hydra/sweeper: attnlab`.

    Args:
        overrides: of the command, without Hydra's own.
    """
    AttnlabSweeper.overrides = list(overrides)
    plugins = Plugins.instance()
    plugins.register(AttnlabSweeper)
    plugins.class_name_to_class[_TARGET] = AttnlabSweeper
    ConfigStore.instance().store(
        group="hydra/sweeper", name="attnlab", node={"_target_": _TARGET}, provider="attnlab"
    )
