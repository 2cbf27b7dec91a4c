"""Recurrences and their gradients, compared with Keras's layers, single and stacked."""

from __future__ import annotations

import re

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


def test_skipped_steps_change_nothing(given):
    """By XLA for a width, as a graph for the other."""
    cell, _, (sequence, *weights) = given
    jit = sequence.shape[-1] == 2

    def found(limit, sequence):
        def states(*arguments):
            return recur(cell, *arguments, limit=limit)[0]

        return with_gradients(states, [sequence, *weights])

    states, *gradients = tf.function(found, jit_compile=jit)(tf.constant(3), tf.constant(sequence))
    assert not np.any(states[:, 3:])
    assert not np.any(gradients[0][:, 3:])

    def of_three(*arguments):  # zeros behind, as the sums of `with_gradients` have them
        return tf.pad(states_of(cell, *arguments), [[0, 0], [0, 2], [0, 0]])

    expected = with_gradients(of_three, [sequence[:, :3], *weights])
    assert_close([states, gradients[0][:, :3], *gradients[1:]], [expected[0], *expected[1:]])


def test_the_number_of_steps_is_not_compiled_in(given):
    # XLA compiles anew for every value of a compile-time constant, and says nothing.
    cell, _, arguments = given

    @tf.function(jit_compile=True)
    def found(limit, *arguments):
        return with_gradients(lambda *each: recur(cell, *each, limit=limit)[0], arguments)

    given = [(tf.constant(limit), *map(tf.constant, arguments)) for limit in (2, 5)]
    lowered = [found.experimental_get_compiler_ir(*each)(stage="hlo") for each in given]
    constants = [sorted(re.findall(r"constant\(.*?\)", each)) for each in lowered]
    assert constants[0] == constants[1]


def test_stacked_weights_give_the_results_of_single_ones(given):
    cell, _, arguments = given
    several = [[argument * scale for argument in arguments] for scale in (1.0, -0.5, 2.0)]
    stacked = [np.stack(each) for each in zip(*several, strict=True)]
    together = with_gradients(lambda *arguments: states_of(cell, *arguments), stacked)
    for number, alone in enumerate(several):
        expected = with_gradients(lambda *arguments: states_of(cell, *arguments), alone)
        assert_close([each[number] for each in together], expected)


def test_a_batch_of_unknown_size_works(given):
    """With a known number of steps for a width, with any number for the other."""
    cell, _, arguments = given
    steps = 5 if arguments[0].shape[-1] == 1 else None
    signature = [
        tf.TensorSpec((None, steps, arguments[0].shape[-1])),
        *(tf.TensorSpec(a.shape) for a in arguments[1:]),
    ]

    def found(*arguments):
        return with_gradients(lambda *arguments: states_of(cell, *arguments), arguments)

    compiled = tf.function(found, input_signature=signature)
    assert_close(compiled(*map(tf.constant, arguments)), found(*arguments))
