"""Linear attention against plain loops over the papers' equations."""

import keras
import numpy as np
import pytest
from random_layers import H, T, W, with_random_weights

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
    output = layer(x, x, memory_mask=np.stack([mask, mask]), causal=causal)
    kernels = [np.reshape(kernel, (W, H, -1)) for kernel in layer.get_weights()[:3]]
    contexts = np.zeros((2, T, H, W // H))
    for b, h, t in np.ndindex(2, H, T):
        q, k, v = (x[b].astype("float64") @ kernel[:, h] for kernel in kernels)
        row = [similarity(feature_map, q[t], k[s]) for s in range(T)]
        row = np.where(mask & (np.arange(T) <= t) if causal else mask, row, 0)
        row /= row.sum()
        np.testing.assert_allclose(output.weights[b, h, t], row, atol=1e-6)
        contexts[b, t, h] = row @ v
    expected = contexts.reshape(2, T, W) @ layer.get_weights()[3]
    np.testing.assert_allclose(output.context, expected, atol=2e-5)


def test_features_far_below_zero_keep_their_ratio():
    """In float32 `elu(-20) + 1` is 0."""
    for dtype, least, rtol in (("float32", -20, 1e-6), ("bfloat16", -9, 2**-8)):
        vectors = keras.ops.cast(np.array([least, -5.0, 0.5]), dtype)
        features = LinearAttention(heads=H).activate("query", vectors)
        expected = np.where(vectors > 0, np.float64(vectors) + 1, np.exp(np.float64(vectors)))
        np.testing.assert_allclose(np.float64(features), expected, rtol=rtol)


def test_the_size_of_keys_and_of_the_state():
    for settings, features in (({}, 4), ({"feature_map": "taylor", "key_size": 5}, 31)):
        layer = with_random_weights(LinearAttention(heads=H, **settings))
        assert layer.query_kernel.shape == (W, H * settings.get("key_size", 4))
        assert layer.empty_cache(2, None, W).shape == (2, H, features, W // H + 1)
