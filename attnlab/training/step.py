"""One gradient step: random draws, loss and gradients, update.

A step is a function of (weights, optimizer state, batch, random seed), in two forms: the compiled
epoch of `program` calls it in a loop over rows in memory, a translator calls it once per batch.

It may be computed in parts, equal slices of a batch's rows whose gradients are added: one part
after another, or on several devices at a time. The loss of a part is the sum of its rows' losses
divided by the size of the whole batch, so padding counts nothing and parts may have different
numbers of real rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from attnlab.attention.dropout import Part, part_of_batch, rows_of
from attnlab.config.sections import TrainerConfig
from attnlab.errors import RequestError
from attnlab.records.environment import processors

# Draws that a generator may make in a step before its counter reaches the next step's.
_DRAWS_PER_STEP = 256
_ODD = 0x9E3779B1  # odd, so that its products with step numbers all differ
# An update: (states, rate, gradients, values) -> values, states.
Update = Callable[[Sequence, Any, Sequence, Sequence], tuple[Sequence, Sequence]]


class InMemoryModel(keras.Model):
    """A model whose data stay in memory; its runs may be stacked.

    Attributes:
        rate_factors: a factor of the learning rate for each trained variable; None: 1.
        fixed_length: the only input length that the weights fit; None: any length.
        faster_with_xla: whether XLA trains it faster than the graph on this CPU.
    """

    rate_factors: list[float] | None = None
    fixed_length: int | None = None
    faster_with_xla: bool = False

    def batch(self, data: Sequence[tf.Tensor], rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the inputs and targets (runs, B, ...) of a step.

        Args:
            data: the inputs and the targets of stacked runs, each (runs, N, ...).
            rows: (runs, B), the rows of the step.
        """
        inputs, targets = (gather_rows(part, rows) for part in data)
        return inputs, targets

    def is_decayed(self, variable: keras.Variable) -> bool:
        """Return whether an optimizer's weight decay applies to a variable."""
        return True

    def encode(self, inputs: Any, training: bool | None = None) -> tuple:
        """Return what `decode` needs of inputs (..., B, S, ...); leading axes are stacked runs.

        A model loops over time steps here, once for all runs of a stack.
        """
        return (inputs,)

    def decode(self, encoded: tuple, training: bool | None = None) -> Any:
        """Return the outputs (B, ...) of one run from its part of the result of `encode`."""
        return self(*encoded, training=training)

    def attention_weights(self, inputs: Any) -> Any:
        """Return the attention weights for some inputs; None without attention."""
        return None

    def stackable(self, batch: int) -> int:
        """Return the stack width up to which runs train faster than alone, for a batch size."""
        return 1


