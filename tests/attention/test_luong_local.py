"""Luong's local attention: its properties, and a comparison with plain loops."""

import numpy as np
import pytest

from attnlab.attention import LuongLocalAttention
from attnlab.attention.contract import normal

B, T, S, W, U = 2, 3, 11, 5, 7
SCORES = ("dot", "general", "concat")
START = 2
QUERY, MEMORY = normal(B, T, W, seed=1), normal(B, S, W, seed=2)
MASK = np.ones((B, 1, S), bool)
MASK[0, 0, 1] = False  # a hole: what counts is the last attended position
MASK[1, 0, 7:] = False


def score(layer, s, h):
    """Eq. 8, one pair of vectors at a time."""
    if layer.score_name == "dot":
        return s @ h
    kernel = layer.kernel.numpy()
    if layer.score_name == "general":
        return h @ kernel @ s
    return layer.score_vector.numpy() @ np.tanh(np.concatenate([s, h]) @ kernel)


def center(layer, s, t, length):
    """p_t of the two alignments."""
    if layer.alignment == "monotonic":
        return t
    hidden = np.tanh(s @ layer.position_kernel.numpy())
    return length / (1 + np.exp(-layer.position_vector.numpy() @ hidden))


def loop(layer, query, memory, mask):
    """Eq. 7, 9 and 10 as they are printed, positions counted from 0."""
    weights = np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        allowed = [j for j in range(S) if mask[b, 0, j]]
        p = center(layer, query[b, t], START + t, max(allowed) + 1)
        window = [j for j in allowed if p - layer.window <= j <= p + layer.window]
        exps = {j: np.exp(score(layer, query[b, t], memory[b, j])) for j in window}
        for j in window:
            weights[b, t, j] = exps[j] / sum(exps.values())
            if layer.alignment == "predictive":
                weights[b, t, j] *= np.exp(-((j - p) ** 2) / (2 * (layer.window / 2) ** 2))
    return weights


@pytest.mark.parametrize(
    ("alignment", "score", "window", "masked"),
    [  # each pair of values once
        *[("monotonic", "dot", 1, True), ("monotonic", "general", 3, False)],
        *[("monotonic", "concat", 1, False), ("predictive", "dot", 3, False)],
        *[("predictive", "general", 1, True), ("predictive", "concat", 3, True)],
    ],
)
def test_weights_and_context_equal_the_loop(alignment, score, window, masked):
    units = U if alignment == "predictive" or score == "concat" else None
    layer = LuongLocalAttention(alignment=alignment, score=score, window=window, units=units)
    mask = MASK if masked else np.ones_like(MASK)
    context, weights = layer(QUERY, MEMORY, mask=mask if masked else None, start_index=START)
    expected = loop(layer, QUERY, MEMORY, mask)
    np.testing.assert_allclose(weights[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(context, expected @ MEMORY, atol=1e-5)


def test_position_follows_the_true_source_length():
    layer = LuongLocalAttention(alignment="predictive", score="dot", units=U)
    layer.build(QUERY.shape, MEMORY.shape)
    layer.position_vector.assign(np.zeros(U))  # sigmoid(0): the middle of the source
    np.testing.assert_array_equal(layer.centers(QUERY, S)[:, 0, :, 0], np.full((B, T), 5.5))
    centers = layer.centers(QUERY, S, mask=MASK[:, None])
    np.testing.assert_array_equal(centers[:, 0, :, 0], [[5.5] * T, [3.5] * T])


def test_window_beyond_the_source_gives_zeros():
    layer = LuongLocalAttention(alignment="monotonic", score="dot", window=2)
    context, weights = layer(QUERY, MEMORY, start_index=S + 1)
    inside = np.array(weights)[:, 0].sum(-1)
    np.testing.assert_allclose(inside, [[1, 0, 0]] * B, atol=1e-6)
    assert np.all(np.array(context)[:, 1:] == 0)
