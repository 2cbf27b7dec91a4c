"""Run work by the launcher that the user chose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig

from attnlab.errors import RequestError
from attnlab.records.environment import processors
from attnlab.sweeps import internals, ray_launcher
from attnlab.sweeps.worker import Room


class LauncherDied(Exception):
    """The launcher ended before its work, for example if the system killed a worker for memory."""


class Launcher:
    """The launcher of a sweep: this process, joblib's workers, submitit's, or Ray's.

    Raises `RequestError` if one of its settings is wrong.
    """

    def __init__(self, context: HydraContext, config: DictConfig, folder: Path):
        self._context = context
        self._room: Room | None = None
        self._use(internals.in_folder(config, folder))

    def _use(self, config: DictConfig) -> None:
        self._config, target = config, str(config.hydra.launcher._target_)
        self._is_joblib = target.endswith("JoblibLauncher")
        if self._is_joblib and config.hydra.launcher.n_jobs == 0:
            raise RequestError(
                "hydra.launcher.n_jobs=0: must be a number of processes, or -1 for one per "
                "processor."
            )
        is_ray = target == ray_launcher.TARGET
        self._ray = ray_launcher.Connection(config.hydra.launcher) if is_ray else None
        # Whether work ends with this process; jobs in a cluster's queue don't.
        self.bound = "submitit" not in target
        # Whether work runs in this process.
        self.here = self.bound and not self._is_joblib and not is_ray
        # Whether each run is a job of its own, which may be on another machine.
        self.spreads = is_ray or not self.bound

    def divide(self, processes: int) -> None:
        """Run work in this many joblib processes instead of in this process."""
        self._use(internals.by_joblib(self._config, processes))

    def open(self) -> None:
        """Connect to the Ray cluster, if the launcher has one.

        Raises:
            RequestError: No cluster answers, or a job is larger than any node.
        """
        if self._ray is not None:
            self._ray.open()

    def close(self) -> None:
        """Disconnect from the Ray cluster."""
        if self._ray is not None:
            self._ray.close()

    @property
    def workers(self) -> int:
        """Return the number of processes that work at the same time; Ray must be open."""
        if self._ray is not None:
            return self._ray.slots
        settings = self._config.hydra.launcher
        if self._is_joblib:
            import joblib

            return int(joblib.effective_n_jobs(settings.n_jobs))
        return int(settings.get("array_parallelism") or 1)

    @property
    def threads(self) -> int | None:
        """Return the number of threads per process of joblib or Ray; None for other launchers."""
        if self._ray is not None:
            return max(1, int(self._config.hydra.launcher.num_cpus))
        return max(1, processors() // self.workers) if self._is_joblib else None

    def __call__(
        self,
        work: Callable[[DictConfig], Any],
        overrides: Sequence[Sequence[str]],
        calls: int = 1,
    ) -> list[Any]:
        """Call `work` for each list of overrides; returns the results, or exceptions.

        Once this process has compiled as many programs as it has room for, each further call runs
        in a new process. A process of Ray ends after `calls` jobs; 0 for no limit.

        Raises:
            LauncherDied: The launcher failed, or one of its processes ended.
            KeyboardInterrupt: Interrupted.
        """
        launch, config = self._launch(), self._config
        if self._ray is not None:
            config = internals.with_max_calls(config, calls)
        try:
            with nullcontext() if self.bound else internals.every_result():
                return launch(self._context, work, config, overrides)
        except Exception as error:
            raise LauncherDied(one_line(error)) from error
        finally:
            if self._is_joblib:
                internals.end_workers()

    def _launch(self) -> Callable[..., list[Any]]:
        if self._ray is not None:
            return internals.launch
        if not self.here:
            return partial(internals.launch_stored, keep=not self.bound)
        self._room = self._room or Room()
        return internals.launch_aside if self._room.is_full() else internals.launch

    def was_ended(self, result: object) -> bool:
        """Whether a result is missing because the system ended the job's process."""
        if isinstance(result, ray_launcher.JobLost):
            return True
        return not self.bound and internals.was_ended(result)


def one_line(error: BaseException) -> str:
    """Return an error with its class in one line of at most 500 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]
