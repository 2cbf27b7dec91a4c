"""What turns scores into weights, compared with the papers' definitions."""

import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import normal
from attnlab.attention.functional import NORMALIZERS, sigmoid, sink_softmax

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
SCORES = 2 * normal(7, 11, seed=3)
MASK = np.random.default_rng(4).random((7, 11)) < 0.6
MASK[0] = False
MASK[1] = np.arange(11) == 5
POWERS = {"sparsemax": (1, 1), "entmax15": (0.5, 2)}  # weights are max(factor s - tau, 0)^power
every = pytest.mark.parametrize("name", NORMALIZERS)


def by_definition(name, row):
    """Return the weights of one row of admitted scores, in float64."""
    row = row.astype("float64")
    if name == "sigmoid":
        return 1 / (1 + len(row) * np.exp(-row))
    if name in POWERS:
        factor, power = POWERS[name]
        low, high = factor * row.max() - 1, factor * row.max()
        for _ in range(80):  # the tau for which the weights add up to 1, by bisection
            tau = (low + high) / 2
            weights = np.maximum(factor * row - tau, 0) ** power
            low, high = (tau, high) if weights.sum() > 1 else (low, tau)
        return weights
    return np.exp(row) / (np.exp(row).sum() + (name == "softmax_one"))


def gradients(function, scores, mask=None):
    scores = tf.convert_to_tensor(scores)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        weights = function(scores, mask)
        loss = tf.reduce_sum(weights * tf.cast(normal(*SCORES.shape, seed=9), weights.dtype))
    return weights.numpy(), tape.gradient(loss, scores).numpy()


@every
def test_weights_are_those_of_the_definition_over_the_admitted(name):
    for dtype in ("float32", "float64"):
        weights = np.array(NORMALIZERS[name](SCORES.astype(dtype), MASK))
        assert weights.dtype == dtype and np.all(weights[~MASK] == 0)
        for scores, mask, row in zip(SCORES, MASK, weights, strict=True):
            if mask.any():
                np.testing.assert_allclose(row[mask], by_definition(name, scores[mask]), atol=1e-6)


@every
def test_gradients_are_those_of_central_differences(name):
    scores, step = SCORES.astype("float64"), 1e-6
    _, gradient = gradients(NORMALIZERS[name], scores, MASK)
    assert np.all(gradient[~MASK] == 0)
    factors = normal(*SCORES.shape, seed=9)
    for place in np.argwhere(MASK):
        ends = []
        for sign in (1, -1):
            moved = scores.copy()
            moved[tuple(place)] += sign * step
            ends.append(np.sum(NORMALIZERS[name](moved, MASK) * factors))
        assert gradient[tuple(place)] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)


@every
def test_compiled_weights_and_gradients_are_the_same(name):
    eager = gradients(NORMALIZERS[name], SCORES, MASK)

    @tf.function(jit_compile=True, autograph=False)
    def compiled(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            weights = NORMALIZERS[name](scores, MASK)
            loss = tf.reduce_sum(weights * normal(*SCORES.shape, seed=9))
        return weights, tape.gradient(loss, scores)

    for one, other in zip(eager, compiled(tf.constant(SCORES)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@every
def test_masked_and_extreme_scores_change_nothing(name):
    extreme = np.where(MASK, SCORES, np.float32(3e38))
    for one, other in zip(
        gradients(NORMALIZERS[name], SCORES, MASK),
        gradients(NORMALIZERS[name], extreme, MASK),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    large = SCORES * np.float32(1e30)
    assert all(np.all(np.isfinite(x)) for x in gradients(NORMALIZERS[name], large, MASK))


def test_sigmoid_counts_what_a_row_admits_whatever_the_masks_shape():
    whole = np.array(sigmoid(SCORES))
    np.testing.assert_allclose(whole, 1 / (1 + 11 * np.exp(-SCORES)), rtol=1e-5)
    rows = np.arange(7)[:, None] > 2  # (7, 1): all of a row or nothing
    np.testing.assert_array_equal(sigmoid(SCORES, rows), np.where(rows, whole, 0))


def test_a_sink_is_one_more_score_without_a_weight():
    """Also where it is the largest, and for a masked row."""
    for sink in (-3.0, 0.0, 200.0):
        with_sink = np.concatenate([np.where(MASK, SCORES, -1e30), np.full((7, 1), sink)], axis=1)
        row = np.exp(with_sink - with_sink.max(-1, keepdims=True))
        expected = (row / row.sum(-1, keepdims=True))[:, :-1]
        np.testing.assert_allclose(sink_softmax(SCORES, MASK, sink), expected, atol=1e-6)
    np.testing.assert_array_equal(np.array(sink_softmax(SCORES, MASK, 200.0))[0], 0)
