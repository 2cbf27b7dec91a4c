"""Differential attention against loops over its formula."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from random_layers import B, H, T, W, with_random_weights

from attnlab.attention import DifferentialAttention
from attnlab.attention.contract import normal
from attnlab.layers.transformer import make_mechanisms


def softmax(scores):
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


@pytest.mark.parametrize("depth", [0, 3])
def test_weights_and_context_are_the_formula(depth):
    layer = with_random_weights(DifferentialAttention(heads=H, depth=depth))
    x, mask = normal(B, T, W, seed=3), np.arange(T) != 2
    output = layer(x, x, memory_mask=np.stack([mask, mask]))
    w_q, w_k, w_v, w_o, *vectors, scale = (w.astype("float64") for w in layer.get_weights())
    a_1, b_1, a_2, b_2 = vectors
    start = 0.8 - 0.6 * np.exp(-0.3 * depth)
    share = np.exp(a_1 @ b_1) - np.exp(a_2 @ b_2) + start
    contexts, size = np.zeros((B, T, W)), W // H
    for b, h, t in np.ndindex(B, H, T):
        q, k = ((x[b] @ w).reshape(T, 2 * H, -1)[:, 2 * h : 2 * h + 2] for w in (w_q, w_k))
        row = np.zeros(T)
        for sign, part in ((1, 0), (-share, 1)):
            row[mask] += sign * softmax(k[mask, part] @ q[t, part] / np.sqrt(size / 2))
        np.testing.assert_allclose(output.weights[b, h, t], row, atol=1e-5)
        head = row @ (x[b] @ w_v)[:, h * size : (h + 1) * size]
        head *= scale * (1 - start) / np.sqrt((head**2).mean() + 1e-5)
        contexts[b, t, h * size : (h + 1) * size] = head
    np.testing.assert_allclose(output.context, contexts @ w_o, atol=2e-5)
    np.testing.assert_allclose(np.sum(output.weights, -1), 1 - share, atol=1e-5)


def test_the_mechanisms_of_a_stack_count_its_layers():
    layers = make_mechanisms(partial(DifferentialAttention, heads=H), {"layers": 3})
    assert [layer.depth for layer in layers] == [0, 1, 2]
    assert layers[0].start == pytest.approx(0.2)
    assert layers[2].start == pytest.approx(0.8 - 0.6 * np.exp(-0.6))


def test_each_map_of_a_head_has_its_position_bias():
    layer = with_random_weights(DifferentialAttention(heads=H))
    x = normal(B, T, W, seed=3)
    far = tf.constant(np.where(np.eye(T) > 0, 0, -1e4)[None, None], "float32")
    slopes = tf.reshape(tf.constant([0.0, 1.0, 1.0]), (1, H, 1, 1))
    plain = layer(x, x).weights
    biased = layer(x, x, position_bias=lambda *_: far * slopes).weights
    np.testing.assert_allclose(biased[:, 0], plain[:, 0], atol=1e-6)
    diagonal = (1 - float(layer.share)) * np.eye(T)
    np.testing.assert_allclose(biased[:, 1:], np.broadcast_to(diagonal, (B, 2, T, T)), atol=1e-5)
