"""Differential attention against loops over its formula, and against transformers' layer."""

import numpy as np
import pytest
import tensorflow as tf
from torch_references import B, H, T, W, assert_is_torchs, with_random_weights

from attnlab.attention import DifferentialAttention, MultiHeadAttention
from attnlab.attention.contract import normal
from attnlab.layers.transformer import EncoderStack


def softmax(scores):
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


@pytest.mark.parametrize("depth", [0, 3])
def test_weights_and_context_are_the_formula(depth):
    layer = with_random_weights(DifferentialAttention(heads=H, depth=depth))
    x, mask = normal(B, T, W, seed=3), np.arange(T) != 2
    found = layer(x, x, memory_mask=np.stack([mask, mask]))
    w_q, w_k, w_v, w_o, *vectors, scale = (each.astype("float64") for each in layer.get_weights())
    a_1, b_1, a_2, b_2 = vectors
    start = 0.8 - 0.6 * np.exp(-0.3 * depth)
    share = np.exp(a_1 @ b_1) - np.exp(a_2 @ b_2) + start
    contexts, size = np.zeros((B, T, W)), W // H
    for b, h, t in np.ndindex(B, H, T):
        q, k = ((x[b] @ each).reshape(T, 2 * H, -1)[:, 2 * h : 2 * h + 2] for each in (w_q, w_k))
        row = np.zeros(T)
        for sign, part in ((1, 0), (-share, 1)):
            row[mask] += sign * softmax(k[mask, part] @ q[t, part] / np.sqrt(size / 2))
        np.testing.assert_allclose(found.weights[b, h, t], row, atol=1e-5)
        head = row @ (x[b] @ w_v)[:, h * size : (h + 1) * size]
        head *= scale * (1 - start) / np.sqrt((head**2).mean() + 1e-5)
        contexts[b, t, h * size : (h + 1) * size] = head
    np.testing.assert_allclose(found.context, contexts @ w_o, atol=2e-5)
    np.testing.assert_allclose(np.sum(found.weights, -1), 1 - share, atol=1e-5)


def test_it_is_transformers(monkeypatch):
    """Its layer pairs query heads h and h + H, and its norm has no scale."""
    modeling = pytest.importorskip("transformers.models.diffllama.modeling_diffllama")
    torch = pytest.importorskip("torch")
    depth, size = 2, W // H
    config = modeling.DiffLlamaConfig(
        hidden_size=W,
        num_attention_heads=2 * H,
        num_key_value_heads=2 * H,
        attention_bias=False,
        rms_norm_eps=1e-5,
        attn_implementation="eager",
    )
    layer = modeling.DiffLlamaAttention(config, depth)
    order = [each for half in (0, 1) for each in range(half, 2 * H, 2)]

    def in_torch(vectors, query_kernel, key_kernel, value_kernel, output_kernel, **others):
        heads = lambda kernel: kernel.unflatten(1, (2 * H, -1))[:, order].flatten(1)  # noqa: E731
        halves = value_kernel.unflatten(1, (H, 2, -1)).transpose(1, 2).flatten(1)
        kernels = {
            "q_proj.weight": heads(query_kernel).T,
            "k_proj.weight": heads(key_kernel).T,
            "v_proj.weight": halves.T,
            "o_proj.weight": (output_kernel * others["norm_scale"].repeat(H)[:, None]).T,
            "lambda_q1": others["lambda_query_1"],
            "lambda_k1": others["lambda_key_1"],
            "lambda_q2": others["lambda_query_2"],
            "lambda_k2": others["lambda_key_2"],
        }
        turns = torch.ones(1, T, size // 2), torch.zeros(1, T, size // 2)
        past = torch.full((T, T), -torch.inf).triu(1)[None, None]
        given = (vectors,), {"position_embeddings": turns, "attention_mask": past}
        return torch.func.functional_call(layer, kernels, *given)[0]

    assert_is_torchs(DifferentialAttention(heads=H, depth=depth), in_torch, most=3e-5)


def test_a_stack_counts_its_layers():
    stack = EncoderStack()
    layers = [DifferentialAttention(heads=H), MultiHeadAttention(), DifferentialAttention(heads=H)]
    stack.stack(layers, positions="none", units=W, feed_forward=8)
    assert [each.depth for each in layers] == [0, 1, 2]
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
    own = (1 - float(layer.share)) * np.eye(T)
    np.testing.assert_allclose(biased[:, 1:], np.broadcast_to(own, (B, 2, T, T)), atol=1e-5)
