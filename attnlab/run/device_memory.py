"""A device that runs out of memory while it trains: which smaller batch fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.run.building import make_learner
from attnlab.tasks.base import Task


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
