"""Recurrent layers and recurrences with their gradients, compared with Keras's layers."""

from __future__ import annotations

import re
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import normal
from attnlab.layers.recurrent import RecurrentEncoder, StackedCells, recur


@pytest.mark.parametrize("kind", ["simple", "lstm", "gru"])
def test_cells_are_those_of_keras(kind):
    stack = StackedCells(cell=kind, units=3, layers=2)
    stack.build((None, 5), 2)
    for number, weight in enumerate(stack.trainable_variables):
        weight.assign(normal(*weight.shape, seed=number))
    inputs, entering = normal(4, 5, seed=20), normal(4, 2, seed=21)
    states = [
        [normal(4, 3, seed=30 + 2 * n + k) for k in range(2 if kind == "lstm" else 1)]
        for n in range(2)
    ]
    projected = stack.project(inputs) + stack.project_entering(entering)
    following = stack.advance(states, projected)
    whole = type(stack.cells[0])(**stack.cells[0].get_config())
    whole.build((None, 7))
    kernel = np.concatenate([stack.cells[0].kernel, stack.entering_kernel])
    whole.set_weights([kernel, *stack.cells[0].get_weights()[1:]])
    inputs = np.concatenate([inputs, entering], axis=1)
    for cell, state, ours in zip([whole, stack.cells[1]], states, following, strict=True):
        inputs, expected = cell(inputs, state)
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    "cell, bidirectional", [("simple", True), ("gru", False), ("gru", True), ("lstm", True)]
)
def test_an_encoder_ends_at_the_last_real_step(cell, bidirectional):
    encoder = RecurrentEncoder(cell=cell, units=3, layers=2, bidirectional=bidirectional)
    encoder.build((None, None, 4))
    sequence = normal(2, 5, 4)
    mask = np.array([[True] * 5, [True, True, True, False, False]])
    states, last = encoder.encode(sequence, mask)
    shape = np.array(tf.nest.map_structure(lambda part: 1, last)).shape
    assert shape == (2, 1 + bidirectional, 2 if cell == "lstm" else 1)
    alone, ends = encoder.encode(sequence[1:, :3])
    np.testing.assert_allclose(states[1:, :3], alone, atol=1e-6)
    for one, other in zip(tf.nest.flatten(last), tf.nest.flatten(ends), strict=True):
        np.testing.assert_allclose(one[1:], other, atol=1e-6)
    np.testing.assert_allclose(last[-1][0][0][1], states[1, 2, :3], atol=1e-6)
    expected = sequence
    for layer in encoder.recurrent:
        expected = layer(expected, mask=mask)  # Keras's own
    np.testing.assert_allclose(states[mask], expected[mask], atol=1e-6)
    plain, _ = encoder(sequence[1:, :3])
    np.testing.assert_array_equal(plain, alone)


def test_the_last_layer_has_dropout_on_request():
    sequence = normal(200, 6, 4)
    for layers, last, share in ((1, False, 0), (2, False, 0), (2, True, 0.5)):
        encoder = RecurrentEncoder(units=8, layers=layers, dropout=0.5, drops_last=last)
        encoder.build((None, 6, 4))
        states = np.array(encoder.encode(sequence, training=True).states)
        assert np.mean(states == 0) == pytest.approx(share, abs=0.03)
        assert np.any(states != np.array(encoder.encode(sequence).states)) == (layers == 2)
        states, state = encoder(sequence, training=True)
        np.testing.assert_array_equal(state, states[:, -1])


def test_the_books_output_7_2():
    encoder = RecurrentEncoder(cell="simple", units=2)
    encoder.build((None, 3, 1))
    kernel = np.array([[0.18662322, -1.2369459]])
    recurrent = np.array([[0.86981213, -0.49338293], [0.49338293, 0.8698122]])
    encoder.recurrent[0].set_weights([kernel, recurrent, np.zeros(2)])
    # The book's cell is linear, as tanh is of small numbers.
    small = 1e-4
    states, last = encoder(small * np.float32([[[1], [2], [3]]]))
    np.testing.assert_allclose(states[0, 1] / small, [-0.07471441, -3.64187904], rtol=1e-5)
    np.testing.assert_allclose(states[0, 2] / small, [-1.30195881, -6.84172557], rtol=1e-5)
    output = (last / small) @ np.float32([[-0.4635998], [0.6538409]])
    np.testing.assert_allclose(output, [[-3.8698122]], rtol=1e-5)


