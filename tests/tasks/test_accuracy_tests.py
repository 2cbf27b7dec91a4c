"""Shares of right answers and their tests, compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from attnlab.tasks.accuracy_tests import chosen_examples, natural, wilson_interval, wrong_first


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_scipys(counts):
    right, count = counts
    expected = binomtest(right, count).proportion_ci(method="wilson")
    assert wilson_interval(right, count) == pytest.approx(expected, abs=1e-12)


def test_numbers_in_names_are_ordered_as_numbers():
    names = ["10 nouns", "2 nouns", "0 nouns"]
    assert sorted(names, key=natural) == ["0 nouns", "2 nouns", "10 nouns"]


def test_half_of_the_examples_are_wrong_ones():
    right = np.array([True] * 30 + [False] * 10)
    chosen = chosen_examples(right)
    assert right[chosen].tolist() == [True] * 4 + [False] * 4 and len(set(chosen.tolist())) == 8
    assert chosen_examples(np.ones(3, bool)).tolist() == [0, 1, 2]
    assert len(chosen_examples(np.zeros(20, bool))) == 8
    few = np.array([False] * 20 + [True])
    assert few[chosen_examples(few)].tolist() == [False] * 7 + [True]


def test_wrong_ones_come_first_and_take_half_of_the_room():
    right = np.array([True] * 12 + [False] * 8)
    assert wrong_first(right, 10) == [12, 13, 14, 15, 16, 0, 1, 2, 3, 4]
    assert wrong_first(right[4:13], 10) == [8, *range(8)]
    assert wrong_first(np.zeros(20, bool), 10) == [*range(10)]
