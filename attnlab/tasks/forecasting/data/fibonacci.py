"""Fibonacci numbers as the book's chapter 9 has them, and sequences from random starts."""

from __future__ import annotations

import numpy as np

MOST_NUMBERS = 1475  # the next Fibonacci number is beyond float64
_PERMUTATION_SEED = 13


def fibonacci(count: int) -> np.ndarray:
    """The first `count` of 1, 2, 3, 5, 8, ...: x_n = x_(n-1) + x_(n-2) from 0, 1, starts left out.

    Raises:
        ValueError: count beyond what float64 can hold.
    """
    if not 1 <= count <= MOST_NUMBERS:
        raise ValueError(f"expected a count from 1 to {MOST_NUMBERS}, got {count}")
    numbers = np.empty(count)
    before, last = 0.0, 1.0
    for position in range(count):
        before, last = last, before + last
        numbers[position] = last
    return numbers


def shuffled_split(count: int, history: int, test: float) -> tuple[np.ndarray, np.ndarray]:
    """The book's split (listing 9.3): all windows, one apart, shuffled and cut in two.

    Of a series of `count` values, positions of the train targets and of the test targets, which
    are the fraction `test`. The shuffle is that of `numpy.random.RandomState(13)`, whatever the
    run's seed.
    """
    rows = count - history
    order = np.random.RandomState(_PERMUTATION_SEED).permutation(rows) + history
    train = int((1.0 - test) * rows + 1e-9)
    return order[:train], order[train:]


def random_sequences(
    random: np.random.Generator, windows: int, history: int, min_terms: int, max_terms: int
) -> tuple[np.ndarray, np.ndarray]:
    """Windows on streams of generalised Fibonacci sequences, with the next number.

    A stream is made of sequences that each start from two numbers drawn from [-1, 1), go on by
    x_n = x_(n-1) + x_(n-2), and have `min_terms` to `max_terms` terms. A window ends inside a
    sequence, after two terms of it or more, and the target is the sequence's next term.

    Gives (windows, history) numbers and (windows,) targets, float64, unscaled. Neither `history`
    nor `min_terms` is below 2.
    """
    lead = max_terms + 1  # room for what a window cuts off its first sequence
    length = lead + history + 1
    most = length // min_terms + 1
    terms = random.integers(min_terms, max_terms + 1, size=(windows, most))
    terms[:, 0] += 1  # the target, one more term of the last sequence
    age = _ages(length - np.cumsum(terms, axis=1), length)
    streams = random.uniform(-1.0, 1.0, size=(windows, length))
    for position in range(2, length):
        goes_on = streams[:, position - 1] + streams[:, position - 2]
        starts = age[:, position] < 2
        streams[:, position] = np.where(starts, streams[:, position], goes_on)
    return streams[:, lead:-1].copy(), streams[:, -1].copy()


def _ages(starts: np.ndarray, length: int) -> np.ndarray:
    """How many terms of its sequence come before each position: (N, length).

    `starts` (N, sequences) are their first positions, below 0 where they are not needed.
    """
    rows, columns = np.nonzero(starts >= 0)
    latest = np.zeros((len(starts), length), dtype=np.int64)
    latest[rows, starts[rows, columns]] = starts[rows, columns]
    return np.arange(length) - np.maximum.accumulate(latest, axis=1)
