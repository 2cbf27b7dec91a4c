"""The devices that compute a run's steps, each a part of the rows of every batch.

Every device has a copy of the weights and of the optimizer's states. Gradients are summed over the
devices, so the copies stay equal, and so do the results of any number of devices, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.config.sections import TrainerConfig
from attnlab.errors import RequestError
from attnlab.process import processors
from attnlab.training.parts import Parts


class Devices(NamedTuple):
    """How many devices compute a step, and their strategy; None for one device."""

    number: int = 1
    strategy: tf.distribute.Strategy | None = None

    def parts(self, accumulate: int) -> Parts:
        """Return the parts of each step."""
        return Parts(accumulate, self.number)


def devices_for(trainer: TrainerConfig) -> Devices:
    """Return the devices of a run: GPUs, or shares of the processors of a machine without one.

    Raises:
        RequestError: there are fewer devices, or they can't share a batch equally.
    """
    if trainer.devices == 1:
        return Devices()
    gpus = len(tf.config.list_physical_devices("GPU"))
    number = max(gpus, 1) if trainer.devices == "auto" else trainer.devices
    if number > (gpus or processors()):
        available = f"{gpus} GPUs" if gpus else f"no GPU, and {processors()} processors"
        raise RequestError(f"trainer.devices={number}: this machine has {available}.")
    if trainer.batch_by == "items" and trainer.batch_size % number:
        raise RequestError(
            f"trainer.batch_size={trainer.batch_size}: {number} devices take equal shares of a "
            f"batch: use a multiple of {number}."
        )
    return Devices() if number == 1 else _mirrored(number, "gpu" if gpus else "cpu")


@cache
def _mirrored(number: int, kind: str) -> Devices:
    (cpu,) = tf.config.list_physical_devices("CPU")
    shares = tf.config.get_logical_device_configuration(cpu) or [None]
    if kind == "cpu" and len(shares) < number:
        try:
            shares = [tf.config.LogicalDeviceConfiguration()] * number
            tf.config.set_logical_device_configuration(cpu, shares)
        except RuntimeError:
            raise RequestError(
                f"trainer.devices={number}: this process already computes with fewer devices: "
                "start the run in a new process."
            ) from None
    names = [f"/{kind}:{at}" for at in range(number)]
    return Devices(number, tf.distribute.MirroredStrategy(names))


class Copies:
    """Variables with a copy on each device, which steps read and assign."""

    def __init__(self, strategy: tf.distribute.Strategy, like: Sequence[Any]) -> None:
        self.strategy = strategy
        options = {
            "trainable": False,
            # Each device assigns its own copy; all get the same values.
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA,
        }
        with strategy.scope():
            self.variables = [
                tf.Variable(tf.zeros(each.shape, each.dtype), **options) for each in like
            ]

    def fill(self, values: Sequence[Any]) -> None:
        """Assign values to every copy."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.assign(value)

    def read(self) -> list[np.ndarray]:
        """Return the values of the first copies."""
        first = (self.strategy.experimental_local_results(each)[0] for each in self.variables)
        return [each.numpy() for each in first]

    def own(self, count: int) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Return the values on this device: the first `count`, and the others; in a step."""
        values = [variable.read_value() for variable in self.variables]
        return values[:count], values[count:]

    def assign(self, values: Sequence[tf.Tensor]) -> None:
        """Assign values on this device; in a step."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.assign(value)

    def first(self, results: Any) -> Any:
        """Return the results of the first device, which all devices have."""
        return tf.nest.map_structure(
            lambda each: self.strategy.experimental_local_results(each)[0], results
        )
