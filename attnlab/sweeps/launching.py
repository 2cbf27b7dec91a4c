"""Hands jobs to Hydra's launcher, and again what a process that died left undone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, flag_override

from attnlab.errors import SweepFailed
from attnlab.records.processes import is_running
from attnlab.sweeps.job import Launch, run_job
from attnlab.sweeps.jobs import FAILED, KILLED, RUNNING, WAITING, Job
from attnlab.sweeps.sweep_folder import SweepFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from hydra.core.utils import JobReturn
    from hydra.types import HydraContext


class Launching:
    """Runs jobs by the launcher that the user chose.

    Args:
        context: Hydra's.
        config: the configuration of the sweep, with Hydra's part.
        folder: the sweep's.
    """

    def __init__(self, context: HydraContext, config: DictConfig, folder: SweepFolder):
        self._context, self._folder = context, folder
        self._config = _in_folder(config, folder.path)

    @property
    def bound(self) -> bool:
        """Whether jobs end with this process: those of a cluster's queue don't."""
        return "submitit" not in self._target

    @property
    def here(self) -> bool:
        """Whether jobs run in this process."""
        return self.bound and not self._is_joblib

    @property
    def workers(self) -> int:
        """How many jobs run at a time."""
        settings = self._config.hydra.launcher
        if self._is_joblib:
            import joblib

            return joblib.effective_n_jobs(settings.n_jobs)
        return int(settings.get("array_parallelism") or 1)

    @property
    def threads(self) -> int | None:
        """How many threads each of several processes on this machine gets."""
        return max(1, _processors() // self.workers) if self._is_joblib else None

    @property
    def _target(self) -> str:
        return str(self._config.hydra.launcher._target_)

    @property
    def _is_joblib(self) -> bool:
        return self._target.endswith("JoblibLauncher")

    def __call__(self, jobs: Sequence[Job], launch: Launch) -> None:
        """Run jobs whose records wait for it; returns when each has ended, or was not to start.

        Raises:
            SweepFailed: the launcher itself does not work.
            KeyboardInterrupt: interrupted.
            StoppedEarly: a job failed, and that is to stop the others.
        """
        waiting = list(jobs)
        while waiting:
            death = self._launch(waiting, launch)
            if death is None:
                return
            if all(self._folder.record(job.key).get("state") == WAITING for job in waiting):
                raise SweepFailed(f"the launcher failed: {_one_line(death)}") from death
            # One that dies of memory takes the others along: each shows alone whether it was it.
            for job in [job for job in waiting if self._has_died(job)]:
                self._launch_alone(job, launch)
            waiting = [j for j in waiting if self._folder.record(j.key).get("state") == WAITING]

    def _launch(self, jobs: Sequence[Job], launch: Launch) -> Exception | None:
        """Launch once; returns what the launcher died of."""
        from hydra.core.plugins import Plugins

        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=self._context,
            task_function=partial(run_job, launch=launch),
            config=self._config,
        )
        try:
            with nullcontext() if self.bound else _every_result():
                returned = launcher.launch([list(job.overrides) for job in jobs], initial_job_idx=0)
        except Exception as error:
            return error
        finally:
            if self._is_joblib:
                _end_workers()
        for job, result in zip(jobs, returned, strict=True):
            self._note_error(job, result)
        return None

    def _note_error(self, job: Job, result: JobReturn) -> None:
        """What went wrong outside the run itself, where only the launcher could notice it."""
        error, state = result._return_value, self._folder.record(job.key).get("state")
        if isinstance(error, Exception) and state in (WAITING, RUNNING):
            state = KILLED if type(error).__module__.startswith("submitit") else FAILED
            self._folder.write_record(job.key, state=state, error=_one_line(error))

    def _launch_alone(self, job: Job, launch: Launch) -> None:
        """Launch a job again whose process died; a second time it has failed."""
        death = self._launch([job], launch)
        if death is not None and self._has_died(job):
            error = f"its process died again ({_one_line(death)})"
            self._folder.write_record(job.key, state=FAILED, error=error)

    def _has_died(self, job: Job) -> bool:
        """Whether a job began and its process has gone before it ended."""
        record = self._folder.record(job.key)
        return record.get("state") in (RUNNING, KILLED) and not is_running(record)


def _in_folder(config: DictConfig, folder: Path) -> DictConfig:
    """The configuration with the sweep's folder as Hydra's, where submitit keeps its files."""
    config = config.copy()
    with flag_override(config.hydra, ["readonly", "struct"], [False, False]):
        config.hydra.sweep.dir = str(folder)
        config.hydra.overrides.hydra.append(f"hydra.sweep.dir={_quoted(str(folder))}")
    return config


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@contextmanager
def _every_result() -> Iterator[None]:
    """Have submitit's launcher wait for all of its jobs.

    Otherwise the first one without a result, as when a cluster ends it, would end the waiting.
    """
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


def _end_workers() -> None:
    """End joblib's processes, which it would keep for minutes with all their memory."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _processors() -> int:
    """How many this process may use."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]
