"""A gradient step in parts: equal slices of a batch's rows, whose gradients are added.

Parts are computed one after another, on one device or on several at a time. The loss of a part is
the sum of its rows' losses, each times the row's share of the weight of the whole batch, so padding
counts nothing and parts may have different numbers of real rows.

Every device has a copy of the weights and of the optimizer's states. Gradients are summed over the
devices, so the copies stay equal, and so do the results of any number of devices, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.attention.draws import Part, drawn, part_of_batch
from attnlab.config.sections import TrainerConfig
from attnlab.errors import RequestError
from attnlab.records.environment import processors
from attnlab.training.keras_internals import replaced_dropout


class Parts(NamedTuple):
    """How many parts a step has."""

    on_device: int = 1  # one after another
    devices: int = 1

    @property
    def number(self) -> int:
        """Return the number of all parts, which divides the rows of each batch."""
        return self.on_device * self.devices

    def filled(self, rows: np.ndarray, padding: int) -> np.ndarray:
        """Return row numbers (..., B) padded at the end so that the parts are equal."""
        missing = -rows.shape[-1] % self.number
        widths = [(0, 0)] * (rows.ndim - 1) + [(0, missing)]
        return np.pad(rows, widths, constant_values=padding) if missing else rows

    def summed(self, compute: Callable[[Part | None], Any], like: Any) -> Any:
        """Return the sum of `compute(part)` over all parts.

        With several devices, each calls this in its replica context, and all get the sum.

        Args:
            compute: returns nested tensors for a part; None is the whole batch.
            like: nested tensors of the same shapes and types.
        """
        if self.number == 1:
            return compute(None)
        if self.devices == 1:
            return self._summed_here(compute, like, 0)
        context = tf.distribute.get_replica_context()
        sums = self._summed_here(compute, like, context.replica_id_in_sync_group)
        return context.all_reduce("SUM", sums)

    def _summed_here(self, compute: Callable[[Part | None], Any], like: Any, device: Any) -> Any:
        """Return the sum over the parts of one device."""
        first = device * self.on_device
        if self.on_device == 1:
            return _computed(compute, Part(first, self.number))

        def body(at, sums):
            more = _computed(compute, Part(first + at, self.number))
            return at + 1, tf.nest.map_structure(tf.add, sums, more)

        start = tf.constant(0), tf.nest.map_structure(tf.zeros_like, like)
        # Parallel iterations would need the memory of the whole batch.
        _, sums = tf.while_loop(
            lambda at, _: at < self.on_device, body, start, parallel_iterations=1
        )
        return sums


WHOLE = Parts()


def _computed(compute: Callable[[Part | None], Any], part: Part) -> Any:
    with part_of_batch(part), replaced_dropout(drawn):
        return compute(part)


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
            self.variables = [tf.Variable(tf.zeros(v.shape, v.dtype), **options) for v in like]

    def fill(self, values: Sequence[Any]) -> None:
        """Assign values to every copy."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.assign(value)

    def read(self) -> list[np.ndarray]:
        """Return the values of the first copies."""
        first = (self.strategy.experimental_local_results(v)[0] for v in self.variables)
        return [copy.numpy() for copy in first]

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
            lambda result: self.strategy.experimental_local_results(result)[0], results
        )
