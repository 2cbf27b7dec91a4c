"""What the gradient steps of every kind share: how they are compiled, and where chance enters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import keras
import numpy as np
import tensorflow as tf

from attnlab.training.keras_internals import seed_states
from attnlab.training.tensorflow_internals import vectorize_short_loops

# Random numbers that a generator may draw in one step before it reaches those of the next.
_DRAWS_PER_STEP = 256
_ODD = 0x9E3779B1  # odd, so that its products with the numbers of steps are all different


def compiled(function: Callable, jit: bool, signature: Sequence[tf.TensorSpec] | None = None):
    """A method as a compiled function, with XLA or as a TensorFlow graph."""
    if jit:
        vectorize_short_loops()
    # TensorFlow counts traces by a function's code, and would warn of many runs' ones.
    return tf.function(
        partial(function), input_signature=signature, jit_compile=jit, autograph=False
    )


class RandomStates:
    """The states of a model's random generators, made a function of (seed, step).

    A generator's state is two numbers, of which each draw counts up the second. Steps of few draws
    differ in the second number, `256 step`; those of more draws differ in the first one.
    """

    def __init__(self, model: keras.Model) -> None:
        self.states = seed_states(model)

    def seeds(self, seed: int) -> tf.Tensor:
        """What `set` needs to know of a run's seed: a number for each state, and one more."""
        drawn = np.random.SeedSequence(seed).generate_state(len(self.states) + 1)
        return tf.constant(drawn, tf.uint32)

    def at(
        self, seeds: tf.Tensor, step: tf.Tensor, draws: tf.Tensor | Literal[1] = 1
    ) -> list[tf.Tensor]:
        """The value of every state before a step, (2,) each; earlier draws don't change it.

        Args:
            seeds: of `seeds`.
            step: gradient steps taken before, over the whole run.
            draws: the most numbers that one generator draws in this step: a tensor, or 1.
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
        """Put every state where `at` has it."""
        for state, value in zip(self.states, self.at(seeds, step, draws), strict=True):
            state.assign(value)
