"""Measures of heads, against the sums of their definitions, element by element."""

import math

import keras
import numpy as np
import pytest

from attnlab.attention import MultiHeadAttention, NoAttention
from attnlab.attention.head_measures import MEASURES, Looked, measure_heads, record_attention
from attnlab.layers.transformer import TransformerEncoderLayer

B, H, T = 3, 2, 7


def sequence(seed=0, causal=True, shares=True):
    draw = np.random.default_rng(seed)
    weights = draw.random((B, H, T, T))
    admitted = np.tril(np.ones((T, T), bool)) if causal else np.ones((T, T), bool)
    admitted = np.broadcast_to(admitted, (B, 1, T, T))
    weights = weights * admitted
    weights /= weights.sum(-1, keepdims=True) * (1 if shares else 0.5)
    tokens = draw.integers(0, 3, (B, T))
    return Looked(weights, admitted, True, shares), tokens


def by_hand(looked, tokens, head):
    """Every measure of a head as its definition says it, in loops."""
    means = {name: [] for name in MEASURES}
    for row in range(B):
        sums = {name: [] for name in MEASURES}
        for t in range(T):
            if tokens[row, t] < 0:
                continue
            a = looked.weights[row, head, t]
            count = int(looked.admitted[row, 0, t].sum())
            entropy = -sum(x * math.log(x) for x in a if x > 0)
            sums["entropy"].append(entropy)
            if count > 1:
                sums["share"].append(entropy / math.log(count))
            sums["distance"].append(sum(a[s] * abs(t - s) for s in range(T)))
            if t > 0:
                sums["first"].append(a[0])
                sums["previous"].append(a[t - 1])
                earlier = [s for s in range(t) if tokens[row, s] == tokens[row, t]]
                if earlier:
                    sums["duplicate"].append(sum(a[s] for s in earlier))
                    sums["induction"].append(sum(a[s + 1] for s in earlier))
        for name, values in sums.items():
            if values:
                means[name].append(np.mean(values))
    return {name: np.mean(values) for name, values in means.items()}


@pytest.mark.parametrize("causal, masked", [(True, True), (False, True), (False, False)])
def test_measures_are_the_sums_of_their_definitions(causal, masked):
    looked, tokens = sequence(causal=causal)
    tokens[1, 5:] = -1  # padding: neither a query nor a token that comes again
    admitted = looked.admitted.copy()
    admitted[1, ..., 5:] &= not masked
    weights = looked.weights * admitted
    weights /= weights.sum(-1, keepdims=True)
    looked = looked._replace(weights=weights, admitted=admitted)
    measures = measure_heads(looked, tokens)
    for head in range(H):
        for name, value in by_hand(looked, tokens, head).items():
            np.testing.assert_allclose(measures[name][head], value, rtol=1e-6, err_msg=name)


def test_the_rest_of_a_row_is_one_more_outcome():
    looked = Looked(np.full((1, 1, 1, 2), 0.25), np.ones((1, 1, 1, 2), bool), False, True)
    expected = -2 * 0.25 * math.log(0.25) - 0.5 * math.log(0.5)
    np.testing.assert_allclose(measure_heads(looked)["entropy"], [expected])


def test_what_is_not_defined_is_nan():
    looked, tokens = sequence(shares=False)
    assert np.isnan(measure_heads(looked, tokens)["entropy"]).all()
    assert np.isnan(measure_heads(looked)["induction"]).all()
    across = looked._replace(is_own=False, are_shares=True)
    measures = measure_heads(across, tokens)
    assert np.isnan(measures["previous"]).all() and not np.isnan(measures["entropy"]).any()


def test_a_model_is_recorded_layer_by_layer_and_then_no_more():
    keras.utils.set_random_seed(0)
    layers = [
        TransformerEncoderLayer(
            attention=MultiHeadAttention(heads=2), units=8, feed_forward=8, name=f"encoder_{n}"
        )
        for n in range(2)
    ]
    vectors = sequence = keras.Input((5, 8))
    outputs = []
    for layer in layers:
        output = layer(vectors)
        vectors = output.vectors
        outputs.append(output.attention.weights)
    model = keras.Model(sequence, outputs)
    inputs = np.random.default_rng(0).normal(size=(3, 5, 8)).astype("float32")
    with record_attention(model) as layer_looks:
        weights = model(inputs)
    assert [*layer_looks] == ["encoder_0", "encoder_1"]
    for looked, expected in zip(layer_looks.values(), weights, strict=True):
        assert looked.is_own and looked.are_shares and looked.admitted.all()
        np.testing.assert_array_equal(looked.weights, expected)
    model(inputs)
    assert len(layer_looks) == 2 and layers[0].attention.recorder is None


def test_a_layer_without_attention_is_left_out():
    query, memory = keras.Input((5, 8)), keras.Input((7, 8))
    model = keras.Model([query, memory], NoAttention()(query, memory).context)
    with record_attention(model) as looks:
        model([np.zeros((1, 5, 8), "float32"), np.zeros((1, 7, 8), "float32")])
    assert looks == {}
