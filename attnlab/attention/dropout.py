"""Random draws of a training step, and dropout in at most half the time of Keras's.

A step may be computed in parts: one after another, or on several devices. A layer draws for the
whole batch and takes the rows of its part, so that draws depend on (seed, step, row) only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.functional import Tensor


class Part(NamedTuple):
    """One of several equal slices of a batch's rows."""

    index: Any  # from 0; a number or a tensor
    number: int  # of parts


_part: Part | None = None  # of the step that is being traced
_iteration: Any = None  # of the loop over time that is being traced


@contextmanager
def part_of_batch(part: Part) -> Iterator[None]:
    """Make the body's layers draw for one part of a batch."""
    global _part
    before, _part = _part, part
    try:
        yield
    finally:
        _part = before


@contextmanager
def iteration_of_loop(number: Any) -> Iterator[None]:
    """Make the body's dropout draw anew in each iteration of a loop over time.

    A generator whose state is an argument of the step can't count its draws in a loop: it adds the
    iteration's number. So each layer may draw once per iteration, and not after the loop.
    """
    global _iteration
    before, _iteration = _iteration, number
    try:
        yield
    finally:
        _iteration = before


def rows_of(part: Part, tensor: Any, axis: int = 0) -> Any:
    """Return the rows of a part of a tensor whose axis `axis` has the rows of all parts."""
    shape = [*ops.shape(tensor)]
    parted = [*shape[:axis], part.number, shape[axis] // part.number, *shape[axis + 1 :]]
    return tf.gather(tf.reshape(tensor, parted), part.index, axis=axis)


def draw_rows(draw: Callable[[Sequence[Any]], Any], shape: Sequence[Any]) -> Any:
    """Return random numbers (B, ...), for a part those of its rows.

    Args:
        draw: `draw(shape)` returns random numbers; the axis 0 of the shape are rows.
        shape: of the result.
    """
    if _part is None:
        return draw(shape)
    return rows_of(_part, draw((shape[0] * _part.number, *shape[1:])))


class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that makes four draws from each random number of 64 bits.

    The rate is rounded to a multiple of 2^-16, and the remaining values are scaled accordingly.
    While a step is traced, inputs and random state may have a leading axis of stacked runs; each
    run draws as if it were alone.
    """

    def call(self, inputs: Tensor, training: bool | None = False) -> Tensor:
        """Drop values in training."""
        if not training or self.rate == 0:
            return inputs
        seeds = self.seed_generator.state.value
        if len(seeds.shape) > 1:
            runs = (inputs, seeds)
            return tf.vectorized_map(lambda run: self._dropped(*run), runs, warn=False)
        if _iteration is None or isinstance(seeds, tf.Variable):
            return self._dropped(inputs, self.seed_generator.next())
        return self._dropped(inputs, seeds + tf.cast(tf.stack([0, _iteration]), seeds.dtype))

    def _dropped(self, inputs, seed):
        threshold = tf.clip_by_value(tf.round(self.rate * 2**16), 1, 2**16 - 1)
        shape = ops.shape(inputs)
        if self.noise_shape is not None:
            pairs = zip(self.noise_shape, shape, strict=True)
            shape = [size if fixed is None else fixed for fixed, size in pairs]
        size, seed = math.prod(shape), tf.cast(seed, tf.int32)
        is_whole = self.noise_shape is not None and self.noise_shape[0] is not None
        part = None if is_whole else _part
        draws = _draws(size, seed) if part is None else _draws_of(part, size, seed)
        survives = tf.reshape(draws >= tf.cast(threshold, tf.uint16), shape)
        scale = 1.0 / (1.0 - threshold * 2**-16)
        return inputs * (tf.cast(survives, inputs.dtype) * tf.cast(scale, inputs.dtype))


def _draws(size, seed):
    """Return random numbers (size,) of 16 bits."""
    # 64-bit numbers, because XLA computes a whole block of Philox for each number. Without
    # `alg`, whole epochs take five times as long.
    numbers = (size + 3) // 4
    draws = tf.random.stateless_uniform((numbers,), seed, None, None, tf.int64, alg="philox")
    return tf.reshape(tf.bitcast(draws, tf.uint16), (-1,))[:size]


def _draws_of(part: Part, size, seed):
    """Return a part's `size` of the numbers that `_draws` returns for all parts.

    Philox computes blocks of 128 bits, each from its number, so others need not be computed.
    """
    first = tf.cast(part.index, tf.int64) * tf.cast(size, tf.int64)
    key, counter = _key_and_counter(seed)
    counter = tf.stack([tf.cast(first // 8, tf.uint64), counter])
    draws = _philox([(size + 10) // 4], key, counter, tf.int64)
    start = tf.cast(first % 8, tf.int32)
    return tf.slice(tf.reshape(tf.bitcast(draws, tf.uint16), (-1,)), [start], [size])


def _key_and_counter(seed):
    """Return Philox's key (1,) and the upper half () of its counter, as `tf.random` derives them.

    `tf.random.stateless_uniform` starts with 0 as the lower half, the number of a block.
    """
    key = tf.constant([0x02461E293EC8F720], tf.uint64)
    mixed = _philox([4], key, tf.cast(seed, tf.uint64), tf.uint32)
    pairs = tf.bitcast(tf.reshape(mixed, (2, 2)), tf.uint64)
    return pairs[:1], pairs[1]


def _philox(shape, key, counter, dtype):
    arguments = {"key": key, "counter": counter, "alg": 1, "dtype": dtype}
    return tf.raw_ops.StatelessRandomUniformFullIntV2(shape=shape, **arguments)
