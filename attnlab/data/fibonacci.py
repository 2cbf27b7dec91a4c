"""Fibonacci numbers as the book's chapter 9 has them, and sequences from random starts."""

from __future__ import annotations

import numpy as np

MOST_NUMBERS = 1475  # the next Fibonacci number is beyond float64
_PERMUTATION_SEED = 13


def fibonacci(count: int) -> np.ndarray:
    """The first `count` of 1, 2, 3, 5, 8, ...: x_n = x_(n-1) + x_(n-2) from 0, 1, starts left out.

    Returns:
        (count,) float64.

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

    The shuffle is that of `numpy.random.RandomState(13)`, whatever the run's seed.

    Args:
        count: length of the series.
        history: values before a target.
        test: fraction of the windows that goes to the test part.

    Returns:
        Positions of the train targets and of the test targets, in the shuffled order.
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

    Args:
        random: source of all draws.
        windows: number of windows N.
        history: length S of a window, 2 or more.
        min_terms: fewest terms of a sequence, 2 or more.
        max_terms: most terms of a sequence.

    Returns:
        (N, S) windows and (N,) targets, float64, unscaled.
    """
    streams = np.empty((windows, history + 1))
    for stream in streams:
        free = history + 1
        terms = int(random.integers(min_terms, max_terms + 1)) + 1  # and the target
        while free > 0:
            sequence = _sequence(random.uniform(-1.0, 1.0, 2), terms)[-free:]
            stream[free - len(sequence) : free] = sequence
            free -= len(sequence)
            terms = int(random.integers(min_terms, max_terms + 1))
    return streams[:, :-1], streams[:, -1]


def _sequence(starts: np.ndarray, terms: int) -> np.ndarray:
    numbers = np.empty(terms)
    numbers[:2] = starts
    for position in range(2, terms):
        numbers[position] = numbers[position - 1] + numbers[position - 2]
    return numbers
