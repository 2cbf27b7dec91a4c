"""DeltaNet, gated or not, against its recurrence."""

import numpy as np
import pytest
from random_layers import B, H, T, W, with_random_weights

from attnlab.attention import DeltaAttention, GatedDeltaAttention
from attnlab.attention.contract import normal
from attnlab.attention.delta import delta_steps


def of_unit_length(x):
    """SiLU, then the vector's direction."""
    x = x / (1 + np.exp(-x))
    return x / np.sqrt((x**2).sum(-1, keepdims=True))


def reference(x, mask, w_q, w_k, w_v, w_o, w_b, scale, w_a=None, log_rate=None, bias=None):
    """Section 2.2 of 2406.06484, Eq. 10 of 2412.06464; a masked step changes nothing."""
    split = lambda kernel: (x @ kernel).reshape(*x.shape[:2], H, -1).swapaxes(1, 2)  # noqa: E731
    mask = mask[:, None]
    strength = np.where(mask, 1 / (1 + np.exp(-split(w_b)[..., 0])), 0)
    decay = None
    if w_a is not None:
        decay = -np.exp(log_rate) * np.log1p(np.exp(x @ w_a + bias))
        decay = np.where(mask, decay.swapaxes(1, 2), 0)
    queries, keys = of_unit_length(split(w_q)), of_unit_length(split(w_k))
    contexts, _ = delta_steps(queries, keys, split(w_v), strength, decay)
    contexts /= np.sqrt((contexts**2).mean(-1, keepdims=True) + 1e-5)
    return (contexts * scale).swapaxes(1, 2).reshape(x.shape) @ w_o


@pytest.mark.parametrize("cls", [DeltaAttention, GatedDeltaAttention])
@pytest.mark.parametrize("steps", [T, 67])
def test_the_context_is_the_recurrence(cls, steps):
    layer = with_random_weights(cls(heads=H))
    x, mask = normal(2, steps, W, seed=3), np.random.default_rng(5).random((2, steps)) < 0.8
    context = layer(x, x, memory_mask=mask, causal=True).context
    weights = [weight.astype("float64") for weight in layer.get_weights()]
    expected = reference(x.astype("float64"), mask, *weights)
    seen = np.cumsum(mask, axis=1) > 0
    np.testing.assert_allclose(context, expected * seen[..., None], atol=3e-5)


def test_the_decay_starts_as_in_mamba_2():
    layer = GatedDeltaAttention(heads=211)
    layer.build((B, T, 211), (B, T, 211))
    rates = np.exp(np.array(layer.decay_rate))
    steps = np.log1p(np.exp(np.array(layer.decay_bias)))
    for values, low, high in ((rates, 0, 16), (np.log(steps), np.log(0.001), np.log(0.1))):
        assert low < values.min() < low + (high - low) / 8 and high > values.max()
        np.testing.assert_allclose(values.mean(), (low + high) / 2, rtol=0.1)


def test_repeated_keys_replace_values_and_the_weights_say_so():
    """Two steps with the same vector: the second takes a part of the first one's value out."""
    layer = with_random_weights(DeltaAttention(heads=H))
    x = np.repeat(normal(1, 1, W, seed=3), 2, axis=1)
    weights = np.array(layer(x, x, causal=True).weights)[0]
    strength = 1 / (1 + np.exp(-x[0, 0] @ np.array(layer.strength_kernel)))
    match = weights[:, 0, 0] / strength  # q'k
    np.testing.assert_allclose(weights[:, 1, 1], match * strength, rtol=1e-4)
    np.testing.assert_allclose(weights[:, 1, 0], match * strength * (1 - strength), rtol=1e-4)
