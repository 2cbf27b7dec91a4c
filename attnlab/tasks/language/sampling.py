"""Draw the next token from logits: temperature, top-k, top-p, min-p, repetition penalty.

All functions take and return tensors, so that many tokens can be drawn in one compiled loop. Logits
are (N, V) float64; -inf excludes a token.
"""

from __future__ import annotations

import math

import tensorflow as tf

from attnlab.tasks.language.sampler import Sampler

_EXCLUDED = -math.inf


def drawn(sampler: Sampler, logits, seen, uniform):
    """Draw a token per row.

    Args:
        sampler: the settings.
        logits: (N, V), of any precision.
        seen: (N, V) bool, the tokens that occurred before.
        uniform: (N,) float64, a random number per row in [0, 1). The token is the first one whose
            cumulative probability exceeds it.

    Returns:
        (N,) int32.
    """
    logits = adjusted(sampler, logits, seen)
    if sampler.temperature == 0:
        return tf.argmax(logits, axis=1, output_type=tf.int32)
    reached = tf.cumsum(tf.nn.softmax(logits), axis=1)
    below = reached <= uniform[:, None] * reached[:, -1:]
    return tf.reduce_sum(tf.cast(below, tf.int32), axis=1)


def adjusted(sampler: Sampler, logits, seen):
    """Return the logits after all steps of a sampler; at temperature 0 only after the first."""
    logits = tf.cast(logits, tf.float64)
    if sampler.repetition != 1:
        logits = penalized(logits, seen, sampler.repetition)
    if sampler.temperature == 0:
        return logits
    if sampler.temperature != 1:
        logits /= sampler.temperature
    if sampler.top_k is not None:
        logits = top_k(logits, sampler.top_k)
    if sampler.top_p is not None:
        logits = top_p(logits, sampler.top_p)
    return logits if sampler.min_p is None else min_p(logits, sampler.min_p)


def penalized(logits, seen, penalty: float):
    """Make tokens that occurred before less probable, or more, if the penalty is below 1."""
    return tf.where(seen, tf.where(logits > 0, logits / penalty, logits * penalty), logits)


def top_k(logits, count: int):
    """Exclude all but the largest logits, and those that equal the last of them."""
    largest = tf.math.top_k(logits, min(count, logits.shape[1])).values
    return tf.where(logits >= largest[:, -1:], logits, _EXCLUDED)


def top_p(logits, mass: float):
    """Exclude all but the fewest most probable tokens with at least this mass."""
    if mass == 1:
        return logits
    order = tf.argsort(logits, direction="DESCENDING", stable=True)
    ordered = tf.gather(tf.nn.softmax(logits), order, batch_dims=1)
    before = tf.cumsum(ordered, axis=1, exclusive=True)  # the mass of more probable tokens
    count = tf.reduce_sum(tf.cast(before < mass, tf.int32), axis=1)
    ranks = tf.argsort(order)
    return tf.where(ranks < count[:, None], logits, _EXCLUDED)


def min_p(logits, share: float):
    """Exclude tokens with less than this share of the largest probability."""
    shares = tf.nn.softmax(logits)
    largest = tf.reduce_max(shares, axis=1, keepdims=True)
    return tf.where(shares >= share * largest, logits, _EXCLUDED)
