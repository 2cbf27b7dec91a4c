"""Small searches for tests, and a process that works on one until it is killed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from attnlab.records.status import this_process
from attnlab.sweeps.search.settings import SearchSettings
from attnlab.sweeps.search.study import Study, Trial

RATE = {"optimizer.learning_rate": {"interval": [1e-4, 1e-1], "log": True, "points": 4}}
UNITS = {"model.units": {"int": [4, 64], "log": True, "points": 3}}
CELL = {"model.cell": {"choice": ["gru", "lstm"]}}
FIXED = ("task=fib",)


def settings(space: dict[str, Any] | None = None, **changes: Any) -> SearchSettings:
    """A small search for one or two settings."""
    document = {"space": {**RATE, **UNITS} if space is None else space, "trials": 6, **changes}
    return SearchSettings.parse(document, FIXED)


def values_of(trial: Trial) -> dict[str, str]:
    """Setting to value, as text."""
    return dict(override.split("=", 1) for override in trial.overrides)


def loss(trial: Trial) -> float:
    """A loss that is smallest at a learning rate of 0.01."""
    return (math.log10(float(values_of(trial)["optimizer.learning_rate"])) + 2) ** 2


def complete(study: Study, trial: Trial, metrics: int = 1) -> None:
    """Report the result of a run with these values."""
    size = float(values_of(trial).get("model.units", 1))
    study.tell(trial.number, "completed", (loss(trial), size)[:metrics])


def take(study: Study, count: int = 1, **options: Any) -> list[Trial]:
    """Take some trials for this process."""
    trials = [study.take(this_process(), **options) for _ in range(count)]
    return [trial for trial in trials if trial is not None]


def work(study: Study, metrics: int = 1) -> list[Trial]:
    """Run all remaining trials; return them."""
    done: list[Trial] = []
    while trials := take(study):
        complete(study, trials[0], metrics)
        done += trials
    return done


def work_in_a_process(folder: str, trials: int, storage: str | None) -> list[int]:
    """Open the study `shared` and run its trials; return their numbers."""
    study = Study.open(settings(trials=trials, storage=storage), Path(folder), "shared")
    return [trial.number for trial in work(study)]
