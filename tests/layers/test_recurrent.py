"""Recurrent layers, compared with Keras's own."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import normal
from attnlab.layers.recurrent import RecurrentEncoder, StackedCells


@pytest.mark.parametrize("kind, reset_after", [("simple", 1), ("lstm", 1), ("gru", 1), ("gru", 0)])
def test_cells_are_those_of_keras(kind, reset_after):
    stack = StackedCells(cell=kind, units=3, layers=2, reset_after=bool(reset_after))
    stack.build((None, 5), 2)
    for number, weight in enumerate(stack.trainable_variables):
        weight.assign(normal(*weight.shape, seed=number))
    known, entering = normal(4, 5, seed=20), normal(4, 2, seed=21)
    states = [
        [normal(4, 3, seed=30 + 2 * n + k) for k in range(2 if kind == "lstm" else 1)]
        for n in range(2)
    ]
    projected = stack.project(known) + stack.project_entering(entering)
    following = stack.advance(states, projected)
    whole = type(stack.cells[0])(**stack.cells[0].get_config())
    whole.build((None, 7))
    kernel = np.concatenate([stack.cells[0].kernel, stack.entering_kernel])
    whole.set_weights([kernel, *stack.cells[0].get_weights()[1:]])
    inputs = np.concatenate([known, entering], axis=1)
    for cell, state, ours in zip([whole, stack.cells[1]], states, following, strict=True):
        inputs, expected = cell(inputs, state)
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("cell", ["simple", "gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
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


@pytest.mark.parametrize(
    ("layers", "last", "share"), [(1, False, 0), (2, False, 0), (2, True, 0.5)]
)
def test_the_last_layer_has_dropout_on_request(layers, last, share):
    encoder = RecurrentEncoder(units=8, layers=layers, dropout=0.5, drops_last=last)
    encoder.build((None, 6, 4))
    sequence = np.random.default_rng(0).normal(size=(200, 6, 4)).astype(np.float32)
    states = encoder.encode(sequence, training=True).states
    assert float(np.mean(np.asarray(states) == 0)) == pytest.approx(share, abs=0.03)
    dropped = np.any(np.asarray(states) != np.asarray(encoder.encode(sequence).states))
    assert dropped == (layers == 2)


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
