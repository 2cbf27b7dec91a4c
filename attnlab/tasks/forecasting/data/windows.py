"""Cutting a series into windows of history and the targets that follow."""

from __future__ import annotations

import numpy as np


def sliding(start: int, stop: int, horizon: int = 1) -> np.ndarray:
    """Positions of first targets, one apart, whose targets all lie in [start, stop); int64."""
    return np.arange(start, max(start, stop - horizon + 1), dtype=np.int64)


def blocks(start: int, stop: int, history: int) -> np.ndarray:
    """Positions of the targets when [start, stop) is cut into histories that don't overlap; int64.

    Each target is the first value of the next block, as in the book's chapter 7.
    """
    return np.arange(start + history, stop, history, dtype=np.int64)


def histories(values: np.ndarray, index: np.ndarray, history: int) -> np.ndarray:
    """The `history` of the (n,) values before each of (N,) positions: (N, history), newest last.

    Raises:
        ValueError: a position has fewer values before it.
    """
    return targets(values, index - history, history)


def targets(values: np.ndarray, index: np.ndarray, horizon: int) -> np.ndarray:
    """The `horizon` of the (n,) values from each of (N,) positions on: (N, horizon).

    Raises:
        ValueError: a position has fewer values after it.
    """
    if not len(index):
        return np.empty((0, horizon), dtype=values.dtype)
    if index.min() < 0 or index.max() + horizon > len(values):
        raise ValueError(
            f"windows of {horizon} that start at {index.min()} to {index.max()} "
            f"leave the {len(values)} values"
        )
    return np.lib.stride_tricks.sliding_window_view(values, horizon)[index]
