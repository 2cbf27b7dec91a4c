"""Linear attention against plain loops over the papers' equations, and against fla's code."""

import keras
import numpy as np
import pytest
from torch_references import (
    H,
    T,
    W,
    assert_is_torchs,
    by_head,
    fla_naive,
    joined,
    with_random_weights,
)

from attnlab.attention import LinearAttention
from attnlab.attention.contract import normal


def similarity(feature_map, q, k):
    """Eq. 7 of 2006.16236; section 4.1 of 2402.18668."""
    if feature_map == "elu":
        q, k = (np.where(x > 0, x + 1, np.exp(x)) for x in (q, k))
        return q @ k
    u = q @ k / np.sqrt(len(q))
    return 1 + u + u**2 / 2


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("feature_map", ["elu", "taylor"])
def test_weights_and_context_are_the_formula(feature_map, causal):
    layer = with_random_weights(LinearAttention(heads=H, feature_map=feature_map))
    x, mask = normal(2, T, W, seed=3), np.arange(T) != 2
    found = layer(x, x, memory_mask=np.stack([mask, mask]), causal=causal)
    kernels = [np.reshape(each, (W, H, -1)) for each in layer.get_weights()[:3]]
    contexts = np.zeros((2, T, H, W // H))
    for b, h, t in np.ndindex(2, H, T):
        q, k, v = (x[b].astype("float64") @ each[:, h] for each in kernels)
        row = [similarity(feature_map, q[t], k[s]) for s in range(T)]
        row = np.where(mask & (np.arange(T) <= t) if causal else mask, row, 0)
        row /= row.sum()
        np.testing.assert_allclose(found.weights[b, h, t], row, atol=1e-6)
        contexts[b, t, h] = row @ v
    expected = contexts.reshape(2, T, W) @ layer.get_weights()[3]
    np.testing.assert_allclose(found.context, expected, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_features_far_below_zero_keep_their_ratio(dtype):
    """In float32 `elu(-20) + 1` is 0."""
    vectors = np.array([-20.0, -9.0, -5.0, 0.5], "float32")[: 4 if dtype == "float32" else None]
    vectors = keras.ops.cast(vectors if dtype == "float32" else vectors[1:], dtype)
    found = LinearAttention(heads=H).activate("query", vectors)
    expected = np.where(vectors > 0, np.float64(vectors) + 1, np.exp(np.float64(vectors)))
    rtol = {"float32": 1e-6, "bfloat16": 2**-8, "float16": 2**-9}[dtype]
    np.testing.assert_allclose(np.float64(found), expected, rtol=rtol)


@pytest.mark.parametrize("steps", [T, 67])
def test_elu_is_flas(steps):
    """`naive_recurrent_linear_attn`, whose denominator is scaled as its numerator is."""
    torch = pytest.importorskip("torch")
    naive = fla_naive("linear_attn").naive_recurrent_linear_attn

    def reference(vectors, query_kernel, key_kernel, value_kernel, output_kernel):
        queries, keys, values = (
            by_head(vectors, kernel) for kernel in (query_kernel, key_kernel, value_kernel)
        )
        queries, keys = (torch.nn.functional.elu(each) + 1 for each in (queries, keys))
        parts = [each.transpose(1, 2) for each in (queries, keys, values)]
        return joined(naive(*parts, normalize=True)[0].transpose(1, 2), output_kernel)

    assert_is_torchs(LinearAttention(heads=H), reference, steps=steps)


@pytest.mark.parametrize("steps", [T, 67])
def test_taylor_is_flas_based(steps):
    naive = fla_naive("based").naive_parallel_based

    def reference(vectors, query_kernel, key_kernel, value_kernel, output_kernel):
        kernels = (query_kernel, key_kernel, value_kernel)
        return joined(naive(*(by_head(vectors, each) for each in kernels)), output_kernel)

    layer = LinearAttention(heads=H, feature_map="taylor", key_size=5)
    assert_is_torchs(layer, reference, steps=steps)


def test_the_size_of_keys_and_of_the_state():
    for settings, features in (({}, 4), ({"feature_map": "taylor", "key_size": 5}, 31)):
        layer = with_random_weights(LinearAttention(heads=H, **settings))
        assert layer.query_kernel.shape == (W, H * settings.get("key_size", 4))
        (sums,) = layer.empty_cache(2, None, W)
        assert sums.shape == (2, H, features, W // H + 1)
