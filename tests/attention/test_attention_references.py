"""Mechanisms, compared with independent implementations (reference/equations.md)."""

import keras
import numpy as np
import pytest

from attnlab.attention import (
    BahdanauAttention,
    LuongGlobalAttention,
    MultiHeadAttention,
    PoolingAttention,
    ScaledDotProductAttention,
    padding_mask,
)
from attnlab.attention.contract import normal

B, T, S, Q, M, U = 2, 3, 5, 7, 11, 13
MASK = np.array([[True] * 5, [True, True, True, False, False]])


def assert_same(output, expected, weights=None):
    np.testing.assert_allclose(output.context, expected, atol=1e-5)
    if weights is not None:
        ours = np.array(output.weights)
        np.testing.assert_allclose(ours if weights.ndim == 4 else ours[:, 0], weights, atol=1e-6)


def keras_attention(layer, query, values, keys, masked):
    mask = [None, MASK] if masked else None
    context, weights = layer([query, values, keys], mask=mask, return_attention_scores=True)
    return context, np.array(weights)


def attend(layer, query, memory, masked):
    return layer(query, memory, mask=padding_mask(MASK) if masked else None)


@pytest.fixture(params=[False, True], ids=["unmasked", "masked"])
def masked(request):
    return request.param


@pytest.mark.parametrize("project", [False, True])
def test_scaled_dot_product_is_keras_attention_with_a_scale(masked, project):
    query, memory = normal(B, T, Q), normal(B, S, M if project else Q, seed=1)
    layer = ScaledDotProductAttention(project=project, units=U if project else None)
    output = attend(layer, query, memory, masked)
    keys = values = memory
    if project:
        w_q, w_k, w_v = layer.get_weights()
        query, keys, values = query @ w_q, memory @ w_k, memory @ w_v
    reference = keras.layers.Attention(use_scale=True)
    reference.build([query.shape, values.shape, keys.shape])
    reference.scale.assign(keys.shape[-1] ** -0.5)
    assert_same(output, *keras_attention(reference, query, values, keys, masked))


@pytest.mark.parametrize("heads, units", [(1, 7), (3, 21), (5, 10)])
def test_multi_head_is_keras_multi_head_attention(masked, heads, units):
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = MultiHeadAttention(heads=heads, units=units)
    layer.build(query.shape, memory.shape)
    layer.set_weights([normal(*w.shape, seed=9 + i) for i, w in enumerate(layer.weights)])
    reference = keras.layers.MultiHeadAttention(heads, units // heads, output_shape=units)
    reference.build(query.shape, memory.shape)
    by_head = [
        w.reshape(s.shape) for w, s in zip(layer.get_weights(), keras_order(reference), strict=True)
    ]
    for variable, value in zip(keras_order(reference), by_head, strict=True):
        variable.assign(value)
    expected, weights = reference(
        query,
        memory,
        attention_mask=padding_mask(MASK) if masked else None,
        return_attention_scores=True,
    )
    assert_same(attend(layer, query, memory, masked), expected, np.array(weights))


def keras_order(reference):
    """Keras's weights in this project's order: query, key, value, output, kernel before bias."""
    kinds = {"query": 0, "key": 1, "value": 2, "attention_output": 3}
    return sorted(reference.weights, key=lambda w: (kinds[w.path.split("/")[-2]], "bias" in w.path))


def test_bahdanau_is_keras_additive_attention_on_projected_vectors(masked):
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = BahdanauAttention(units=U)
    output = attend(layer, query, memory, masked)
    w, u, v = layer.get_weights()
    reference = keras.layers.AdditiveAttention()
    reference.build([(B, T, U), (B, S, M), (B, S, U)])
    reference.scale.assign(v)
    assert_same(output, *keras_attention(reference, query @ w, memory, memory @ u, masked))


def test_luong_dot_is_keras_attention(masked):
    query, memory = normal(B, T, Q), normal(B, S, Q, seed=1)
    output = attend(LuongGlobalAttention(score="dot"), query, memory, masked)
    reference = keras.layers.Attention()
    assert_same(output, *keras_attention(reference, query, memory, memory, masked))


def test_luong_general_is_keras_attention_on_projected_keys(masked):
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = LuongGlobalAttention(score="general")
    output = attend(layer, query, memory, masked)
    keys = memory @ layer.get_weights()[0]
    assert_same(output, *keras_attention(keras.layers.Attention(), query, memory, keys, masked))


def test_luong_concat_is_the_formula():
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = LuongGlobalAttention(score="concat", units=U)
    weights = np.array(layer(query, memory).weights)
    w, v = layer.get_weights()
    for b, t in np.ndindex(B, T):
        pairs = [np.concatenate([query[b, t], memory[b, s]]) for s in range(S)]
        scores = np.array([v @ np.tanh(pair @ w) for pair in pairs])
        np.testing.assert_allclose(
            weights[b, 0, t], np.exp(scores) / np.exp(scores).sum(), rtol=1e-5
        )


@pytest.mark.parametrize("length", [2, S])
def test_location_scores_depend_only_on_the_state(length):
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = LuongGlobalAttention(score="location", max_length=S)
    layer.build(query.shape, memory.shape)
    weights = np.array(layer(query, memory[:, :length]).weights)[:, 0]
    scores = np.exp(query @ layer.get_weights()[0])[..., :length]
    np.testing.assert_allclose(weights, scores / scores.sum(-1, keepdims=True), rtol=1e-5)
    other = layer(query, 3 * memory[:, :length]).weights
    np.testing.assert_array_equal(weights, np.array(other)[:, 0])


def test_pooling_is_the_formula_of_chapter_9():
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    layer = PoolingAttention()
    layer.build(query.shape, memory.shape)
    w, b = normal(M, seed=3), normal(S, seed=4)
    layer.set_weights([w, b])
    context, weights = layer(query, memory)
    scores = np.exp(np.tanh(memory @ w + b))
    expected = scores / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights[:, 0], np.stack([expected] * T, 1), rtol=1e-5)
    pooled = np.einsum("bs,bsm->bm", expected, memory)
    np.testing.assert_allclose(context, np.stack([pooled] * T, 1), rtol=1e-4, atol=1e-6)
