"""Estimate what a run takes, from a few of its own gradient steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.runner.building import make_learner, memory_errors_explained, start_afresh
from attnlab.runner.console import screen
from attnlab.runner.train import prepare

_FEW = 2  # steps of the first measurement
_AIM = 2.0  # seconds that the measured steps should take
_COMPILING = 10.0  # seconds; a first validation that took less may be mostly compiling


class Estimate(NamedTuple):
    """What a run takes on this machine, in seconds."""

    parameters: int
    epochs: int
    steps_per_epoch: int
    step: float  # a gradient step
    validation: float  # after an epoch on average, by an untrained model
    preparing: float  # reading the data, building and compiling the model

    @property
    def seconds(self) -> float:
        """Return the time of all epochs; early stopping may end a run before."""
        epoch = self.steps_per_epoch * self.step + self.validation
        return self.preparing + self.epochs * epoch


def estimate(config: RunConfig) -> Estimate:
    """Measure some steps of a run, and a validation; nothing is stored.

    Raises:
        RequestError: as `train.run` before and during the first epoch.
    """
    started, epochs = time.perf_counter(), config.trainer.epochs
    with screen() as shown, memory_errors_explained(config):
        task, _ = prepare(config, shown)
        start_afresh(config.seed)
        learner = make_learner(config, task)
        chunks = learner.chunks(1)
        shown.working(0, None, "measuring")

        def seconds_per_step(steps: int) -> float:
            chunk = chunks[0].first(steps)
            rates = np.zeros(chunk.steps, np.float32)
            learner.train(chunk, rates, 0)  # compiles
            return _seconds(lambda: learner.train(chunk, rates, 0)) / chunk.steps

        step = seconds_per_step(_FEW)
        validation = _seconds(lambda: learner.validate(epochs))
        preparing = time.perf_counter() - started
        if _FEW * step < _AIM:  # a call has a cost of its own, so many fast steps are measured
            step = seconds_per_step(int(_AIM / step))
        if validation < _COMPILING:
            validation = _seconds(lambda: learner.validate(epochs))
        every = config.task.settings.get("score_every", 1)
        if every > 1 and epochs > 1:  # only some epochs are scored, the last one among them
            share = -(-epochs // every) / epochs
            validation = share * validation + (1 - share) * _seconds(lambda: learner.validate(1))
    sizes = learner.model.count_params(), epochs, sum(chunk.steps for chunk in chunks)
    return Estimate(*sizes, step, validation, preparing)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
