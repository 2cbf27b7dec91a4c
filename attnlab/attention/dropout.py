"""Dropout in at most half the time of Keras's."""

from __future__ import annotations

import math

import keras
import tensorflow as tf
from keras import ops


class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that makes four draws from each random number of 64 bits.

    The rate is rounded to a multiple of 2^-16, and the remaining values are scaled accordingly.
    While a step is traced, `rate` may be a tensor, and inputs, rate and random state may have a
    leading axis of stacked runs; each run draws as if it were alone.
    """

    rate_may_differ = True  # between the runs of one compiled program

    def call(self, inputs, training=False):
        """Drop values in training."""
        if not training or (isinstance(self.rate, float | int) and self.rate == 0):
            return inputs
        seeds = self.seed_generator.state.value
        if len(seeds.shape) > 1:
            rates = tf.broadcast_to(self.rate, seeds.shape[:1])
            return tf.vectorized_map(lambda run: self._dropped(*run), (inputs, rates, seeds))
        return self._dropped(inputs, self.rate, self.seed_generator.next())

    def _dropped(self, inputs, rate, seed):
        threshold = tf.clip_by_value(tf.round(rate * 2**16), 1, 2**16 - 1)
        shape = ops.shape(inputs)
        if self.noise_shape is not None:
            given = zip(self.noise_shape, shape, strict=True)
            shape = [size if fixed is None else fixed for fixed, size in given]
        size, seed = math.prod(shape), tf.cast(seed, tf.int32)
        # 64-bit numbers, because XLA computes a whole block of Philox for each number. Without
        # `alg`, whole epochs take five times as long.
        numbers = (size + 3) // 4
        draws = tf.random.stateless_uniform((numbers,), seed, None, None, tf.int64, alg="philox")
        draws = tf.reshape(tf.bitcast(draws, tf.uint16), (-1,))[:size]
        kept = tf.reshape(draws >= tf.cast(threshold, tf.uint16), shape)
        scale = 1.0 / (1.0 - threshold * 2**-16)
        return inputs * (tf.cast(kept, inputs.dtype) * tf.cast(scale, inputs.dtype))
