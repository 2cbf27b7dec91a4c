"""What runs where a launcher runs it: a point of a grid, or a search's trials one after another.

Importing this module registers all that Hydra needs to compose a configuration, so that a worker of
joblib or submitit, which imports it to find the function, can compose it.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig

from attnlab.config import composing
from attnlab.config.own_files import failure
from attnlab.config.sections import RunConfig
from attnlab.errors import Pruned, RequestError, RunBusy, RunFailed, plain_text
from attnlab.process import set_up
from attnlab.records.environment import processors
from attnlab.records.status import is_running, this_process
from attnlab.run.command import check_for_interrupt, listen_for_interrupts
from attnlab.run.find_or_run import COMPLETED, FAILED, PRUNED, RUNNING
from attnlab.sweeps.sweep_folder import SweepFolder
from attnlab.tasks.kinds import kind_of

composing.register_schema()

NEW = "new"
MOST_TOGETHER = 32
# What XLA compiled, about 18 MB a program, stays in memory as long as the process does.
MOST_PROGRAMS = 16
Result = TypeVar("Result")
OnEpoch = Callable[[Mapping[str, float]], None]
_SECONDS_BETWEEN_LOOKS, _SECONDS_TO_STOP = 1.0, 20.0
# For how long a worker may outlive the process that launched it.
ORPHANED_SECONDS = _SECONDS_BETWEEN_LOOKS + _SECONDS_TO_STOP
# TensorFlow's own setting, and that of the libraries beneath NumPy.
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
_guarded = False
log = logging.getLogger("attnlab")


class StoppedEarly(BaseException):
    """A run failed and `sweep.fail_fast` is set. Not an Exception: launchers must not keep it."""


@dataclass(frozen=True)
class Launch:
    """What the work of one launch has in common; it travels to the processes that do it."""

    folder: Path  # the sweep's
    number: int  # counts the launches of the sweep
    owner: Mapping[str, Any] = field(default_factory=this_process)  # the process that launched
    threads: int | None = None  # for each process' mathematics; None leaves it to the libraries
    bound: bool = True  # whether work ends with the process that launched it
    fail_fast: bool = False  # whether the first run that fails stops the others
    retry_failed: Collection[Path] = ()  # folders of failed runs that are to be tried again

    def is_active(self) -> bool:
        """Whether more may begin: the launch was not stopped, and its owner lives if it must."""
        owned = not self.bound or is_running(self.owner)
        return owned and not SweepFolder(self.folder).is_stopped(self.number)

    def stop(self) -> None:
        """Let nothing more of this launch begin."""
        try:
            SweepFolder(self.folder).stop_launch(self.number)
        except OSError as error:
            log.warning("%s: can't be written: %s", self.folder, error)


class Room:
    """Room in this process for programs, counted from when it is made."""

    def __init__(self) -> None:
        self._before = _programs()

    def is_full(self) -> bool:
        """Whether another process had better compile what comes next."""
        return _programs() - self._before >= MOST_PROGRAMS


def _programs() -> int:
    """How many this process has compiled."""
    cache = sys.modules.get("attnlab.training.program_cache")
    return cache.compiled if cache else 0


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    state: str  # of another process's run `running`; `new` where it was not to begin
    folder: Path | None = None  # of a completed run; of a trial's run in any state
    error: str | None = None  # why it failed, or was given up
    values: Collection[float] | None = None  # of a completed trial: `SearchSettings.objectives`


def run_points(
    cfg: DictConfig, *, launch: Launch, groups: Mapping[str, Sequence[RunConfig]]
) -> list[Outcome]:
    """Make or resume the runs of some configurations, which train together.

    `groups` has them by the settings of their first one, which is the composed `cfg`.

    Raises:
        KeyboardInterrupt: interrupted.
        StoppedEarly: one failed, and that ends the sweep.
    """
    check_for_interrupt()
    prepare_process(launch)
    configs = groups[composing.from_hydra(cfg).digest_of_settings]
    works = [partial(_run_point, config, launch) for config in configs]
    programs = [config.program for config in configs]
    return run_together(works, programs, launch, at_a_time(configs))


def at_a_time(configs: Iterable[RunConfig]) -> int:
    """How many of some runs are under way at a time in a process."""
    wanted = (
        (config.trainer.together, kind_of(config.task.name).models.together) for config in configs
    )
    return max(most if asked in ("auto", "never") else asked for asked, most in wanted)


def run_together(
    works: Sequence[Callable[[], Result]],
    programs: Sequence[str],
    launch: Launch,
    at_a_time: int | None = None,
) -> list[Result]:
    """Do works that make runs of some programs, which train together; what each returned."""
    from attnlab.run.find_or_run import together
    from attnlab.run.runner import wait_for_finishes

    alone = len(works) == 1
    found = (
        [works[0]()]
        if alone
        else together(works, programs, launch.threads or processors(), at_a_time)
    )
    if os.getpid() != launch.owner.get("pid"):  # which may end this process at any time
        wait_for_finishes()
    return found


def _run_point(config: RunConfig, launch: Launch) -> Outcome:
    if not launch.is_active():
        return Outcome(NEW)
    outcome = run_or_find(config, launch)
    if outcome.state == FAILED:
        stop_early(launch, outcome)
    return outcome


def run_or_find(config: RunConfig, launch: Launch, on_epoch: OnEpoch | None = None) -> Outcome:
    """Make or find the run of a configuration; raises `KeyboardInterrupt`."""
    from attnlab.run.find_or_run import run_once
    from attnlab.run.loop import SweepMember

    member = SweepMember(launch.folder.name, on_epoch, launch.retry_failed)
    try:
        return Outcome(COMPLETED, run_once(config, member))
    except Pruned as pruned:
        return Outcome(PRUNED, error=str(pruned))
    except RunBusy as busy:
        return Outcome(RUNNING, error=str(busy))
    except Exception as error:
        is_a_sentence = isinstance(error, (RequestError, RunFailed))
        return Outcome(FAILED, error=plain_text(error) if is_a_sentence else failure(error))


def stop_early(launch: Launch, outcome: Outcome) -> None:
    """After a failure: stop the launch and raise `StoppedEarly`, if `sweep.fail_fast` is set."""
    if launch.fail_fast:
        launch.stop()
        raise StoppedEarly(outcome.error)


def prepare_process(launch: Launch) -> None:
    """Set up a process of its own for its work; the process that launched is left as it is."""
    if os.getpid() == launch.owner.get("pid"):
        return
    set_up()
    if launch.threads:
        for name in _THREADS:
            os.environ.setdefault(name, str(launch.threads))
        # Several processes share a GPU; by default the first would take all of its memory.
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if launch.bound:
        end_with(launch.owner)


def end_with(owner: Mapping[str, Any]) -> None:
    """Have this process interrupted when the one that launched it has gone, as by `kill -9`."""
    global _guarded
    if _guarded or threading.current_thread() is not threading.main_thread():
        return
    _guarded = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
    listen_for_interrupts()

    def watch() -> None:
        while is_running(owner):
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_SECONDS_TO_STOP)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
