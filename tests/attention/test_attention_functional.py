"""The pure functions: exact small cases, and properties by hypothesis."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attnlab.attention import functional as f

shapes = st.tuples(st.integers(1, 3), st.integers(1, 7))
floats = st.floats(-80, 80, width=32)
quick = settings(max_examples=30, deadline=None, database=None)


@st.composite
def masked_scores(draw):
    shape = draw(shapes)
    scores = draw(hnp.arrays("float32", shape, elements=floats))
    return scores, draw(hnp.arrays(bool, shape))


@quick
@given(masked_scores())
def test_masked_softmax_is_a_softmax_over_the_admitted(case):
    scores, mask = case
    weights = np.array(f.masked_softmax(scores, mask))
    assert np.all(weights[~mask] == 0)
    np.testing.assert_allclose(weights.sum(-1), mask.any(-1), atol=1e-5)
    for row, admitted, got in zip(scores, mask, weights, strict=True):
        if admitted.any():
            expected = np.exp(row[admitted].astype("float64") - row[admitted].max())
            np.testing.assert_allclose(got[admitted], expected / expected.sum(), atol=1e-5)


@quick
@given(masked_scores(), st.floats(-30, 30, width=32))
def test_masked_softmax_ignores_shifts_and_the_masked(case, shift):
    scores, mask = case
    weights = f.masked_softmax(scores, mask)
    moved = f.masked_softmax(scores + np.float32(shift), mask)
    np.testing.assert_allclose(weights, moved, atol=1e-4)
    other = np.where(mask, scores, np.float32(123))
    np.testing.assert_array_equal(weights, f.masked_softmax(other, mask))


@quick
@given(masked_scores())
def test_masked_softmax_gradient_is_finite_and_zero_where_masked(case):
    scores, mask = (tf.constant(x) for x in case)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = tf.reduce_sum(f.masked_softmax(scores, mask) * tf.range(scores.shape[-1] * 1.0))
    gradient = tape.gradient(loss, scores).numpy()
    assert np.all(np.isfinite(gradient))
    assert np.all(gradient[~mask.numpy()] == 0)


def test_masked_softmax_by_hand():
    scores = np.log([[1.0, 3.0, 4.0], [1.0, 3.0, 4.0], [1.0, 1.0, 1.0]])
    mask = np.array([[True, True, True], [True, True, False], [False, False, False]])
    weights = f.masked_softmax(scores, mask)
    np.testing.assert_allclose(weights, [[0.125, 0.375, 0.5], [0.25, 0.75, 0], [0, 0, 0]])
    assert weights.dtype == "float64"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_softmax_runs_in_float32_and_survives_infinite_float16_scores(dtype):
    scores = tf.cast([[7e4, 0.0, -7e4]], dtype)
    weights = f.masked_softmax(scores)
    assert weights.dtype == "float32"
    np.testing.assert_array_equal(weights, [[1, 0, 0]])


def test_dot_score_does_not_overflow_float16():
    query, keys = tf.fill((1, 1, 7), 200.0), tf.fill((1, 1, 7), -300.0)
    scores = f.dot_score(tf.cast(query, "float16"), tf.cast(keys, "float16"))
    assert float(scores[0, 0, 0]) == -420000


def test_scores_by_hand():
    query, keys = np.array([[[1.0, 2.0]]]), np.array([[[3.0, 4.0], [5.0, -6.0]]])
    np.testing.assert_array_equal(f.dot_score(query, keys), [[[11, -7]]])
    np.testing.assert_allclose(f.scaled_dot_score(query, keys), [[[11 / 2**0.5, -7 / 2**0.5]]])
    np.testing.assert_allclose(f.scaled_dot_score(query, keys, 4), [[[5.5, -3.5]]])
    expected = [2 * np.tanh(4) - 3 * np.tanh(6), 2 * np.tanh(6) - 3 * np.tanh(-4)]
    np.testing.assert_allclose(f.additive_score(query, keys, np.array([2.0, -3.0])), [[expected]])


def test_causal_mask_is_the_complement_of_the_books_look_ahead_mask():
    """Output 19.2; its ones are False here."""
    hidden = np.triu(np.ones((5, 5), bool), 1)
    np.testing.assert_array_equal(f.causal_mask(5, 5)[0], ~hidden)


@quick
@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 7))
def test_causal_mask_of_a_later_start_is_rows_of_the_whole(steps, length, start):
    whole = np.array(f.causal_mask(start + steps, length))
    for index in (start, tf.constant(start)):
        np.testing.assert_array_equal(f.causal_mask(steps, length, index)[0], whole[0, start:])


def test_padding_mask_is_the_complement_of_the_books():
    """Output 19.1: ids 1 2 3 4 0 0 0; its ones are False here."""
    ids = np.array([[1, 2, 3, 4, 0, 0, 0]])
    mask = f.padding_mask(ids != 0)
    np.testing.assert_array_equal(1 - np.array(mask, int), [[[0, 0, 0, 0, 1, 1, 1]]])


def test_source_length_is_the_last_attended_position():
    mask = np.array([[[1, 0, 1, 0]], [[0, 0, 0, 0]], [[1, 1, 1, 1]]], bool)
    np.testing.assert_array_equal(f.source_length(mask, 4)[:, 0, 0], [3, 0, 4])
    np.testing.assert_array_equal(f.source_length(None, 4), [[[4]]])


def test_gaussian_window_by_hand():
    distance = f.window_distance(np.array([[2.0]]), 5)
    np.testing.assert_array_equal(distance, [[-2, -1, 0, 1, 2]])
    np.testing.assert_array_equal(f.window_mask(distance, 1), [[False, True, True, True, False]])
    expected = np.exp([-2.0, -0.5, 0, -0.5, -2.0])
    np.testing.assert_allclose(f.gaussian_window(distance, 1), [expected], rtol=1e-6)
