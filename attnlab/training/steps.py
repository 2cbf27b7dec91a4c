"""What gradient steps of every kind share: the model's interface, the compiler, random states.

XLA fuses a step's many small operations. Its matrix products on a CPU are slower than TensorFlow's
own, more so with vectors of 256 bits than with 512. So on a CPU small models train faster with XLA
and large ones as a graph. The choice depends on the model and the processor only, never on a
measurement during the run: equal runs on one machine have equal bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from attnlab.training.keras_internals import seed_states
from attnlab.training.tensorflow_internals import vectorize_short_loops

# Draws that a generator may make in a step before its counter reaches the next step's.
_DRAWS_PER_STEP = 256
_ODD = 0x9E3779B1  # odd, so that its products with step numbers all differ


def compiled(function: Callable, jit: bool, signature: Sequence[tf.TensorSpec] | None = None):
    """Compile a method, with XLA or as a TensorFlow graph."""
    if jit:
        vectorize_short_loops()
    # TensorFlow counts traces per code object, and would warn after many runs; `partial` avoids it.
    return tf.function(
        partial(function), input_signature=signature, jit_compile=jit, autograph=False
    )


class RandomStates:
    """The states of a model's random generators, as a function of (seed, step).

    A generator's state is two numbers; each draw increments the second. Steps with at most 256
    draws differ in the second number, `256 step`; steps with more draws differ in the first.
    """

    def __init__(self, model: keras.Model) -> None:
        self.states = seed_states(model)

    def seeds(self, seed: int) -> tf.Tensor:
        """Return the numbers that `at` and `set` need for a run's seed: one per state, plus one."""
        drawn = np.random.SeedSequence(seed).generate_state(len(self.states) + 1)
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
        pairs = [tf.stack([tf.cast(seeds[n], tf.uint32), counter]) for n in range(len(self.states))]
        return [tf.cast(pair, state.dtype) for pair, state in zip(pairs, self.states, strict=True)]

    def set(self, seeds: tf.Tensor, step: tf.Tensor, draws: tf.Tensor | Literal[1] = 1) -> None:
        """Assign the values of `at` to the states."""
        for state, value in zip(self.states, self.at(seeds, step, draws), strict=True):
            state.assign(value)


class InMemoryModel(keras.Model):
    """A model that `epoch_program` trains: its data stay in memory, and runs may be stacked.

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
        inputs, targets = (gathered(part, rows) for part in data)
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

    def attend(self, inputs: Any) -> Any:
        """Return the attention weights for some inputs; None without attention."""
        return None

    def stackable(self, batch: int) -> int:
        """Return the stack width up to which runs train faster than alone, for a batch size."""
        return 1


def gathered(data: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Gather rows (runs, B, ...) of data (runs, N, ...)."""
    if data.shape[0] == 1:
        return tf.gather(data[0], rows)  # faster than with a batch axis
    return tf.gather(data, rows, batch_dims=1)


_CPUINFO = Path("/proc/cpuinfo")


class Border(Enum):
    """Sizes up to which XLA is faster than the graph, by kind of model; in units unless noted.

    The first number is for processors with AVX-512, the second for AVX2 and unknown processors.
    Measured on 2 cores as (time as a graph) / (time with XLA), `scripts/bench_*.py jit`.
    """

    # AVX-512: 2.2 at 32 units, 1.0 at 128, 0.8 at 256.
    RECURRENT_ENCODER = 128, 128
    # AVX2: 1.4 at 128 units, 1.5 at 256, 1.2 at 512.
    RECURRENT_FORECASTER = float("inf"), 512
    # AVX-512: 1.1 to 1.7 at 256. AVX2: 1.0 at 128, which doesn't pay for compiling.
    RECURRENT_TRANSLATOR = 256, 64
    # AVX-512: 1.25 at 128, 1.03 at 256. AVX2: 1.1 at 128 and 256, if all batches have one shape.
    TRANSFORMER_TRANSLATOR = 128, 0
    # One stack, in `step_operations`. AVX-512 (Intel): 1.3 at 3e9, 1.1 at 2e10, 1.2 at 3e10, 0.9 at
    # 3e11 for images; for language, in CPU time, 2.1 at 9e7, 1.4 at 1e9, 1.3 at 2e9, 1.1 at 4e9.
    TRANSFORMER_STACK = 4e10, 4e9


def step_operations(model: keras.Model, vectors: int) -> float:
    """Return the operations of a training step: about six per parameter and vector of the batch."""
    return 6.0 * vectors * model.count_params()


def is_faster_with_xla(size: float, border: Border) -> bool:
    """Return whether a model of this size trains faster with XLA than as a graph on this CPU."""
    wide, narrow = border.value
    return size <= (wide if has_avx512() else narrow)


def trains_with_xla(asked: bool | str, faster: bool) -> bool:
    """Return whether XLA compiles a run's training steps.

    Args:
        asked: the setting `trainer.jit`: true, false or `auto`.
        faster: whether XLA is faster on this CPU; on a GPU it always is.
    """
    return bool(asked) if asked != "auto" else faster or has_gpu()


def has_gpu() -> bool:
    """Return whether TensorFlow sees a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def has_avx512() -> bool:
    """Return whether the processor has vectors of 512 bits; False if unknown."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any("avx512f" in line.split() for line in lines if line.startswith("flags"))
