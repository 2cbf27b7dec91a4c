"""Train the jobs of a sweep: here, in processes of joblib, on Ray, or by a launcher of Hydra."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.config import composing
from attnlab.config.options import failure, is_hydras, key_of, quoted
from attnlab.config.sections import RunConfig
from attnlab.errors import (
    Pruned,
    RequestError,
    RunBusy,
    RunFailed,
    SweepFailed,
    check_for_interrupt,
    listen_for_interrupts,
    plain_text,
)
from attnlab.internals import import_tensorflow
from attnlab.records.environment import processors
from attnlab.runner.resume import find_run, run
from attnlab.runner.train import OnEpoch, SweepMember
from attnlab.sweeps.grid import Job, Plan
from attnlab.tasks.kinds import kind_of

if TYPE_CHECKING:
    from omegaconf import DictConfig

_MOST_TOGETHER = 32
# Thread settings of TensorFlow and of NumPy's libraries.
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
_JOBS = "jobs.pickle"
_SECONDS_IDLE = 10
_BUSY = "another process trains the run"


@dataclass(frozen=True)
class Work:
    """What the jobs of a sweep share."""

    sweep: str  # its name
    retry_failed: bool = False
    threads: int | None = None  # of a worker process; None: those of this process
    folder: str = field(default_factory=os.getcwd)  # the working folder


def launch(
    plan: Plan, jobs: Sequence[Job], todo: Sequence[Job], work: Work, on_epoch: OnEpoch
) -> Generator[tuple[Job, str | None]]:
    """Train the jobs `todo` by the launcher of a plan; yield each, with its error, as it returns.

    All `jobs` together make the groups, so that a killed sweep has the same groups again.

    Raises:
        SweepFailed: A process of joblib has died, or another launcher failed.
        RequestError: A setting of the launcher is wrong.
    """
    if not todo:
        return
    if plan.launcher == "basic":
        for group in _groups(jobs, todo):
            check_for_interrupt()
            errors = train_group([job.config for job in group], work, [on_epoch] * len(group))
            yield from zip(group, errors, strict=True)
    elif plan.launcher == "joblib":
        yield from _by_joblib(jobs, todo, work, plan.launcher_settings.n_jobs)
    elif plan.launcher == "ray":
        from attnlab.sweeps.ray import train_on_ray

        singles = [[job.config] for job in todo]
        results = train_on_ray(train_elsewhere, singles, work, plan.launcher_settings)
        for number, errors in results:
            yield todo[number], errors[0]
    else:
        yield from _by_hydra(plan, todo, work)


def _groups(jobs: Sequence[Job], todo: Sequence[Job], workers: int = 1) -> list[list[Job]]:
    """Divide jobs into groups that a process trains at a time; returns those of `todo`.

    Equal shapes are next to each other.
    """

    def most(job: Job) -> int:
        together = job.config.trainer.together
        if together == "never" or kind_of(job.config.task.name).models.together == 1:
            return 1
        return together if together != "auto" else min(_MOST_TOGETHER, -(-len(jobs) // workers))

    alike: dict[tuple[int, str], list[Job]] = {}
    for job in jobs:
        alike.setdefault((most(job), job.config.program), []).append(job)
    by_size: dict[int, list[Job]] = {}
    for (size, _), members in alike.items():
        by_size.setdefault(size, []).extend(members)
    groups = [
        members[start : start + size]
        for size, members in by_size.items()
        for start in range(0, len(members), size)
    ]
    digests = {job.digest for job in todo}
    filtered = ([job for job in group if job.digest in digests] for group in groups)
    return [group for group in filtered if group]


def _at_a_time(configs: Sequence[RunConfig]) -> int:
    """Return how many runs of a group train at a time in a process."""
    settings = ((c.trainer.together, kind_of(c.task.name).models.together) for c in configs)
    return max(most if size in ("auto", "never") else size for size, most in settings)


def train_group(
    configs: Sequence[RunConfig], work: Work, reports: Sequence[OnEpoch | None] | None = None
) -> list[str | None]:
    """Train runs together in this process; returns the error of each that failed.

    A run that another process trains comes last, when no run of this group is locked any more.
    """
    stack = None
    if len(configs) > 1:
        import_tensorflow()
        from attnlab.training.stacking import StackScheduler

        stack = StackScheduler(work.threads or processors(), _at_a_time(configs))
    members = [
        SweepMember(work.sweep, report, work.retry_failed, stack)
        for report in reports or [None] * len(configs)
    ]
    if stack is None:
        return [_train(*pair) for pair in zip(configs, members, strict=True)]
    works = [partial(_train, *pair, wait=False) for pair in zip(configs, members, strict=True)]
    errors = stack.run(works, [config.program for config in configs])
    return [
        _train(config, member) if error == _BUSY else error
        for config, member, error in zip(configs, members, errors, strict=True)
    ]


def _train(config: RunConfig, member: SweepMember, wait: bool = True) -> str | None:
    try:
        run(config, member, wait=wait)
    except Pruned:
        pass
    except RunBusy:
        return None if wait else _BUSY
    except Exception as error:
        is_a_sentence = isinstance(error, (RequestError, RunFailed))
        return plain_text(error) if is_a_sentence else failure(error)
    return None


def train_elsewhere(
    number: int, configs: Sequence[RunConfig], work: Work
) -> tuple[int, list[str | None]]:
    """Do what `train_group` does in a worker process; returns also the number of the group."""
    os.chdir(work.folder)
    listen_for_interrupts()
    for name in _THREADS if work.threads else ():
        os.environ.setdefault(name, str(work.threads))
    # Several processes share a GPU; by default the first would take all of its memory.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    return number, train_group(configs, work)


def _by_joblib(
    jobs: Sequence[Job], todo: Sequence[Job], work: Work, processes: int
) -> Generator[tuple[Job, str | None]]:
    import joblib
    from joblib.externals.loky import get_reusable_executor

    try:
        workers = joblib.effective_n_jobs(processes)
    except ValueError as error:
        raise RequestError(f"hydra.launcher.n_jobs={processes}: {error}.") from error
    groups = _groups(jobs, todo, workers)
    work = replace(work, threads=max(1, processors() // workers))
    options = {"return_as": "generator_unordered", "batch_size": 1}
    calls = (
        joblib.delayed(train_elsewhere)(number, [job.config for job in group], work)
        for number, group in enumerate(groups)
    )
    try:
        # After a kill of this process the others end with their jobs.
        limit = joblib.parallel_config("loky", idle_worker_timeout=_SECONDS_IDLE)
        with limit, warnings.catch_warnings():
            # joblib renews a process whose memory has grown, between two jobs.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            for number, errors in joblib.Parallel(workers, **options)(calls):
                yield from zip(groups[number], errors, strict=True)
    except BrokenExecutor as error:
        check_for_interrupt()  # Ctrl-C ends the processes, too
        reason = str(error).splitlines()[0]
        raise SweepFailed(
            f"a process has died, and the same command continues: {reason}"
        ) from error
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _by_hydra(plan: Plan, jobs: Sequence[Job], work: Work) -> Generator[tuple[Job, None]]:
    """Let Hydra's own sweeper call `_stored_job` with the number of each job, by any launcher."""
    import hydra

    # A folder per launch, because jobs in a queue outlive this process.
    folder = plan.folder / "launched" / f"{datetime.now():%Y-%m-%d_%H%M%S}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _JOBS
    path.write_bytes(pickle.dumps([(job.config, work) for job in jobs]))
    presets = [word for word in plan.words if key_of(word) == "experiment"]  # may set a launcher
    words = [
        *("-m", "hydra.run.dir=.", "hydra.sweep.subdir=.", "hydra.output_subdir=null"),
        *("hydra.job.chdir=false", "hydra/job_logging=none", "hydra/hydra_logging=none"),
        *(composing.search_path(), *presets, *filter(is_hydras, plan.words)),
        f"hydra.sweep.dir={quoted(str(folder))}",
        f"+job={','.join(map(str, range(len(jobs))))}",
    ]
    main_folder, name = plan.composer.place or (str(composing.conf_folder()), "config")
    before, sys.argv = sys.argv, [sys.argv[0], *words]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises errors instead of printing them
    try:
        hydra.main(main_folder, name, version_base="1.3")(_stored_job)()
    except Exception as error:
        check_for_interrupt()
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
        raise SweepFailed(
            f"the launcher {plan.launcher} failed, and the same command continues: {reason}"
        ) from error
    finally:
        sys.argv = before
    path.unlink()
    yield from ((job, None) for job in jobs if find_run(job.config))


def _stored_job(cfg: DictConfig) -> None:
    """Train the job whose number Hydra's launcher passes; an error is in the run's folder."""
    from hydra.core.hydra_config import HydraConfig

    path = Path(HydraConfig.get().sweep.dir) / _JOBS
    config, work = pickle.loads(path.read_bytes())[cfg.job]
    train_elsewhere(0, [config], work)
