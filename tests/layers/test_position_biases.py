"""ALiBi's slopes and T5's buckets: printed values, formulas, every length."""

import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention import MultiHeadAttention, PoolingAttention
from attnlab.attention.contract import normal
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import PositionalEncoding, buckets, slopes

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

H, T = 3, 7


def made(kind, **settings):
    layer = PositionalEncoding(kind=kind, **{"heads": H, **settings})
    layer.build((None, T, 5))
    if kind == "t5":
        layer.set_weights([normal(32, H)])
    return layer


# --- ALiBi -------------------------------------------------------------------------------------


def test_slopes_are_the_papers():
    for exponents in ([-8], [-1, -2, -3, -4, -5, -6, -7, -8], [-2, -4, -6, -8, -1, -3]):
        np.testing.assert_array_equal(slopes(len(exponents)), 2.0 ** np.array(exponents))


def test_alibi_falls_on_both_sides_of_the_query():
    bias = np.array(made("alibi").bias(2, 5, 2))
    apart = np.abs(np.arange(5) - np.array([[2], [3]]))
    np.testing.assert_allclose(bias[0], -slopes(H)[:, None, None] * apart, rtol=1e-6)


# --- T5 ----------------------------------------------------------------------------------------


def test_buckets_are_the_printed_ones():
    past = np.array([0, 1, 15, 16, 18, 19, 31, 64, 112, 113, 127, 128, 5000], "int32")
    expected = [0, 1, 15, 16, 16, 17, 21, 26, 30, 31, 31, 31, 31]
    np.testing.assert_array_equal(buckets(-past, causal=True), expected)
    np.testing.assert_array_equal(buckets(np.array([0, 1, 9], "int32"), causal=True), 0)
    edges = np.array([8, 12, 16, 23, 32, 46, 64, 91], "int32")
    expected = np.arange(8, 16)
    np.testing.assert_array_equal(buckets(-edges, causal=False), expected)
    np.testing.assert_array_equal(buckets(edges, causal=False), 16 + expected)
    np.testing.assert_array_equal(buckets(1 - edges, causal=False), expected - 1)


@pytest.mark.parametrize("causal", [False, True])
def test_t5_looks_each_distance_up_in_its_table(causal):
    layer, start = made("t5", causal=causal), 3
    bias, table = np.array(layer.bias(2, T, start)), np.array(layer.table)
    for t, s, h in np.ndindex(2, T, H):
        bucket = int(buckets(np.array([s - t - start], "int32"), causal)[0])
        assert bias[0, h, t, s] == pytest.approx(table[bucket, h], abs=1e-7)


# --- both --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["alibi", "t5"])
def test_a_step_gets_its_row_of_the_whole(kind):
    layer = made(kind, causal=True)
    whole = np.array(layer.bias(T, T, 0))
    signature = [tf.TensorSpec((), tf.int32)] * 3
    late = tf.function(layer.bias, input_signature=signature, autograph=False)
    xla = tf.function(lambda start: layer.bias(2, T, start), jit_compile=True, autograph=False)
    for start in (0, 5):
        rows = whole[:, :, start : start + 2]
        np.testing.assert_allclose(layer.bias(2, T, start), rows, atol=1e-6)
        np.testing.assert_allclose(late(2, T, start), rows, atol=1e-6)
        np.testing.assert_allclose(xla(tf.constant(start)), rows, atol=1e-6)


def test_kinds_without_codes_dont_change_the_vectors():
    vectors = normal(2, T, 5)
    for kind in ("none", "rope", "alibi", "t5"):
        np.testing.assert_array_equal(made(kind)(vectors, start_index=3), vectors)
        assert (made(kind).bias is None) == (kind in ("none", "rope"))


def test_a_mechanism_without_scores_is_refused():
    layer = PositionalEncoding.of_stack("alibi", MultiHeadAttention(heads=5))
    assert layer.bias is not None and layer.heads == 5
    message = "model.positions=alibi: expected a mechanism with scores.*, got PoolingAttention"
    with pytest.raises(RequestError, match=message):
        PositionalEncoding.of_stack("alibi", PoolingAttention())
