"""Recurrences and their gradients against Keras's layers, alone and stacked."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.layers.recurrence import recur

LAYERS = {"simple": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


@pytest.fixture(params=[(cell, width) for cell in LAYERS for width in (1, 2)], ids=str)
def given(request):
    """A cell, a layer of Keras, and a sequence of a width with the layer's weights."""
    cell, width = request.param
    layer = LAYERS[cell](3, return_sequences=True)
    layer.build((None, 5, width))
    draw = np.random.default_rng(7)
    weights = [draw.normal(size=weight.shape).astype(np.float32) for weight in layer.weights]
    return cell, layer, [draw.normal(size=(4, 5, width)).astype(np.float32), *weights]


def states_of(*arguments):
    return recur(*arguments)[0]


def with_gradients(function, arguments):
    arguments = [tf.convert_to_tensor(argument) for argument in arguments]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        states = function(*arguments)
        loss = tf.reduce_sum(tf.cumsum(states, axis=-2) ** 2)  # each state counts differently
    return [states, *tape.gradient(loss, arguments)]


def assert_close(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_states_and_gradients_are_those_of_keras(given):
    cell, layer, arguments = given

    def keras_layer(sequence, *weights):
        pairs = list(zip(layer.weights, weights, strict=True))
        with keras.StatelessScope(state_mapping=pairs):
            return layer(sequence)

    own = with_gradients(lambda *arguments: states_of(cell, *arguments), arguments)
    assert own[0].shape == (4, 5, 3)
    assert_close(own, with_gradients(keras_layer, arguments))


def test_stacked_weights_give_what_each_gives_alone(given):
    cell, _, arguments = given
    several = [[argument * scale for argument in arguments] for scale in (1.0, -0.5, 2.0)]
    stacked = [np.stack(each) for each in zip(*several, strict=True)]
    together = with_gradients(lambda *arguments: states_of(cell, *arguments), stacked)
    for number, alone in enumerate(several):
        expected = with_gradients(lambda *arguments: states_of(cell, *arguments), alone)
        assert_close([each[number] for each in together], expected)


@pytest.mark.parametrize("steps", [5, None])
def test_a_batch_of_unknown_size_is_taken(given, steps):
    cell, _, arguments = given
    signature = [
        tf.TensorSpec((None, steps, arguments[0].shape[-1])),
        *(tf.TensorSpec(a.shape) for a in arguments[1:]),
    ]

    def found(*arguments):
        return with_gradients(lambda *arguments: states_of(cell, *arguments), arguments)

    compiled = tf.function(found, input_signature=signature)
    assert_close(compiled(*map(tf.constant, arguments)), found(*arguments))
