"""The work that a launcher runs: points of a grid, or trials of a search.

Workers of joblib and submitit import this module to find the functions. The import registers what
Hydra needs to compose a configuration.
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
from attnlab.records.status import end_with_launcher, is_running, this_process
from attnlab.run.command import check_for_interrupt, listen_for_interrupts
from attnlab.run.find_or_run import COMPLETED, FAILED, PRUNED, RUNNING
from attnlab.sweeps.sweep_folder import SweepFolder
from attnlab.tasks.kinds import kind_of

composing.register_schema()

NEW = "new"
MOST_TOGETHER = 32
# XLA never frees compiled programs, which take about 18 MB each.
MOST_PROGRAMS = 16
Result = TypeVar("Result")
OnEpoch = Callable[[Mapping[str, float]], None]
_SECONDS_BETWEEN_LOOKS, _SECONDS_TO_STOP = 1.0, 20.0
# How long a worker may outlive the process that launched it.
ORPHANED_SECONDS = _SECONDS_BETWEEN_LOOKS + _SECONDS_TO_STOP
# Thread settings of TensorFlow and of NumPy's libraries.
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
_guarded = False
log = logging.getLogger("attnlab")


class StoppedEarly(BaseException):
    """A run failed and `sweep.fail_fast` is set. No Exception, so that launchers don't catch it."""


@dataclass(frozen=True)
class Launch:
    """What all work of one launch shares; it is pickled to the worker processes."""

    folder: Path  # the sweep's folder
    number: int  # number of the launch in the sweep, from 1
    owner: Mapping[str, Any] = field(default_factory=this_process)  # the process that launched
    threads: int | None = None  # threads per process; None for the libraries' default
    bound: bool = True  # whether work ends with the process that launched it
    fail_fast: bool = False  # whether the first run that fails stops the others
    retry_failed: Collection[Path] = ()  # folders of failed runs to run again

    def is_owner(self) -> bool:
        """Whether this process launched the work."""
        this = this_process()
        return all(this[key] == self.owner.get(key) for key in ("host", "pid"))

    def is_active(self) -> bool:
        """Whether more work may start: the launch isn't stopped, and a needed owner is alive."""
        owned = not self.bound or is_running(self.owner)
        return owned and not SweepFolder(self.folder).is_stopped(self.number)

    def stop(self) -> None:
        """Stop the launch: no more of its work starts."""
        try:
            SweepFolder(self.folder).stop_launch(self.number)
        except OSError as error:
            log.warning("%s: can't be written: %s", self.folder, error)


class Room:
    """Room in this process for compiled programs, counted from the object's creation."""

    def __init__(self) -> None:
        self._before = _programs()

    def is_full(self) -> bool:
        """Whether the next program should be compiled in another process."""
        return _programs() - self._before >= MOST_PROGRAMS


def _programs() -> int:
    """Return the number of programs that this process has compiled."""
    cache = sys.modules.get("attnlab.training.program_cache")
    return cache.compiled if cache else 0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    state: str  # `running`: another process runs it; `new`: it was not started
    folder: Path | None = None  # folder of a completed run, or of a trial's run in any state
    error: str | None = None  # why it failed or was pruned
    values: Collection[float] | None = None  # `SearchSettings.objectives` of a completed trial


def run_points(
    cfg: DictConfig, *, launch: Launch, groups: Mapping[str, Sequence[RunConfig]]
) -> list[Outcome]:
    """Start or resume the runs of a group of configurations, which train together.

    Args:
        cfg: The composed configuration of the group's first run.
        launch: The launch.
        groups: The groups, by the digest of the settings of their first run.

    Raises:
        KeyboardInterrupt: Interrupted.
        StoppedEarly: A run failed, and `sweep.fail_fast` is set.
    """
    check_for_interrupt()
    prepare_process(launch)
    configs = groups[composing.from_hydra(cfg).digest_of_settings]
    works = [partial(_run_point, config, launch) for config in configs]
    programs = [config.program for config in configs]
    return run_together(works, programs, launch, at_a_time(configs))


def at_a_time(configs: Iterable[RunConfig]) -> int:
    """Return how many of these runs train at a time in a process."""
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
    """Call functions that each make a run, so that equal programs train together.

    Returns the results of the functions.
    """
    from attnlab.run.find_or_run import together
    from attnlab.run.runner import wait_for_finishes

    alone = len(works) == 1
    found = (
        [works[0]()]
        if alone
        else together(works, programs, launch.threads or processors(), at_a_time)
    )
    if not launch.is_owner():  # the owner may end this process at any time
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
    """Find the completed run of a configuration, or run it; raises `KeyboardInterrupt`."""
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
    """After a failure, stop the launch and raise `StoppedEarly` if `sweep.fail_fast` is set."""
    if launch.fail_fast:
        launch.stop()
        raise StoppedEarly(outcome.error)


def prepare_process(launch: Launch) -> None:
    """Set up a worker process; the process that launched the work is not changed."""
    if launch.is_owner():
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
    """Interrupt this process when the process that launched it has ended, as by `kill -9`."""
    global _guarded
    end_with_launcher(owner)
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
