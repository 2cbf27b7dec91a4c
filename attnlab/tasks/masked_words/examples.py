"""Some of the words that were asked for, to look at what a model made of them."""

from __future__ import annotations

import numpy as np

_MOST = 8  # words


def chosen_words(right: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Numbers of some words, one of a row: half of them wrong where there are as many, those first.

    They are taken at equal distances.

    Args:
        right: (M,) whether each was filled in rightly.
        rows: (M,) where they stand.
    """
    wrong = _one_of_each(np.flatnonzero(~right), rows)
    correct = np.flatnonzero(right)
    elsewhere = _one_of_each(correct, rows)
    count = max(_MOST // 2, _MOST - len(elsewhere))
    some = _spread(wrong, count)
    others = _one_of_each(correct[~np.isin(rows[correct], rows[some])], rows)
    return np.concatenate([some, _spread(others, _MOST - len(some))])


def _one_of_each(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The first number of each row."""
    return numbers[np.unique(rows[numbers], return_index=True)[1]]


def _spread(numbers: np.ndarray, most: int) -> np.ndarray:
    count = min(most, len(numbers))
    return numbers[np.linspace(0, len(numbers) - 1, count).astype(int)] if count else numbers[:0]
