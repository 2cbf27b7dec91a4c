"""Options of multi-head attention, compared with formulas in NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from random_layers import own_past

from attnlab.attention import MultiHeadAttention
from attnlab.attention.contract import CHECKS, normal
from attnlab.attention.multi_head import sliding_mask
from attnlab.errors import RequestError
from attnlab.layers.transformer import TransformerDecoderLayer

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
B, T, S, Q, M, U, H = 2, 3, 7, 11, 5, 24, 6
MASK = np.array([[1] * 7, [1, 1, 0, 1, 0, 0, 0]], bool)
EACH = [
    {},
    {"kv_heads": 1},
    {"kv_heads": 3, "window": 2},
    {"sink": True},
    {"gate": "headwise"},
    {"gate": "elementwise"},
    {"query_key_norm": True},
    {"softcap": 0.7},
    {"talking_heads": True},
    {"top_k": 2},
]
ALL = {"kv_heads": 2, "window": 3, "sink": True, "gate": "elementwise", "query_key_norm": True}
ALL |= {"softcap": 5.0, "talking_heads": True, "top_k": 3}


def name_of(options):
    return "-".join(f"{key}={value}" for key, value in options.items()) or "plain"


def layer_of(options, heads=H, units=U, query=Q, memory=M, **more):
    layer = MultiHeadAttention(heads=heads, units=units, **options, **more)
    layer.build((B, T, query), (B, S, memory))
    for number, weight in enumerate(layer.weights):
        weight.assign(normal(*weight.shape, seed=20 + number) / 2)
    return layer


def softmax(scores, sink=None):
    lifted = np.exp(scores - np.max(scores, initial=-np.inf if sink is None else sink))
    extra = 0 if sink is None else np.exp(sink - np.max(scores, initial=sink))
    return lifted / (lifted.sum() + extra)


def normed(x, scale):
    return scale * x / np.sqrt(np.mean(x**2) + 1e-6)


def by_formulas(layer, query, memory, admitted):
    """Return context and weights, computed from the printed formulas one query at a time."""
    w = {weight.name: np.array(weight, "float64") for weight in layer.weights}
    heads, d = layer.heads, layer.units // layer.heads
    key_heads = layer.kv_heads or heads
    context = np.zeros((len(query), query.shape[1], layer.units))
    weights = np.zeros((len(query), heads, query.shape[1], memory.shape[1]))
    for b, t in np.ndindex(*query.shape[:2]):
        seen = np.flatnonzero(admitted[b, t])
        if not len(seen):
            continue
        q = (query[b, t] @ w["query_kernel"] + w["query_bias"]).reshape(heads, d)
        k = (memory[b] @ w["key_kernel"] + w["key_bias"]).reshape(-1, key_heads, d)[seen]
        v = (memory[b] @ w["value_kernel"] + w["value_bias"]).reshape(-1, key_heads, d)[seen]
        scores = np.zeros((heads, len(seen)))
        for h in range(heads):
            for s in range(len(seen)):
                one, other = q[h], k[s, h * key_heads // heads]
                if layer.query_key_norm:
                    one, other = normed(one, w["query_scale"]), normed(other, w["key_scale"])
                scores[h, s] = one @ other / np.sqrt(d)
        if layer.softcap:
            scores = layer.softcap * np.tanh(scores / layer.softcap)
        if layer.talking_heads:
            scores = w["score_mixing"].T @ scores
        rows = np.zeros_like(scores)
        for h in range(heads):
            most = np.argsort(-scores[h])[: layer.top_k]
            sink = w["sink_score"][h, 0, 0] if layer.sink else None
            rows[h, most] = softmax(scores[h, most], sink)
        if layer.talking_heads:
            rows = w["weight_mixing"].T @ rows
        weights[b, :, t, seen] = rows.T
        contexts = np.array([rows[h] @ v[:, h * key_heads // heads] for h in range(heads)])
        if layer.gate != "none":
            gates = 1 / (1 + np.exp(-query[b, t] @ w["gate_kernel"]))
            contexts *= gates.reshape(heads, -1)
        context[b, t] = contexts.ravel() @ w["output_kernel"] + w["output_bias"]
    return context, weights


@pytest.mark.parametrize("options", [*EACH, ALL], ids=name_of)
def test_the_result_is_that_of_the_formulas(options):
    layer = layer_of(options)
    query, memory = normal(B, T, Q), normal(B, S, M, seed=1)
    mask = np.broadcast_to(MASK[:, None], (B, T, S)).copy()
    mask[0, 1] = False
    output = layer(query, memory, mask=mask, start_index=2)
    if layer.window:
        distance = 2 + np.arange(T)[:, None] - np.arange(S)
        mask &= np.abs(distance) <= layer.window
    context, weights = by_formulas(layer, query, memory, mask)
    np.testing.assert_allclose(output.weights, weights, atol=2e-6)
    np.testing.assert_allclose(output.context, context, atol=2e-5)


def test_all_options_together_satisfy_the_contract():
    for check in CHECKS:
        check(lambda **changes: MultiHeadAttention(**{"heads": 4, **ALL, **changes}))


# --- windows -----------------------------------------------------------------------------------


def test_a_causal_window_has_the_query_and_a_two_sided_one_both_sides():
    causal, both = (np.array(sliding_mask(5, 5, 0, 2, way))[0] for way in (True, False))
    np.testing.assert_array_equal(causal[3], [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(both[2], [1, 1, 1, 1, 1])
    np.testing.assert_array_equal(both[0], [1, 1, 1, 0, 0])


@pytest.mark.parametrize(
    "steps, window, options, masked",
    [
        *((13, 3, {}, False), (12, 3, {}, True), (7, 1, ALL, True), (12, 3, ALL, False)),
        *((17, 8, {**ALL, "top_k": None}, True), (13, 3, {**ALL, "top_k": None}, False)),
    ],
)
def test_blocks_give_what_the_whole_gives(steps, window, options, masked):
    """Gradients, too; the left padding leaves queries without anything to see."""
    layer = layer_of({**options, "window": window}, query=U, memory=U)
    sequence = normal(B, steps, U, seed=5)
    real = np.ones((B, steps), bool)
    real[1, : steps // 2], real[1, -1] = not masked, not masked
    mask = real if masked else None
    assert layer.direct_context(sequence, layer.project(sequence), mask, True) is not None
    context, gradients = own_past(layer, sequence, memory_mask=mask)
    admitted = {"mask": np.ones((1, 1, 1), bool)}  # leaves only the way by weights
    expected, others = own_past(layer, sequence, memory_mask=mask, **admitted)
    np.testing.assert_allclose(context, expected, atol=3e-5, rtol=1e-4)
    for name, value in others.items():
        # Without options the gradient of key_bias is 0, except for rounding.
        most = 3e-5 * max(1, np.abs(others["vectors" if name == "key_bias" else name]).max())
        np.testing.assert_allclose(gradients[name], value, atol=most, rtol=1e-4, err_msg=name)


def test_a_compiled_window_makes_no_weights_of_all_pairs():
    """Neither does its gradient; without a window there are such weights."""

    def program(window):
        layer, steps = layer_of({"window": window}, heads=2, units=4, query=4, memory=4), 211

        @tf.function(jit_compile=True, autograph=False)
        def gradient(sequence):
            with tf.GradientTape() as tape:
                tape.watch(sequence)
                loss = tf.reduce_sum(layer(sequence, sequence, causal=True).context)
            return tape.gradient(loss, sequence)

        sequence = tf.constant(normal(1, steps, 4))
        return gradient.experimental_get_compiler_ir(sequence)(stage="optimized_hlo")

    assert "211,211]" in program(None) and "211,211]" not in program(5)


# --- what is refused ---------------------------------------------------------------------------


def test_a_window_cant_be_the_attention_to_a_source():
    layers = {name: MultiHeadAttention(window=3) for name in ("self_attention", "cross_attention")}
    with pytest.raises(
        RequestError, match="attention.window=3 counts the steps of one sequence: it can't"
    ):
        TransformerDecoderLayer(**layers, units=8, feed_forward=8)