def gather_rows(data: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Gather rows (runs, B, ...) of data (runs, N, ...)."""
    if data.shape[0] == 1:
        return tf.gather(data[0], rows)  # faster than with a batch axis
    return tf.gather(data, rows, batch_dims=1)


class RandomStates:
    """The states of a model's random generators, as a function of (seed, step).

    A generator's state is two numbers; each draw increments the second. Steps with at most 256
    draws differ in the second number, `256 step`; steps with more draws differ in the first.
    """

    def __init__(self, model: keras.Model) -> None:
        self.variables = [
            variable
            for variable in model.non_trainable_variables
            if variable.path.endswith("seed_generator_state")
        ]

    def seeds(self, seed: int) -> tf.Tensor:
        """Return the numbers that `at` needs for a run's seed: one per state, plus one."""
        drawn = np.random.SeedSequence(seed).generate_state(len(self.variables) + 1)
        return tf.constant(drawn, tf.uint32)

    def at(
        self, seeds: tf.Tensor, step: tf.Tensor, draws: tf.Tensor | Literal[1] = 1
    ) -> list[tf.Tensor]:
        """Return the value (2,) of every state before a step; earlier draws have no influence.

        Args:
            seeds: of `seeds`.
            step: gradient steps that the run took before.
            draws: the most draws of one generator in this step: a tensor, or 1.
        """
        counter = step * _DRAWS_PER_STEP
        if not isinstance(draws, int):
            many, turned = draws > _DRAWS_PER_STEP, (step + 1) * _ODD % 2**32
            turned = tf.bitwise.bitwise_xor(tf.cast(seeds, tf.int64), turned)
            seeds = tf.where(many, turned, tf.cast(seeds, tf.int64))
            counter = tf.where(many, tf.zeros_like(counter), counter)
        counter = tf.cast(counter, tf.uint32)
        return [
            tf.cast(tf.stack([tf.cast(seeds[number], tf.uint32), counter]), variable.dtype)
            for number, variable in enumerate(self.variables)
        ]


class Parts(NamedTuple):
    """How many parts a step has."""

    on_device: int = 1  # one after another
    devices: int = 1

    @classmethod
    def of(cls, accumulate: int, strategy: tf.distribute.Strategy | None) -> Parts:
        """Return the parts of a step that adds `accumulate` gradients on every device."""
        return cls(accumulate, strategy.num_replicas_in_sync if strategy else 1)

    @property
    def number(self) -> int:
        """Return the number of all parts, which divides the rows of each batch."""
        return self.on_device * self.devices

    def pad(self, rows: np.ndarray, padding: int) -> np.ndarray:
        """Return row numbers (..., B) padded at the end so that the parts are equal."""
        missing = -rows.shape[-1] % self.number
        widths = [(0, 0)] * (rows.ndim - 1) + [(0, missing)]
        return np.pad(rows, widths, constant_values=padding) if missing else rows

    def sum(self, compute: Callable[[Part], Any], like: Any) -> Any:
        """Return the sum of `compute(part)` over all parts.

        With several devices, each calls this in its replica context, and all get the sum.

        Args:
            compute: returns nested tensors for a part.
            like: nested tensors of the same shapes and types.
        """
        context = tf.distribute.get_replica_context() if self.devices > 1 else None
        first = self.on_device * context.replica_id_in_sync_group if context else 0

        def computed(number):
            part = Part(first + number, self.number)
            with part_of_batch(part):
                return compute(part)

        def body(number, sums):
            return number + 1, tf.nest.map_structure(tf.add, sums, computed(number))

        if self.on_device == 1:
            sums = computed(0)
        else:
            start = tf.constant(0), tf.nest.map_structure(tf.zeros_like, like)
            # Parallel iterations would need the memory of the whole batch.
            _, sums = tf.while_loop(
                lambda number, _: number < self.on_device, body, start, parallel_iterations=1
            )
        return context.all_reduce("SUM", sums) if context else sums


WHOLE = Parts()


class Step(ABC):
    """A gradient step of a model; a subclass defines what a batch is, its size and its loss.

    Args:
        model: a built model.
        update: the optimizer's formula.
        parts: of each batch; they divide its rows.
    """

    rows_axis = 0  # of the tensors of a batch

    def __init__(self, model: keras.Model, update: Update, parts: Parts = WHOLE) -> None:
        self.model, self.update, self._parts = model, update, parts
        self.random = RandomStates(model)
        self._variables = [*model.trainable_variables, *self.random.variables]

    @abstractmethod
    def size(self, batch: Sequence[tf.Tensor]) -> tf.Tensor:
        """Return the number of real rows or tokens of a whole batch."""

    @abstractmethod
    def loss(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Return the sum of the losses of some rows of a batch, in training."""

    def most_draws(self, batch: Sequence[tf.Tensor]) -> tf.Tensor | Literal[1]:
        """Return the most draws of one random generator in a step on a batch."""
        return 1

    def __call__(self, values, states, seeds, number, rate, batch) -> tuple:
        """Return the batch's mean loss before the update, and values and states after it.

        Args:
            values: of the model's trainable variables.
            states: of the optimizer's variables, as `update` needs them.
            seeds: of `RandomStates.seeds`.
            number: gradient steps that the run took before.
            rate: the learning rate.
            batch: tensors with the rows on the axis `rows_axis`.
        """
        size, draws = tf.maximum(self.size(batch), 1.0), self.draws(seeds, number, batch)

        def of_part(part):
            rows = [rows_of(part, tensor, self.rows_axis) for tensor in batch]
            return self.gradients(values, draws, rows, size)

        if self._parts == WHOLE:
            loss, gradients = self.gradients(values, draws, batch, size)
        else:
            loss, gradients = self._parts.sum(of_part, (size, values))
        values, states = self.update(states, rate, gradients, values)
        return loss, list(values), list(states)

    def draws(self, seeds, number, batch) -> list[tf.Tensor]:
        """Return the states of the random generators before a step."""
        return self.random.at(seeds, number, self.most_draws(batch))

    def gradients(self, values, draws, rows, size) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the loss of rows as a part of a batch of some size, and its gradients."""
        with tf.GradientTape() as tape, self.substitute(values, draws):
            tape.watch(values)
            loss = self.loss(rows) / size
        gradients = tape.gradient(loss, values, unconnected_gradients="zero")
        # An embedding's gradient has a row per token, and Keras would square each row by itself.
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def substitute(self, values, draws):
        """Compute with these weights and random states in the body."""
        return substitute_values(self._variables, [*values, *draws])


@contextmanager
def substitute_values(
    variables: Sequence[keras.Variable], values: Sequence[Any]
) -> Iterator[keras.StatelessScope]:
    """Replace the values of variables in the body; the new ones may have leading axes."""
    with keras.StatelessScope() as scope:
        for pair in zip(variables, values, strict=True):
            scope.add_update(pair)  # as an argument of the scope, shapes would be checked
        yield scope


def strategy_for(trainer: TrainerConfig) -> tf.distribute.Strategy | None:
    """Return the strategy of a run on several devices; None for one device.

    The devices are GPUs, or shares of the processors of a machine without one.

    Raises:
        RequestError: there are fewer devices, or they can't share a batch equally.
    """
    if trainer.devices == 1:
        return None
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
    return None if number == 1 else _mirrored(number, "gpu" if gpus else "cpu")


@cache
def _mirrored(number: int, kind: str) -> tf.distribute.Strategy:
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
    return tf.distribute.MirroredStrategy([f"/{kind}:{at}" for at in range(number)])


class StepOnDevices:
    """A step whose parts several devices compute, called as the step itself.

    Every device has a copy of the weights and of the optimizer's states; the arguments `values` and
    `states` are empty. Gradients are summed over the devices, so the copies stay equal, and so do
    the results of any number of devices, up to rounding.

    Args:
        step: the step.
        strategy: of the devices.
        states: the optimizer's variables.
    """

    def __init__(self, step: Step, strategy: tf.distribute.Strategy, states: Sequence) -> None:
        self._step, self._strategy = step, strategy
        self._weights = len(step.model.trainable_variables)
        with strategy.scope():
            self._copies = [
                tf.Variable(
                    tf.zeros(variable.shape, variable.dtype),
                    trainable=False,
                    # Each device assigns its own copy; all get the same values.
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )
                for variable in [*step.model.trainable_variables, *states]
            ]

    def fill(self, values: Sequence[Any], states: Sequence[Any]) -> None:
        """Assign values and states to every copy."""
        for copy, value in zip(self._copies, [*values, *states], strict=True):
            copy.assign(value)

    def read(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the values and states of the first device."""
        arrays = [self._first(copy).numpy() for copy in self._copies]
        return arrays[: self._weights], arrays[self._weights :]

    def __call__(self, values, states, *arguments) -> tuple:
        """Take a step on all devices; returns its loss and the empty values and states."""
        return self._first(self._strategy.run(self._on_device, arguments)), values, states

    def _on_device(self, *arguments):
        tensors = [copy.read_value() for copy in self._copies]
        values, states = tensors[: self._weights], tensors[self._weights :]
        loss, values, states = self._step(values, states, *arguments)
        for copy, value in zip(self._copies, [*values, *states], strict=True):
            copy.assign(value)
        return loss

    def _first(self, result: Any) -> Any:
        return self._strategy.experimental_local_results(result)[0]
