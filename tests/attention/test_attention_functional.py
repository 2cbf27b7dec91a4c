"""The pure functions: exact small cases, and properties by hypothesis."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.attention import functional as f

quick = settings(max_examples=30, deadline=None, database=None)


def test_masked_softmax_by_hand():
    scores = np.log([[1.0, 3.0, 4.0], [1.0, 3.0, 4.0], [1.0, 1.0, 1.0]])
    mask = np.array([[True, True, True], [True, True, False], [False, False, False]])
    weights = f.masked_softmax(scores, mask)
    np.testing.assert_allclose(weights, [[0.125, 0.375, 0.5], [0.25, 0.75, 0], [0, 0, 0]])
    assert weights.dtype == "float64"


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