# --- a whole sequence, with gradients -----------------------------------------------------------

LAYERS = {"simple": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


@pytest.fixture(params=[("simple", 1), ("gru", 1), ("gru", 2), ("lstm", 2)], ids=str)
def case(request):
    """A cell, a layer of Keras, and a sequence of a width with the layer's weights."""
    cell, width = request.param
    layer = LAYERS[cell](3, return_sequences=True)
    layer.build((None, 5, width))
    draw = np.random.default_rng(7)
    weights = [draw.normal(size=weight.shape).astype(np.float32) for weight in layer.weights]
    return cell, layer, [draw.normal(size=(4, 5, width)).astype(np.float32), *weights]


def states_of(*arguments, **settings):
    return recur(*arguments, **settings)[0]


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


def test_states_and_gradients_are_those_of_keras(case):
    cell, layer, arguments = case

    def keras_layer(sequence, *weights):
        pairs = list(zip(layer.weights, weights, strict=True))
        with keras.StatelessScope(state_mapping=pairs):
            return layer(sequence)

    ours = with_gradients(partial(states_of, cell), arguments)
    assert ours[0].shape == (4, 5, 3)
    assert_close(ours, with_gradients(keras_layer, arguments))


def test_skipped_steps_change_nothing(case):
    """By XLA for a width, as a graph for the other."""
    cell, _, (sequence, *weights) = case
    jit = sequence.shape[-1] == 2

    def compute(limit, sequence):
        return with_gradients(partial(states_of, cell, limit=limit), [sequence, *weights])

    compiled = tf.function(compute, jit_compile=jit)
    states, *gradients = compiled(tf.constant(3), tf.constant(sequence))
    assert not np.any(states[:, 3:])
    assert not np.any(gradients[0][:, 3:])

    def of_three(*arguments):  # zeros behind, as the sums of `with_gradients` have them
        return tf.pad(states_of(cell, *arguments), [[0, 0], [0, 2], [0, 0]])

    expected = with_gradients(of_three, [sequence[:, :3], *weights])
    assert_close([states, gradients[0][:, :3], *gradients[1:]], [expected[0], *expected[1:]])


def test_the_number_of_steps_is_not_compiled_in(case):
    # XLA compiles anew for every value of a compile-time constant, and says nothing.
    cell, _, arguments = case

    @tf.function(jit_compile=True)
    def compute(limit, *arguments):
        return with_gradients(partial(states_of, cell, limit=limit), arguments)

    calls = [(tf.constant(limit), *map(tf.constant, arguments)) for limit in (2, 5)]
    programs = [compute.experimental_get_compiler_ir(*call)(stage="hlo") for call in calls]
    constants = [sorted(re.findall(r"constant\(.*?\)", program)) for program in programs]
    assert constants[0] == constants[1]


def test_stacked_weights_give_the_results_of_single_ones(case):
    cell, _, arguments = case
    several = [[argument * scale for argument in arguments] for scale in (1.0, -0.5, 2.0)]
    stacked = [np.stack(copies) for copies in zip(*several, strict=True)]
    together = with_gradients(partial(states_of, cell), stacked)
    for number, alone in enumerate(several):
        expected = with_gradients(partial(states_of, cell), alone)
        assert_close([stack[number] for stack in together], expected)


def test_a_batch_of_unknown_size_works(case):
    """With a inputs number of steps for a width, with any number for the other."""
    cell, _, arguments = case
    steps = 5 if arguments[0].shape[-1] == 1 else None
    signature = [
        tf.TensorSpec((None, steps, arguments[0].shape[-1])),
        *(tf.TensorSpec(a.shape) for a in arguments[1:]),
    ]
    compute = partial(with_gradients, partial(states_of, cell))
    compiled = tf.function(lambda *a: compute(a), input_signature=signature)
    assert_close(compiled(*map(tf.constant, arguments)), compute(arguments))
