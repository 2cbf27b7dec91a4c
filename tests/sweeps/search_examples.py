"""Searches as tests need them: small ones, and a process that works on one until it is killed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from attnlab.sweeps.search_settings import SearchSettings

from attnlab.sweeps.search import Search, Suggestion, TrialOutcome

RATE = {"optimizer.learning_rate": {"interval": [1e-4, 1e-1], "log": True, "points": 4}}
UNITS = {"model.units": {"int": [4, 64], "log": True, "points": 3}}
CELL = {"model.cell": {"choice": ["gru", "lstm"]}}
FIXED = ("task=fib",)


def settings(space: dict[str, Any] | None = None, **changes: Any) -> SearchSettings:
    """A small search for one or two settings."""
    document = {"space": {**RATE, **UNITS} if space is None else space, "trials": 6, **changes}
    return SearchSettings.parse(document, FIXED)


def values_of(suggestion: Suggestion) -> dict[str, str]:
    """Setting to value, as text."""
    return dict(override.split("=", 1) for override in suggestion.overrides)


def loss(suggestion: Suggestion) -> float:
    """Least at a learning rate of 0.01, like a loss."""
    return (math.log10(float(values_of(suggestion)["optimizer.learning_rate"])) + 2) ** 2


def outcome(suggestion: Suggestion, metrics: int = 1) -> TrialOutcome:
    """What a run with these values would have come to."""
    size = float(values_of(suggestion).get("model.units", 1))
    return TrialOutcome("completed", (loss(suggestion), size)[:metrics])


def work(search: Search, metrics: int = 1, at_a_time: int = 1) -> list[Suggestion]:
    """Run all trials that are left; returns them."""
    done: list[Suggestion] = []
    while batch := search.ask(at_a_time):
        for suggestion in batch:
            search.tell(suggestion.number, outcome(suggestion, metrics))
        done += batch
    return done


def work_in_a_process(folder: str, trials: int, storage: str | None) -> list[int]:
    """Open the search `shared` and work on it; returns the numbers of the trials it did."""
    search = Search.open(settings(trials=trials, storage=storage), Path(folder), "shared")
    return [suggestion.number for suggestion in work(search)]
