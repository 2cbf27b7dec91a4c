"""Estimate what a run takes, from a few of its own gradient steps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.run.building import make_learner, start_afresh
from attnlab.run.console import screen
from attnlab.run.memory import memory, memory_errors_explained
from attnlab.run.runner import prepared
from attnlab.tasks.base import Chunk, Learner

_FEW = 2  # steps of the first measurement
_AIM = 2.0  # seconds that a measurement of more steps should take
_REPEATS = 3  # of a measurement, if there is time
_COMPILING = 10.0  # seconds; a first validation that took less may be mostly compiling


class Estimate(NamedTuple):
    """What a run takes on this machine; times in seconds, memory in bytes."""

    parameters: int
    epochs: int
    steps_per_epoch: int
    compiler: str  # `XLA` or `graph`
    measured_steps: int
    step: float  # a gradient step
    validation: float  # after an epoch on average, by an untrained model
    preparing: float  # reading the data, building and compiling the model
    memory: int | None  # the most main memory of this process; None where the system doesn't say
    memory_there: int | None

    @property
    def seconds(self) -> float:
        """Return the time of all epochs; early stopping may end a run before."""
        epoch = self.steps_per_epoch * self.step + self.validation
        return self.preparing + self.epochs * epoch


def estimate(config: RunConfig, seconds: float) -> Estimate:
    """Measure steps of a run for about `seconds`, and its first validation; nothing is stored.

    Raises:
        RequestError: what `runner.run` raises before training, such as too little memory.
    """
    started = time.perf_counter()
    with screen() as shown:
        task, _ = prepared(config, shown)
        start_afresh(config.seed)
        learner = make_learner(config, task)
        chunks = learner.chunks(1)
        built = time.perf_counter() - started
        shown.working(0, None, "measuring")
        with memory_errors_explained(config, task, (1, 0)):
            steps = _measured(learner, chunks[0], seconds)
        with memory_errors_explained(config, task):
            validation = _validation(learner, config, max(seconds / 2, _COMPILING))
    return Estimate(
        parameters=learner.model.count_params(),
        epochs=config.trainer.epochs,
        steps_per_epoch=sum(chunk.steps for chunk in chunks),
        compiler="XLA" if learner.jit and config.trainer.devices == 1 else "graph",
        measured_steps=steps.count,
        step=steps.seconds,
        validation=validation.seconds,
        preparing=built + steps.compiling + validation.compiling,
        memory=_memory_so_far(),
        memory_there=memory(),
    )


class _Validation(NamedTuple):
    seconds: float  # of one, on average over the epochs
    compiling: float  # seconds of the first one beyond that


def _validation(learner: Learner, config: RunConfig, enough: float) -> _Validation:
    """Measure a validation, twice if the first one took less than `enough` seconds.

    With `task.score_every` only some epochs have scores, the last one among them.
    """
    every, last = config.task.settings.get("score_every", 1), config.trainer.epochs
    first = scored = _took(lambda: learner.validate(last))
    if first < enough:
        scored = _took(lambda: learner.validate(last))
    others = 0.0 if every == 1 or last == 1 else _took(lambda: learner.validate(1))
    share = -(-last // every) / last
    seconds = share * scored + (1 - share) * others
    return _Validation(seconds, max(first - scored, 0.0))


class _Steps(NamedTuple):
    count: int  # steps that were measured
    seconds: float  # of one
    compiling: float  # seconds of the first call beyond its steps


def _measured(learner: Learner, chunk: Chunk, seconds: float) -> _Steps:
    """Measure gradient steps for about `seconds`.

    The first call for each number of steps compiles, so it doesn't count. If a few steps are fast,
    more of them are measured at once, because a call has a cost of its own.
    """
    few = chunk.first(_FEW)
    first = _train(learner, few)
    until = time.perf_counter() + seconds
    step = _train(learner, few) / few.steps
    compiling = max(first - few.steps * step, 0.0)
    more = chunk.first(max(_FEW, int(_AIM / step)))
    if more.steps > few.steps and time.perf_counter() + 2 * step * more.steps < until:
        _train(learner, more)
        few = more
    times = [_train(learner, few)]
    while len(times) < _REPEATS and time.perf_counter() + times[0] < until:
        times.append(_train(learner, few))
    return _Steps(len(times) * few.steps, float(np.median(times)) / few.steps, compiling)


def _train(learner: Learner, chunk: Chunk) -> float:
    """Take the steps of a chunk with a rate of 0; returns the seconds."""
    return _took(lambda: learner.train(chunk, np.zeros(chunk.steps, np.float32), 0))


def _took(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _memory_so_far() -> int | None:
    """Return the most bytes that this process has had in memory; None on Windows."""
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
