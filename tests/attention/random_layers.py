"""Layers with random weights, and what they make of a sequence's own past."""

from __future__ import annotations

import tensorflow as tf

from attnlab.attention.contract import normal

B, T, W, H = 2, 7, 12, 3  # three heads of four


def with_random_weights(layer, width: int = W):
    """Build a layer for vectors of a width, with random weights."""
    layer.build((B, T, width), (B, T, width))
    for number, weight in enumerate(layer.weights):
        weight.assign(normal(*weight.shape, seed=20 + number) / 2)
    return layer


def own_past(layer, vectors, **settings):
    """Return the causal context of vectors (B, T, W) and gradients of its squares, by name."""
    vectors = tf.convert_to_tensor(vectors)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        context = layer(vectors, vectors, causal=True, **settings).context
        loss = tf.reduce_sum(context**2)
    named = {
        "vectors": vectors,
        **{weight.name: weight.value for weight in layer.trainable_weights},
    }
    return context, tape.gradient(loss, named)
