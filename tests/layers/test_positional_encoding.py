"""Positional encodings: the book's numbers, other widths, start_index."""

import numpy as np
import pytest
import tensorflow as tf

from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import PositionalEncoding, sinusoidal


def test_output_13_1():
    expected = [0.14112001, -0.9899925, 0.29552021, 0.95533649]
    np.testing.assert_allclose(sinusoidal(4, 4, base=100)[-1], expected, atol=1e-8)


def test_output_14_3():
    ids = np.array([[5, 6, 7, 2, 0], [3, 4, 2, 0, 0]])
    embedded = PositionalEncoding()(sinusoidal(10, 6)[ids])
    first = [-0.9589243, 1.2836622, 0.2300017, 1.9731903, 0.0107720, 1.9999421]
    np.testing.assert_allclose(embedded[0, 0], first, atol=1e-6)
    np.testing.assert_allclose(embedded, sinusoidal(10, 6)[ids] + sinusoidal(5, 6), atol=1e-6)


def test_odd_widths_end_in_a_sine():
    table = sinusoidal(3, 5)
    assert table.shape == (3, 5)
    np.testing.assert_allclose(table[:, 4], np.sin(np.arange(3) / 10000 ** (4 / 5)))


@pytest.mark.parametrize("start", [3, 10_007])
def test_positions_known_only_at_run_time_give_the_same(start):
    layer = PositionalEncoding()
    vectors = np.zeros((2, 5, 6), "float32")
    expected = sinusoidal(start + 5, 6)[start:]
    np.testing.assert_allclose(layer(vectors, start_index=start)[1], expected, atol=1e-7)
    signature = [tf.TensorSpec((None, None, 6)), tf.TensorSpec((), tf.int32)]
    late = tf.function(lambda v, s: layer(v, start_index=s), input_signature=signature)
    np.testing.assert_allclose(late(vectors, tf.constant(start))[1], expected, atol=1e-7)
    xla = tf.function(lambda v, s: layer(v, start_index=s), jit_compile=True)
    np.testing.assert_allclose(xla(vectors, tf.constant(start))[1], expected, atol=1e-6)


def test_learned_positions_are_rows_of_their_table():
    layer = PositionalEncoding(kind="learned", max_length=7)
    vectors = np.ones((2, 3, 5), "float32")
    layer.build(vectors.shape)
    table = np.arange(35, dtype="float32").reshape(7, 5)
    layer.set_weights([table])
    for start in (0, 4):
        for index in (start, tf.constant(start)):
            expected = np.stack([1 + table[start : start + 3]] * 2)
            np.testing.assert_array_equal(layer(vectors, start_index=index), expected)


def test_errors():
    with pytest.raises(
        RequestError,
        match="kind must be one of none, sinusoidal, learned, rope, alibi, t5, got 'rotary'",
    ):
        PositionalEncoding(kind="rotary")
    layer = PositionalEncoding(kind="learned", max_length=3)
    with pytest.raises(ValueError, match="has 3 positions .* got a sequence that ends at 5"):
        layer(np.ones((2, 4, 5), "float32"), start_index=1)
