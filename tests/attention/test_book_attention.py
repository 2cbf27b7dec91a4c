"""The numbers of "Building Transformer Models with Attention" (reference/book.md)."""

import keras
import numpy as np
import pytest

from attnlab.attention import MultiHeadAttention, PoolingAttention, ScaledDotProductAttention


def test_outputs_8_1_and_8_2():
    words = np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]], "float32")
    layer = ScaledDotProductAttention(project=True)
    layer.build(words.shape, words.shape)
    w_q = [[2, 0, 2], [2, 0, 0], [2, 1, 2]]
    w_k = [[2, 2, 2], [0, 2, 1], [0, 1, 1]]
    w_v = [[1, 1, 0], [0, 1, 1], [0, 0, 0]]
    layer.set_weights([np.array(w, "float32") for w in (w_q, w_k, w_v)])
    expected = [
        [0.98522025, 1.74174051, 0.75652026],
        [0.90965265, 1.40965265, 0.5],
        [0.99851226, 1.75849334, 0.75998108],
        [0.99560386, 1.90407309, 0.90846923],
    ]
    np.testing.assert_allclose(layer(words, words).context[0], expected, atol=1e-6)
    np.testing.assert_allclose(layer(words[:, :1], words).context[0], expected[:1], atol=1e-6)


@pytest.mark.parametrize("pooled, total", [(False, 11), (True, 33)])
def test_outputs_9_3_and_9_5(pooled, total):
    history = keras.Input((20, 1))
    recurrent = keras.layers.SimpleRNN(2, return_sequences=pooled)
    states = recurrent(history)
    if pooled:
        pooling = PoolingAttention()
        states = pooling(states[:, -1:], states).context[:, 0]
        assert pooling.count_params() == 22 and pooling.fixed_length == 20
    model = keras.Model(history, keras.layers.Dense(1)(states))
    assert recurrent.count_params() == 8
    assert model.count_params() == total


def test_pooling_has_the_initial_weights_of_the_books_layer():
    layer = PoolingAttention()
    layer.build((None, 1, 1009), (None, 20, 1009))
    kernel, bias = layer.get_weights()
    assert np.std(kernel) == pytest.approx(0.05, rel=0.1)
    assert np.all(bias == 0)


def test_book_heads_are_narrow_but_divided_by_the_root_of_the_head_size():
    """Listing 16.6: Dense(d_k) split over the heads, scores over sqrt(d_k)."""
    heads, units, steps = 2, 12, 5
    vectors = np.random.default_rng(0).normal(size=(1, steps, units)).astype("float32")
    layer = MultiHeadAttention(heads=heads, book=True)
    context = layer(vectors, vectors).context
    w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o = layer.get_weights()
    head_size = units // heads
    assert w_q.shape == (units, head_size)
    q, k, v = vectors[0] @ w_q + b_q, vectors[0] @ w_k + b_k, vectors[0] @ w_v + b_v
    parts = []
    for part in np.split(np.arange(head_size), heads):
        scores = np.exp(q[:, part] @ k[:, part].T / np.sqrt(head_size))
        parts.append(scores / scores.sum(-1, keepdims=True) @ v[:, part])
    expected = np.concatenate(parts, -1) @ w_o + b_o
    np.testing.assert_allclose(context[0], expected, atol=1e-5)
