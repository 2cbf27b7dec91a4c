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
    """Return the devices of a run; TensorFlow can't have computed before with fewer processors.

    Raises:
        RequestError: there are fewer devices, or they can't share a batch equally.
    """
    number = _number(trainer)
    return Devices() if number == 1 else _mirrored(number, _gpus() > 0)


def check_devices(trainer: TrainerConfig) -> None:
    """Raise the errors of `devices_for`, and one if the user wants XLA on several devices.

    `devices_for` allows XLA, because a resumed run may have trained with it on one device.
    """
    number = _number(trainer)
    if number > 1 and trainer.jit is True:
        raise RequestError(
            f"trainer.devices={number}: XLA computes on one device: leave trainer.jit=true out, or "
            "use trainer.devices=1."
        )
    devices_for(trainer)


def _number(trainer: TrainerConfig) -> int:
    """Return the number of devices; raises the errors of `devices_for`."""
    if trainer.devices == 1:
        return 1
    gpus = _gpus()
    number = max(gpus, 1) if trainer.devices == "auto" else trainer.devices
    if number > (gpus or processors()):
        has = f"{gpus} GPUs" if gpus else f"no GPU, and {processors()} processors"
        raise RequestError(f"trainer.devices={number}: this machine has {has}.")
    if trainer.batch_by == "items" and trainer.batch_size % number:
        raise RequestError(
            f"trainer.batch_size={trainer.batch_size}: {number} devices take equal shares of a "
            f"batch: use a multiple of {number}."
        )
    return number


def _gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


@cache
def _mirrored(number: int, gpus: bool) -> Devices:
    """Return devices of this machine: GPUs, or shares of its processors."""
    if not gpus:
        _require_processors(number)
    kind = "gpu" if gpus else "cpu"
    names = [f"/{kind}:{at}" for at in range(number)]
    return Devices(number, tf.distribute.MirroredStrategy(names))


def _require_processors(number: int) -> None:
    (cpu,) = tf.config.list_physical_devices("CPU")
    known = tf.config.get_logical_device_configuration(cpu) or [None]
    if len(known) >= number:
        return
    parts = [tf.config.LogicalDeviceConfiguration()] * number
    try:
        tf.config.set_logical_device_configuration(cpu, parts)
    except RuntimeError:
        raise RequestError(
            f"trainer.devices={number}: this process already computes with fewer devices: start "
            "the run in a new process."
        ) from None


class Copies:
    """Variables with a copy on each device, which steps read and assign."""

    def __init__(self, strategy: tf.distribute.Strategy, like: Sequence[Any]) -> None:
        self.strategy = strategy
        own = {
            "trainable": False,
            # Each device assigns its own copy; all get the same values.
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA,
        }
        with strategy.scope():
            self.variables = [tf.Variable(tf.zeros(each.shape, each.dtype), **own) for each in like]

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
