"""Dropout in at most half the time of Keras's."""

from __future__ import annotations

import math

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.draws import Part, current_part
from attnlab.attention.functional import Tensor


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
            return tf.vectorized_map(lambda run: self._dropped(*run), (inputs, seeds))
        return self._dropped(inputs, self.seed_generator.next())

    def _dropped(self, inputs, seed):
        threshold = tf.clip_by_value(tf.round(self.rate * 2**16), 1, 2**16 - 1)
        shape = ops.shape(inputs)
        if self.noise_shape is not None:
            pairs = zip(self.noise_shape, shape, strict=True)
            shape = [size if fixed is None else fixed for fixed, size in pairs]
        size, seed = math.prod(shape), tf.cast(seed, tf.int32)
        part = current_part() if self.noise_shape is None or self.noise_shape[0] is None else None
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
