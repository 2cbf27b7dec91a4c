"""Summaries: the nearest sentences to the centres, compared with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from attnlab.errors import RequestError
from attnlab.text.summary import summary, tf_idf_vectors

TEXT = (
    "The bank raised its rates on Monday. Rates of the bank are high. The bank keeps rates high. "
    "A fox lives in the forest. The forest is home to a fox and an owl. Owls and a fox hunt in the "
    "forest. Rain fell on the town for days. Days of rain came to the town. The town saw rain for "
    "days."
)
POINTS = np.array([[0, 0], [0, 1], [0, 0.4], [9, 9], [9, 8], [9, 8.4], [20, 0], [21, 0], [20.6, 0]])


def test_each_centre_has_its_nearest_sentence_in_the_order_of_the_text():
    result = summary(TEXT, 3, encoder=lambda sentences: POINTS)
    assert [item.number for item in result] == [2, 5, 8]  # nearest to means 0.47, 8.47, 20.53
    assert [item.sentences for item in result] == [3, 3, 3]
    assert result[0].distance == pytest.approx(abs(0.4 - 1.4 / 3))
    for item in result:
        assert TEXT[item.start : item.end] == item.text


def test_it_is_scikit_learns_k_means():
    sentences = [item.text for item in summary(TEXT, 9)]
    vectors = tf_idf_vectors(sentences)
    model = KMeans(4, n_init=10, random_state=0).fit(vectors)
    nearest = euclidean_distances(model.cluster_centers_, vectors).argmin(axis=1)
    assert [item.number for item in summary(TEXT, 4)] == sorted(nearest.tolist())


def test_all_sentences_are_a_summary_and_repeated_ones_count_once():
    result = summary(f"{TEXT} {TEXT}", 9)
    assert [item.number for item in result] == list(range(9))
    assert result[-1].end == len(TEXT)
    with pytest.raises(RequestError, match="--sentences=10: must be at most 9"):
        summary(f"{TEXT} {TEXT}", 10)
