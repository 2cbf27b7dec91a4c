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
from attnlab.training.hosts import Hosts, Messages, hosts_of_this_run
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
    if number == 1:
        return Devices()
    hosts = _hosts(trainer)
    return Devices(number, _connected(hosts, _gpus())) if hosts else _here(number, _gpus() > 0)


def hosts_for(trainer: TrainerConfig) -> Hosts | None:
    """Return the hosts of this process's run, which may then have several; None: only this one.

    Raises:
        RequestError: as of `hosts_of_this_run` and `devices_for`.
    """
    global _may_span_hosts
    _may_span_hosts = True
    _number(trainer)
    return _hosts(trainer)


def messages_between(hosts: Hosts) -> Messages:
    """Connect hosts, as `Hosts.connect` does, and return the messages between them."""
    return Messages(hosts, _connected(hosts, _gpus()))


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


# Whether `hosts_for` was called: only a run of its own may have several hosts.
_may_span_hosts = False


def _hosts(trainer: TrainerConfig) -> Hosts | None:
    """Return the hosts of a run on several devices; None if this is the only one."""
    hosts = None if trainer.devices == 1 else hosts_of_this_run()
    if hosts and not _may_span_hosts:
        raise RequestError(
            f"trainer.devices={trainer.devices}: only `attnlab` with one run and `attnlab resume` "
            "span hosts: use trainer.devices=1 here."
        )
    return hosts


@cache
def _connected(hosts: Hosts, gpus: int) -> tf.distribute.Strategy:
    return hosts.connect(gpus)


def _number(trainer: TrainerConfig) -> int:
    """Return the number of devices; raises the errors of `devices_for`."""
    if trainer.devices == 1:
        return 1
    gpus, hosts = _gpus(), _hosts(trainer)
    here = gpus or (1 if hosts else processors())
    there = here * len(hosts.addresses) if hosts else here
    number = trainer.devices
    if number == "auto":
        number = there if gpus or hosts else 1
    if hosts and number != there:
        each = f"with {gpus} GPUs each" if gpus else "without a GPU"
        raise RequestError(
            f"trainer.devices={number}: {len(hosts.addresses)} hosts {each} have {there} devices "
            f"in all: use {there} or auto."
        )
    if number > there:
        found = f"{gpus} GPUs" if gpus else f"no GPU, and {there} processors"
        raise RequestError(f"trainer.devices={number}: this machine has {found}.")
    if trainer.batch_by == "items" and trainer.batch_size % number:
        raise RequestError(
            f"trainer.batch_size={trainer.batch_size}: {number} devices take equal shares of a "
            f"batch: use a multiple of {number}."
        )
    return number


def _gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


@cache
def _here(number: int, gpus: bool) -> Devices:
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
