"""What sweeps use of other libraries that these do not offer.

Seen in hydra-core 1.3.8, joblib 1.6.0 with the loky inside it, and submitit 1.5.4 with Hydra's
launcher for it; tests/sweeps/test_internals.py fails by name if another version differs.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext
from omegaconf import DictConfig, flag_override

from attnlab.config.arguments import quoted
from attnlab.process import safe_command

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# Hydra takes sweepers of this package alone. There is none: the class is registered by that name.
_TARGET = "hydra_plugins.attnlab.AttnlabSweeper"


def register_sweeper(sweeper: type[Sweeper]) -> None:
    """Make a class known to Hydra as `hydra/sweeper: attnlab`."""
    plugins = Plugins.instance()
    plugins.register(sweeper)
    plugins.class_name_to_class[_TARGET] = sweeper
    store = ConfigStore.instance().store
    store(group="hydra/sweeper", name="attnlab", node={"_target_": _TARGET}, provider="attnlab")


def register_launcher(launcher: type[Launcher], target: str, settings: Any) -> None:
    """Make a class known to Hydra as `hydra/launcher: ray`, with the default settings."""
    Plugins.instance().class_name_to_class[target] = launcher
    store = ConfigStore.instance().store
    store(group="hydra/launcher", name="ray", node=settings, provider="attnlab")


def apply_overrides(overrides: Sequence[Override], composed: DictConfig) -> None:
    """Change values of a composed configuration as Hydra does when it composes it.

    Raises:
        HydraException, OmegaConfBaseException: a key or a value does not fit.
    """
    ConfigLoaderImpl._apply_overrides_to_config(list(overrides), composed)


@cache
def keep_workers_safe() -> None:
    """Prevent joblib's processes from importing modules from the working folder.

    On Python 3.10 alone: later ones go by the variable that `process.set_up` sets.
    """
    if sys.version_info >= (3, 11):
        return
    from multiprocessing import util

    from joblib.externals.loky.backend import fork_exec

    start_worker, start_tracker = fork_exec.fork_exec, util.spawnv_passfds
    fork_exec.fork_exec = lambda command, *rest, **options: start_worker(
        safe_command(command), *rest, **options
    )
    util.spawnv_passfds = lambda path, command, *rest: start_tracker(
        path, safe_command(command), *rest
    )


def launch(
    context: HydraContext,
    task_function: Callable[[DictConfig], Any],
    composed: DictConfig,
    overrides: Sequence[Sequence[str]],
) -> list[Any]:
    """Run a function by the user's launcher for each list of overrides; its results or errors.

    Raises `Exception` where the launcher itself failed.
    """
    keep_workers_safe()
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=context, task_function=task_function, config=composed
    )
    with warnings.catch_warnings():
        # Joblib renews a process whose memory has grown, between two jobs, and warns of that.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        returned: Sequence[JobReturn] = launcher.launch(
            [list(words) for words in overrides], initial_job_idx=0
        )
    return [each._return_value for each in returned]


def launch_stored(
    context: HydraContext,
    task_function: Callable[[DictConfig], Any],
    composed: DictConfig,
    overrides: Sequence[Sequence[str]],
    *,
    keep: bool,
) -> list[Any]:
    """Call `launch` with a function that jobs read from a file, once per process.

    Joblib and submitit send the function with each job. It contains the configurations of all jobs,
    so their messages would grow with the square of the number of jobs. `keep` leaves the file for
    jobs that outlive this process.
    """
    folder = Path(composed.hydra.sweep.dir) / ".jobs"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid4().hex}.pickle"  # several commands may use the folder
    path.write_bytes(pickle.dumps(task_function))
    try:
        return launch(context, Stored(path), composed, overrides)
    finally:
        if not keep:
            path.unlink(missing_ok=True)


class Stored:
    """A function in a file."""

    def __init__(self, path: Path):
        self._path = path

    def __call__(self, cfg: DictConfig) -> Any:
        """Call the function."""
        return _loaded(self._path)(cfg)


@lru_cache(maxsize=1)
def _loaded(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def launch_aside(*arguments: Any) -> list[Any]:
    """Call `launch` in a process of its own, which ends with it."""
    from joblib.externals.loky import ProcessPoolExecutor

    keep_workers_safe()
    pool = ProcessPoolExecutor(max_workers=1)
    try:
        return pool.submit(_launch_there, Singleton.get_state(), *arguments).result()
    finally:
        pool.shutdown(kill_workers=True)


def _launch_there(state: Any, *arguments: Any) -> list[Any]:
    Singleton.set_state(state)
    return launch(*arguments)


def in_folder(composed: DictConfig, folder: Path) -> DictConfig:
    """Return Hydra's configuration of a sweep with a folder, where submitit stores its files."""
    composed = composed.copy()
    with flag_override(composed.hydra, ["readonly", "struct"], [False, False]):
        composed.hydra.sweep.dir = str(folder)
        composed.hydra.overrides.hydra.append(f"hydra.sweep.dir={quoted(str(folder))}")
    return composed


def with_max_calls(composed: DictConfig, calls: int) -> DictConfig:
    """Return the configuration of a sweep by Ray with a number of jobs per process, if unset."""
    composed = composed.copy()
    with flag_override(composed.hydra, ["readonly", "struct"], [False, False]):
        if composed.hydra.launcher.max_calls is None:
            composed.hydra.launcher.max_calls = calls
    return composed


def by_joblib(composed: DictConfig, processes: int) -> DictConfig:
    """Return the configuration of a sweep with joblib's launcher in place of its own."""
    from hydra_plugins.hydra_joblib_launcher.config import JobLibLauncherConf

    composed = composed.copy()
    with flag_override(composed.hydra, ["readonly", "struct"], [False, False]):
        composed.hydra.launcher = asdict(JobLibLauncherConf(n_jobs=processes))
    return composed


def end_workers() -> None:
    """End joblib's processes, which it would keep for minutes with all their memory."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True, kill_workers=True)


@contextmanager
def every_result() -> Iterator[None]:
    """Make Hydra's launcher wait for all jobs; a job that a cluster ended has no result."""
    from hydra.core.utils import JobReturn, JobStatus
    from submitit import Job
    from submitit.core.utils import FailedJobError, UncompletedJobError

    def results(self: Any) -> list[Any]:
        try:
            return original(self)
        except (FailedJobError, UncompletedJobError) as error:
            return [JobReturn(status=JobStatus.FAILED, _return_value=error)]

    original = Job.results
    Job.results = results  # type: ignore[method-assign]
    try:
        yield
    finally:
        Job.results = original  # type: ignore[method-assign]


def was_ended(result: object) -> bool:
    """Whether a job has no result because the system ended it."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    return isinstance(result, (FailedJobError, UncompletedJobError))
