"""Whether a run fits into memory: before it trains, and when a device runs out of it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records.environment import has_gpu
from attnlab.run.building import counted_model, make_learner
from attnlab.tasks.base import Task, TaskData

# Arrays of a weight's size that the optimizer stores.
_STATES = {"adam": 2, "adamw": 2, "muon": 2, "adadelta": 2, "rmsprop": 2}
_BYTES, _GIB = 4, 2**30
_CGROUP = Path("/sys/fs/cgroup/memory.max")
# Models in which each step looks at all steps.
_STACKS = ("transformer", "vit", "pretrained")


class Needs(NamedTuple):
    """The least memory that training takes, in bytes."""

    weights: int  # with gradients and the optimizer's states
    batch: int  # values between layers, stored for the gradient of one step


def refuse_what_does_not_fit(config: RunConfig, task: Task, data: TaskData) -> None:
    """Refuse a run that doesn't fit into memory.

    Raises:
        RequestError: weights, optimizer and a batch need more memory than there is; the text says
            what would fit.
    """
    needs, there = _needs(config, task, data), memory()
    if there is None or sum(needs) <= there:
        return
    key = "model.units" if needs.weights > needs.batch else "trainer.batch_size"
    if lookup(config.document, key) is None:  # a pretrained model has its own sizes
        key, advice = "model", "Use a smaller one."
    elif fits := _what_fits(config, task, data, key, there):
        advice = f"By this count {key}={fits} would fit."
    else:
        advice = "No smaller value would fit."
    has, total, weights, batch = (size / _GIB for size in (there, sum(needs), *needs))
    raise RequestError(
        f"{key}: the run needs at least {total:,.1f} GiB of memory ({weights:,.1f} for weights, "
        f"gradients and optimizer, {batch:,.1f} for a batch), but this machine has {has:.1f} GiB. "
        f"{advice}"
    )


class _Sizes(NamedTuple):
    """Numbers of values."""

    weights: int
    trained: int  # weights that are trained
    between: int  # between layers, for each step of an item
    steps: int  # of the longest item


_known: dict[tuple[str, str], _Sizes] = {}  # by program and data


def _needs(config: RunConfig, task: Task, data: TaskData) -> Needs:
    key = config.program, data.digest
    if key not in _known:
        _known[key] = _sizes(config, task, data)
    sizes, size = _known[key], config.trainer.batch_size
    states = 1 + _STATES.get(config.optimizer.name, 1)  # and gradients
    steps = size if config.trainer.batch_by == "tokens" else size * sizes.steps
    steps = min(steps, data.counts()["train"] * sizes.steps)
    width = _BYTES if config.trainer.precision == "float32" else _BYTES // 2
    batch = steps * sizes.between * width
    # A GPU has memory of its own; if it is too small, `memory_errors_explained` says so.
    return Needs((sizes.weights + states * sizes.trained) * _BYTES, 0 if has_gpu() else batch)


def _sizes(config: RunConfig, task: Task, data: TaskData) -> _Sizes:
    model = counted_model(config, task)
    from attnlab.training.keras_internals import layers_with_scores

    trained = [weight.shape for weight in model.trainable_weights]
    grid = getattr(model, "grid", None)  # of the patches of an image, whose pixels are no steps
    steps = math.prod(grid) if grid else data.longest
    # A matrix computes as many values as it has columns; those with more columns than rows may be
    # applied to few steps only, such as output layers. In a stack, each head stores a weight for
    # each step that it sees.
    between = sum(min(shape) for shape in trained if len(shape) == 2)
    if config.model.name in _STACKS:
        scored = layers_with_scores(model)
        between += sum(each.heads * min(steps, each.window or steps) for each in scored)
    weights = sum(math.prod(weight.shape) for weight in model.weights)
    return _Sizes(weights, sum(map(math.prod, trained)), between, steps)


def _what_fits(config: RunConfig, task: Task, data: TaskData, key: str, there: int) -> int | None:
    """Return the largest power of two below the setting that fits; None if even 1 does not."""
    size = lookup(config.document, key)
    while isinstance(size, int) and size > 1:
        size = 2 ** ((size - 1).bit_length() - 1)
        with suppress(RequestError):  # another setting may need a larger value
            if sum(_needs(config.with_values({key: size}), task, data)) <= there:
                return size
    return None


def memory() -> int | None:
    """Return the bytes of memory of this machine or container; None if the system doesn't say."""
    if not hasattr(os, "sysconf"):  # Windows
        return None
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text("utf-8").strip() if _CGROUP.is_file() else "max"
    return min(there, int(limit)) if limit.isdigit() else there


@contextmanager
def memory_errors_explained(
    config: RunConfig, task: Task, place: tuple[int, int] | None = None
) -> Iterator[None]:
    """Turn TensorFlow's error about memory in the body into one that names a batch that fits.

    Args:
        config: the run's.
        task: with its data.
        place: the epoch, and the number of its chunk that is trained; None: nothing is trained.

    Raises:
        RequestError: the device is out of memory.
    """
    try:
        yield
    except Exception as error:
        if not _is_about_memory(error):
            raise
        if place is None:
            raise RequestError(
                "model: the device is out of memory while it evaluates: use a smaller model."
            ) from error
        size = config.trainer.batch_size
        start = f"trainer.batch_size={size}: the device is out of memory."
        if config.trainer.devices != 1:
            advice = "Use a smaller batch and a larger trainer.accumulate."
        elif fits := _fitting(config, task, *place):
            accumulate = config.trainer.accumulate * size // fits
            advice = (
                f"trainer.batch_size={fits} trainer.accumulate={accumulate} fits, with the same "
                "result up to rounding."
            )
        else:
            advice = "No smaller batch fits: use a smaller model."
        raise RequestError(f"{start} {advice}") from error


def _fitting(config: RunConfig, task: Task, epoch: int, number: int) -> int | None:
    """Return the size of a smaller batch with which a step of a chunk fits; None if none does.

    It divides the present size, so accumulated batches have as many rows as one has now.
    """
    size = smaller = config.trainer.batch_size
    while smaller > 1:
        smaller = next(each for each in range(smaller // 2, 0, -1) if size % each == 0)
        accumulate = config.trainer.accumulate * size // smaller
        values = {"trainer.batch_size": smaller, "trainer.accumulate": accumulate}
        try:
            learner = make_learner(config.with_values(values), task)
            step = learner.chunks(epoch)[number].first(1)
            learner.train(step, np.zeros(1, np.float32), 0)
            return smaller
        except Exception as error:
            if not _is_about_memory(error):
                raise
    return None


def _is_about_memory(error: Exception) -> bool:
    from tensorflow.errors import ResourceExhaustedError

    return isinstance(error, ResourceExhaustedError)
