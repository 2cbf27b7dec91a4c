"""Hands work to the launcher that the user chose."""

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
    """The launcher ended before its work did, as when the system ends a worker for its memory."""


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
                "hydra.launcher.n_jobs: expected a number of processes, or -1 for one on each "
                "processor, got 0."
            )
        # Whether work ends with this process: what is in a cluster's queue doesn't.
        self.bound = "submitit" not in target
        self.here = self.bound and not self._is_joblib  # whether work is done in this process

    def divide(self, processes: int) -> None:
        """Have so many processes of joblib's work in place of this one."""
        self._use(internals.by_joblib(self._config, processes))

    @property
    def workers(self) -> int:
        """How many processes work at a time."""
        settings = self._config.hydra.launcher
        if self._is_joblib:
            import joblib

            return int(joblib.effective_n_jobs(settings.n_jobs))
        return int(settings.get("array_parallelism") or 1)

    @property
    def threads(self) -> int | None:
        """How many threads each of several processes on this machine gets."""
        return max(1, processors() // self.workers) if self._is_joblib else None

    def __call__(
        self, work: Callable[[DictConfig], Any], overrides: Sequence[Sequence[str]]
    ) -> list[Any]:
        """Do work once for each list of overrides; returns what each did, or its exception.

        When this process has compiled what it has room for, another one is begun for each call.

        Raises:
            LauncherDied: the launcher itself failed, or one of its processes has gone.
            KeyboardInterrupt: interrupted.
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
        """Whether a call has no result because the system ended its process."""
        return not self.bound and internals.was_ended(result)


def one_line(error: BaseException) -> str:
    """An error with its kind, cut where it is very long."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]
