"""Forgetting attention against loops over its formula."""

import numpy as np
import pytest
from random_layers import B, H, T, W, with_random_weights

from attnlab.attention import ForgettingAttention
from attnlab.attention.contract import normal


def test_weights_are_the_formula_and_masked_steps_forget_nothing():
    layer = with_random_weights(ForgettingAttention(heads=H))
    x, mask = normal(B, T, W, seed=3), np.arange(T) != 2
    weights = layer(x, x, memory_mask=np.stack([mask, mask]), causal=True).weights
    w_q, w_k, _, _, w_f, b_f = (w.astype("float64") for w in layer.get_weights())
    for b, h in np.ndindex(B, H):
        q, k = ((x[b] @ w).reshape(T, H, -1)[:, h] for w in (w_q, w_k))
        gates = np.where(mask, 1 / (1 + np.exp(-(x[b] @ w_f + b_f)[:, h])), 1)
        for t in range(T):
            row = np.zeros(T)
            for s in np.flatnonzero(mask[: t + 1]):
                row[s] = np.exp(q[t] @ k[s] / np.sqrt(W / H)) * gates[s + 1 : t + 1].prod()
            np.testing.assert_allclose(weights[b, h, t], row / row.sum(), atol=1e-6)


@pytest.mark.parametrize("normalizer", ["sigmoid", "softmax_one"])
def test_weights_that_are_no_shares_forget_too(normalizer):
    """Their scores may not be shifted, so the whole sum of the gates counts."""
    layer = with_random_weights(ForgettingAttention(heads=H, normalizer=normalizer))
    x = normal(B, T, W, seed=3)
    before = np.array(layer(x, x, causal=True).weights)
    layer.gate_bias.assign(layer.gate_bias - 20)
    after = np.array(layer(x, x, causal=True).weights)
    diagonal = np.eye(T, dtype=bool)
    assert after[..., ~diagonal].max() < 1e-4 < before[..., diagonal].max()
    if normalizer == "sigmoid":
        np.testing.assert_allclose(after[..., diagonal], before[..., diagonal], rtol=1e-4)


def test_gates_start_nearly_open():
    layer = ForgettingAttention(heads=H)
    layer.build((B, T, W), (B, T, W))
    np.testing.assert_array_equal(layer.gate_bias, np.full(H, 5.0))
    assert layer.count_params() == 4 * W * W + H * (W + 1)
