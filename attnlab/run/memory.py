"""What a run will take of the machine's memory, counted before anything is made."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.config.sections import Option, RunConfig
from attnlab.errors import RequestError
from attnlab.run.building import counted_model
from attnlab.tasks.base import Task

# Sizes up to this one are made without counting: no machine is too small for them.
_ALWAYS_FITS = 1024
# Arrays of a weight's size beside itself: its gradient, and what the optimizer keeps.
_STATES = {"adam": 2, "adamw": 2, "adadelta": 2, "rmsprop": 2}
_BYTES, _GIB = 4, 2**30
# Each value of a batch is kept for its gradient, and worked on once more.
_COPIES = 3
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Needs(NamedTuple):
    """Bytes that training takes, at least."""

    weights: int  # with gradients and the optimizer's states
    batch: int  # values between layers, of one gradient step


def refuse_what_does_not_fit(config: RunConfig, task: Task, counts: Mapping[str, int]) -> None:
    """Refuse a run that the machine has no memory for, and say what would fit.

    Args:
        config: the run's configuration.
        task: its task, with the data loaded.
        counts: items of each part of the data.

    Raises:
        RequestError: weights, optimizer and a batch take more than there is.
    """
    sizes = [*config.model.settings.values(), *config.attention.settings.values()]
    largest = max((size for size in sizes if isinstance(size, int)), default=0)
    if max(largest, config.trainer.batch_size) <= _ALWAYS_FITS:
        return
    needs, there = _needs(config, task, counts), _memory()
    if sum(needs) <= there:
        return
    key = "model.units" if needs.weights > needs.batch else "trainer.batch_size"
    fits = _what_fits(config, task, counts, key, there)
    advice = f" {key}={fits} would fit." if fits else ""
    raise RequestError(
        f"{key}: expected a run that fits into {there / _GIB:.1f} GiB of memory, got one that takes "
        f"{sum(needs) / _GIB:,.1f} GiB at least: {needs.weights / _GIB:,.1f} for weights, gradients "
        f"and optimizer, {needs.batch / _GIB:,.1f} for a batch.{advice}"
    )


def _needs(config: RunConfig, task: Task, counts: Mapping[str, int]) -> Needs:
    shapes = [weight.shape for weight in counted_model(config, task).weights]
    copies = 2 + _STATES.get(config.optimizer.name, 1)
    weights = sum(math.prod(shape) for shape in shapes) * copies * _BYTES
    # A matrix makes as many values of each step of an item as it has columns.
    values = sum(shape[-1] for shape in shapes if len(shape) == 2)
    settings = config.task.settings
    length = settings.get("history") or 1
    items = min(config.trainer.batch_size, counts.get("train", config.trainer.batch_size))
    if config.trainer.batch_by == "tokens":
        items = min(config.trainer.batch_size, items * settings.get("max_length", 1))
    return Needs(weights, items * length * values * _COPIES * _BYTES)


def _what_fits(
    config: RunConfig, task: Task, counts: Mapping[str, int], key: str, there: int
) -> int | None:
    """The largest half, quarter, ... of a setting that fits; None if even 1 does not."""
    section, _, name = key.partition(".")
    size = _setting(config, section, name)
    while isinstance(size, int) and size > 1:
        size = 2 ** (size.bit_length() - 1) if size & (size - 1) else size // 2
        if sum(_needs(_changed(config, section, name, size), task, counts)) <= there:
            return size
    return None


def _setting(config: RunConfig, section: str, name: str) -> Any:
    part = getattr(config, section)
    return part.settings.get(name) if isinstance(part, Option) else getattr(part, name)


def _changed(config: RunConfig, section: str, name: str, value: int) -> RunConfig:
    part = getattr(config, section)
    if isinstance(part, Option):
        part = dataclasses.replace(part, settings={**part.settings, name: value})
    else:
        part = dataclasses.replace(part, **{name: value})
    return dataclasses.replace(config, **{section: part})


def _memory() -> int:
    """Bytes of memory of the machine, or of the container that this process is in."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text().strip() if _CGROUP.is_file() else "max"
    return min(there, int(limit)) if limit.isdigit() else there
