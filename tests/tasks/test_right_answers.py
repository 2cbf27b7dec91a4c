"""Shares of right answers and their tests, held against SciPy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from attnlab.tasks.right_answers import natural, wilson_interval


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_scipys(counts):
    right, count = counts
    expected = binomtest(right, count).proportion_ci(method="wilson")
    assert wilson_interval(right, count) == pytest.approx(expected, abs=1e-12)


def test_numbers_in_names_are_numbers():
    names = ["10 nouns", "2 nouns", "0 nouns"]
    assert sorted(names, key=natural) == ["0 nouns", "2 nouns", "10 nouns"]
