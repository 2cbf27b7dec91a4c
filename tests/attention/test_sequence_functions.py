"""Rotary positions and short convolutions: formulas, and implementations that aren't ours."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention import MultiHeadAttention
from attnlab.attention.contract import normal
from attnlab.attention.functional import causal_convolution, rotate

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

B, H, T, D, N = 2, 3, 7, 10, 4


# --- rotary positions --------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 5])
def test_pairs_of_numbers_are_turned_as_complex_ones(start):
    vectors = normal(B, H, T, D)
    pairs = vectors[..., : D // 2] + 1j * vectors[..., D // 2 :]
    rates = 10_000.0 ** (-2 * np.arange(D // 2) / D)
    turned = pairs * np.exp(1j * (start + np.arange(T))[:, None] * rates)
    expected = np.concatenate([turned.real, turned.imag], axis=-1)
    for index in (start, tf.constant(start)):
        np.testing.assert_allclose(rotate(vectors, index), expected, atol=1e-5)


def test_angles_are_exact_in_mixed_precision():
    vectors = normal(1, 1, D)
    exact = np.array(rotate(vectors, 3001))
    result = rotate(tf.cast(vectors, tf.bfloat16), 3001)
    assert result.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(result, tf.float32), exact, atol=0.02)


# --- short convolutions ------------------------------------------------------------------------


def convolved(vectors, taps):
    """The formula, by loops; taps (N, K)."""
    result = np.zeros_like(vectors)
    for p in range(vectors.shape[-2]):
        for j in range(len(taps)):
            if p - len(taps) + 1 + j >= 0:
                result[..., p, :] += taps[j] * vectors[..., p - len(taps) + 1 + j, :]
    return result


def test_a_vector_is_mixed_with_those_before_it_and_those_below_position_0_are_zero():
    taps = normal(N, D)
    for steps in (1, 3, 7):
        vectors = normal(B, steps, D)
        expected = convolved(vectors, taps)
        np.testing.assert_allclose(causal_convolution(vectors, taps), expected, atol=1e-5)
    for start in (-2, tf.constant(-2)):
        result = causal_convolution(vectors, taps, start)
        np.testing.assert_allclose(result[:, 2:], convolved(vectors[:, 2:], taps), atol=1e-5)


@pytest.mark.parametrize("heads", [(), (H,)])
def test_gradients_of_a_convolution_are_those_of_tensorflow_for_its_formula(heads):
    vectors, taps = tf.constant(normal(B, *heads, T, D)), tf.constant(normal(N, *heads, D, seed=1))
    factors = normal(B, *heads, T, D, seed=2)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([vectors, taps])
        ours = tf.reduce_sum(causal_convolution(vectors, taps) * factors)
        steps = tf.unstack(
            tf.concat([tf.zeros_like(vectors)[..., : N - 1, :], vectors], -2), axis=-2
        )
        mixed = [tf.add_n([taps[j] * steps[p + j] for j in range(N)]) for p in range(T)]
        expected = tf.reduce_sum(tf.stack(mixed, axis=-2) * factors)
    for variable in (vectors, taps):
        result = tape.gradient(ours, variable)
        np.testing.assert_allclose(result, tape.gradient(expected, variable), atol=1e-5)


def test_a_layer_convolves_its_projections_before_it_turns_them():
    keras.utils.set_random_seed(1)
    layer = MultiHeadAttention(heads=H, rope=True, short_convolution=N)
    memory = normal(B, T, 2 * H)
    layer.build(memory.shape, memory.shape)
    layer.key_bias.assign(normal(2 * H))
    taps = {weight.name: np.array(weight) for weight in layer.weights}
    plain, result = layer.project_memory(memory), layer.project(memory)
    keys = causal_convolution(plain.keys, taps["keys_convolution"])
    values = causal_convolution(plain.values, taps["values_convolution"])
    np.testing.assert_allclose(result.keys, rotate(keys), atol=1e-6)
    np.testing.assert_allclose(result.values, values, atol=1e-6)
    query = causal_convolution(layer.project_query(memory), taps["query_convolution"])
    np.testing.assert_allclose(layer.prepare_query(memory), rotate(query), atol=1e-6)
    assert max(np.abs(taps[f"{name}_convolution"]).max() for name in ("query", "keys")) <= 0.5
