"""ALiBi's slopes and T5's buckets: printed values, other implementations, every length."""

import keras
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


@pytest.mark.parametrize(
    "heads, exponents",
    [(1, [-8]), (8, [-1, -2, -3, -4, -5, -6, -7, -8]), (6, [-2, -4, -6, -8, -1, -3])],
)
def test_slopes_are_the_papers(heads, exponents):
    np.testing.assert_array_equal(slopes(heads), 2.0 ** np.array(exponents))


@pytest.mark.parametrize("heads", [1, 2, 3, 7, 8, 11, 32])
def test_alibi_gives_the_weights_of_keras_hub(heads):
    """keras-hub adds `m s` only, which differs by a constant per query."""
    hub = pytest.importorskip("keras_hub")
    scores = normal(2, heads, T, T)
    past = np.tril(np.ones((T, T), bool))
    expected = np.array(hub.layers.AlibiBias()(scores))
    ours = scores + np.array(made("alibi", heads=heads).bias(T, T, 0))
    weights = [keras.ops.softmax(np.where(past, each, -1e30)) for each in (ours, expected)]
    np.testing.assert_allclose(*weights, atol=1e-5)


def test_alibi_falls_on_both_sides_of_the_query():
    bias = np.array(made("alibi").bias(2, 5, 2))
    apart = np.abs(np.arange(5) - np.array([[2], [3]]))
    np.testing.assert_allclose(bias[0], -slopes(H)[:, None, None] * apart, rtol=1e-6)


# --- T5 ----------------------------------------------------------------------------------------


def test_causal_buckets_are_the_printed_ones():
    behind = [0, 1, 15, 16, 18, 19, 31, 64, 112, 113, 127, 128, 5000]
    found = buckets(-np.array(behind, "int32"), causal=True)
    np.testing.assert_array_equal(found, [0, 1, 15, 16, 16, 17, 21, 26, 30, 31, 31, 31, 31])
    np.testing.assert_array_equal(buckets(np.array([0, 1, 9], "int32"), causal=True), 0)


def test_bidirectional_buckets_are_the_printed_ones():
    edges = np.array([8, 12, 16, 23, 32, 46, 64, 91], "int32")
    expected = np.arange(8, 16)
    np.testing.assert_array_equal(buckets(-edges, causal=False), expected)
    np.testing.assert_array_equal(buckets(edges, causal=False), 16 + expected)
    np.testing.assert_array_equal(buckets(1 - edges, causal=False), expected - 1)


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_transformers(causal):
    pytest.importorskip("torch")
    modeling = pytest.importorskip("transformers.models.t5.modeling_t5")
    import torch

    distance = np.arange(-300, 301)
    expected = modeling.T5Attention._relative_position_bucket(
        torch.tensor(distance), bidirectional=not causal, num_buckets=32, max_distance=128
    )
    np.testing.assert_array_equal(buckets(distance.astype("int32"), causal), expected)


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


@pytest.mark.parametrize("kind", ["none", "rope", "alibi", "t5"])
def test_kinds_without_codes_dont_change_the_vectors(kind):
    vectors = normal(2, T, 5)
    np.testing.assert_array_equal(made(kind)(vectors, start_index=3), vectors)
    assert (made(kind).bias is None) == (kind in ("none", "rope"))


@pytest.mark.parametrize("kind", ["alibi", "t5"])
def test_a_mechanism_without_scores_is_refused(kind):
    layer = PositionalEncoding.of_stack(kind, MultiHeadAttention(heads=5))
    assert layer.bias is not None and layer.heads == 5
    message = f"model.positions={kind}: expected a mechanism with scores.*, got PoolingAttention"
    with pytest.raises(RequestError, match=message):
        PositionalEncoding.of_stack(kind, PoolingAttention())
