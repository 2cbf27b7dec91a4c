"""What Hydra does not offer to others, as it is in hydra-core 1.3.8: sweeps need it.

Tests that fail by name when another version does it differently: tests/sweeps/test_internals.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext
from omegaconf import DictConfig, flag_override

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# Hydra takes sweepers of this package alone. There is none: the class is registered by that name.
_TARGET = "hydra_plugins.attnlab.AttnlabSweeper"


def register_sweeper(sweeper: type[Sweeper]) -> None:
    """Make a class known to Hydra as `hydra/sweeper: attnlab`."""
    plugins = Plugins.instance()
    plugins.register(sweeper)
    plugins.class_name_to_class[_TARGET] = sweeper
    ConfigStore.instance().store(
        group="hydra/sweeper", name="attnlab", node={"_target_": _TARGET}, provider="attnlab"
    )


def apply_overrides(overrides: Sequence[Override], composed: DictConfig) -> None:
    """Change values of a composed configuration as Hydra does when it composes it.

    Raises:
        HydraException, OmegaConfBaseException: a key or a value does not fit.
    """
    ConfigLoaderImpl._apply_overrides_to_config(list(overrides), composed)


def launch(
    context: HydraContext,
    task_function: Callable[[DictConfig], Any],
    composed: DictConfig,
    overrides: Sequence[Sequence[str]],
) -> list[Any]:
    """Run a function by the launcher that the user chose, once for each list of overrides.

    Returns:
        What each call returned, or the exception that it raised.

    Raises:
        Exception: the launcher itself failed.
    """
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=context, task_function=task_function, config=composed
    )
    returned: Sequence[JobReturn] = launcher.launch(
        [list(words) for words in overrides], initial_job_idx=0
    )
    return [each._return_value for each in returned]


def in_folder(composed: DictConfig, folder: Path) -> DictConfig:
    """The configuration of a sweep with a folder as Hydra's, where submitit keeps its files."""
    composed = composed.copy()
    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    with flag_override(composed.hydra, ["readonly", "struct"], [False, False]):
        composed.hydra.sweep.dir = str(folder)
        composed.hydra.overrides.hydra.append(f"hydra.sweep.dir='{quoted}'")
    return composed
