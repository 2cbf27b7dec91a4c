"""Fibonacci numbers, the book's shuffle, and streams from random starts."""

import re

import numpy as np
import pytest

from attnlab.tasks.forecasting.data import windows
from attnlab.tasks.forecasting.fib import fibonacci, random_sequences, shuffled_split


def test_the_books_output_9_1():
    np.testing.assert_array_equal(fibonacci(10), [1, 2, 3, 5, 8, 13, 21, 34, 55, 89])


def test_the_books_output_9_2():
    numbers = fibonacci(12)
    train, _ = shuffled_split(12, 3, test=0.3)
    starts = windows.histories(numbers, train, 3)[:, 0]
    np.testing.assert_array_equal(starts, [8, 5, 2, 13, 21, 34])
    np.testing.assert_array_equal(numbers[train], [34, 21, 8, 55, 89, 144])


def test_the_books_split_of_1200_numbers():
    train, test = shuffled_split(1200, 20, test=0.3)
    assert (len(train), len(test)) == (826, 354)
    assert sorted([*train, *test]) == list(range(20, 1200))


def test_the_largest_count_is_the_last_that_float64_holds():
    last_two = fibonacci(1475)[-2:].tolist()
    assert np.isfinite(last_two[1]) and sum(last_two) == float("inf")


@pytest.mark.parametrize(
    ("history", "terms"), [(2, (2, 2)), (7, (2, 5)), (5, (11, 13)), (23, (3, 3))]
)
def test_the_target_is_the_sum_of_the_last_two(history, terms):
    past, target = random_sequences(np.random.default_rng(3), 101, history, *terms)
    assert past.shape == (101, history)
    np.testing.assert_array_equal(target, past[:, -1] + past[:, -2])


def test_sequences_have_as_many_terms_as_asked():
    past, _ = random_sequences(np.random.default_rng(5), 211, 41, 3, 5)
    goes_on = past[:, 2:] == past[:, 1:-1] + past[:, :-2]
    # A whole sequence of n terms shows as n - 2 sums in a row between terms that are no sums.
    flags = ["".join(map(str, row)) for row in goes_on.astype(int)]
    runs = {len(run) for row in flags for run in re.findall("(?<=0)1+(?=0)", row)}
    assert runs == {1, 2, 3}
