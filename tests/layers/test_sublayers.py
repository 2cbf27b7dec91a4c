"""The norm, compared with Keras's layer and with its definition."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import normal
from attnlab.layers.sublayers import LayerNormalization

B, T, W = 3, 5, 7


def outcome(layer, vectors, upstream):
    """Output, and gradients of the input and both weights."""
    layer.build(vectors.shape)
    layer.set_weights([normal(W, seed=3), normal(W, seed=4)])
    vectors = tf.constant(vectors)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        output = layer(vectors)
    watched = [vectors, *(weight.value for weight in layer.trainable_weights)]
    return output, *tape.gradient(output, watched, upstream)


@pytest.mark.parametrize(("shape", "epsilon"), [((B, T, W), 1e-6), ((B, W), 0.3)])
def test_the_norm_is_keras_norm_and_so_are_its_gradients(shape, epsilon):
    vectors, upstream = 5 + 3 * normal(*shape, seed=1), normal(*shape, seed=2)
    ours = outcome(LayerNormalization(epsilon=epsilon), vectors, upstream)
    expected = outcome(keras.layers.LayerNormalization(epsilon=epsilon), vectors, upstream)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_the_norm_of_equal_numbers_is_the_offset():
    layer = LayerNormalization(epsilon=1e-6)
    layer.build((B, W))
    layer.set_weights([normal(W), normal(W, seed=4)])
    np.testing.assert_array_equal(layer(np.full((B, W), 1e4)), np.tile(layer.beta, (B, 1)))


def test_the_norm_computes_in_float32_and_answers_in_the_policys_type():
    layer = LayerNormalization(epsilon=1e-6, dtype="mixed_bfloat16")
    layer.build((B, W))
    vectors = 1000 * normal(B, W)
    answer = layer(vectors)
    assert answer.dtype.name == "bfloat16"
    expected = keras.layers.LayerNormalization(epsilon=1e-6)(vectors)
    np.testing.assert_allclose(tf.cast(answer, "float32"), expected, atol=0.02)
