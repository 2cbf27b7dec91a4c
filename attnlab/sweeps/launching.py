"""Run work by the launcher that the user chose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig

from attnlab.errors import RequestError
from attnlab.records.environment import processors
from attnlab.sweeps import internals
from attnlab.sweeps.worker import Room


class LauncherDied(Exception):
    """The launcher ended before its work, for example if the system killed a worker for memory."""


class Launcher:
    """The launcher of a sweep: this process, joblib's workers, or submitit's."""

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
        # Whether work ends with this process; jobs in a cluster's queue don't.
        self.bound = "submitit" not in target
        self.here = self.bound and not self._is_joblib  # whether work runs in this process

    def divide(self, processes: int) -> None:
        """Run work in this many joblib processes instead of in this process."""
        self._use(internals.by_joblib(self._config, processes))

    @property
    def workers(self) -> int:
        """Return the number of processes that work at the same time."""
        settings = self._config.hydra.launcher
        if self._is_joblib:
            import joblib

            return int(joblib.effective_n_jobs(settings.n_jobs))
        return int(settings.get("array_parallelism") or 1)

    @property
    def threads(self) -> int | None:
        """Return the number of threads per joblib process; None for other launchers."""
        return max(1, processors() // self.workers) if self._is_joblib else None

    def __call__(
        self, work: Callable[[DictConfig], Any], overrides: Sequence[Sequence[str]]
    ) -> list[Any]:
        """Call `work` for each list of overrides; returns the results, or exceptions.

        Once this process has compiled as many programs as it has room for, each further call runs
        in a new process.

        Raises:
            LauncherDied: The launcher failed, or one of its processes ended.
            KeyboardInterrupt: Interrupted.
        """
        self._room = self._room or Room()
        aside = self.here and self._room.is_full()
        launch = internals.launch_aside if aside else internals.launch
        try:
            with nullcontext() if self.bound else internals.every_result():
                return launch(self._context, work, self._config, overrides)
        except Exception as error:
            raise LauncherDied(one_line(error)) from error
        finally:
            if self._is_joblib:
                internals.end_workers()

    def was_ended(self, result: object) -> bool:
        """Whether a result is missing because the system ended the job's process."""
        return not self.bound and internals.was_ended(result)


def one_line(error: BaseException) -> str:
    """Return an error with its class in one line of at most 500 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]
