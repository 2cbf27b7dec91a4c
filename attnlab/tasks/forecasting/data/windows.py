"""Cutting a series into windows of history and the targets that follow."""

from __future__ import annotations

import numpy as np


def sliding(start: int, stop: int, horizon: int = 1) -> np.ndarray:
    """Positions of first targets, one apart, whose targets all lie in [start, stop).

    Args:
        start: first position that may be a target.
        stop: first position that may not.
        horizon: targets a window.

    Returns:
        (max(0, stop - start - horizon + 1),) int64.
    """
    return np.arange(start, max(start, stop - horizon + 1), dtype=np.int64)


def blocks(start: int, stop: int, history: int) -> np.ndarray:
    """Positions of the targets when [start, stop) is cut into histories that don't overlap.

    Each target is the first value of the next block, as in the book's chapter 7.

    Returns:
        start + history, start + 2 history, ... below stop; int64.
    """
    return np.arange(start + history, stop, history, dtype=np.int64)


def histories(values: np.ndarray, index: np.ndarray, history: int) -> np.ndarray:
    """The `history` values before each position.

    Args:
        values: (n,).
        index: (N,) positions, each at least `history`.
        history: values before each position.

    Returns:
        (N, history), newest last.

    Raises:
        ValueError: a position has fewer values before it.
    """
    return _gather(values, index - history, history)


def targets(values: np.ndarray, index: np.ndarray, horizon: int) -> np.ndarray:
    """The `horizon` values from each position on: (N, horizon).

    Raises:
        ValueError: a position has fewer values after it.
    """
    return _gather(values, index, horizon)


def _gather(values: np.ndarray, first: np.ndarray, length: int) -> np.ndarray:
    if len(first) and (first.min() < 0 or first.max() + length > len(values)):
        raise ValueError(
            f"windows of {length} that start at {first.min()} to {first.max()} "
            f"leave the {len(values)} values"
        )
    if not len(first):
        return np.empty((0, length), dtype=values.dtype)
    return np.lib.stride_tricks.sliding_window_view(values, length)[first]
