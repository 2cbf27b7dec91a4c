"""Batch plans: the rows of the data in each gradient step of an epoch.

A plan follows from (seed, epoch) alone, so a resumed run needs no saved iterator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ALIKE = 16  # kinds of lengths of `similar_plan`


@dataclass(frozen=True)
class BatchPlan:
    """The steps of one epoch, all of one shape.

    Attributes:
        indices: (steps, batch) rows of the data, int32, or int64 if a number needs it; an
            incomplete batch is padded with row 0.
        weights: (steps, batch) float32, 1 for a real row and 0 for padding.
    """

    indices: np.ndarray
    weights: np.ndarray

    @property
    def steps(self) -> int:
        """The number of gradient steps."""
        return len(self.indices)

    @property
    def sizes(self) -> np.ndarray:
        """(steps,) number of real rows in each step."""
        return self.weights.sum(axis=1)

    def first(self, steps: int) -> BatchPlan:
        """Return the first steps."""
        return BatchPlan(self.indices[:steps], self.weights[:steps])


def shuffled_plan(rows: np.ndarray, batch_size: int, seed: int, epoch: int) -> BatchPlan:
    """Return a plan with each of `rows` once, in an order drawn from (seed, epoch).

    Args:
        rows: (N,) row numbers of the training windows.
        batch_size: rows per step, at most N.
        seed: the run's seed.
        epoch: the epoch's number, from 1.
    """
    order = np.random.default_rng([seed, epoch]).permutation(np.asarray(rows))
    return filled_plan(order, min(batch_size, len(order)))


def similar_plan(
    rows: np.ndarray, lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> BatchPlan:
    """Return a plan like `shuffled_plan`'s, with rows of similar lengths in each batch.

    The batches are in random order. Lengths (N,) that differ by less than a 16th of the longest
    count as equal, so that batches differ between epochs.
    """
    alike = np.asarray(lengths) // max(1, int(np.max(lengths)) // _ALIKE)
    size = min(batch_size, len(rows))
    batches = token_plan(alike, alike, size=size, by="items", seed=seed, epoch=epoch)
    indices = np.zeros((len(batches), size), np.int32)
    weights = np.zeros((len(batches), size), np.float32)
    for step, places in enumerate(batches):
        indices[step, : len(places)] = np.asarray(rows)[places]
        weights[step, : len(places)] = 1.0
    return BatchPlan(indices, weights)


def filled_plan(rows: np.ndarray, batch_size: int) -> BatchPlan:
    """Return a plan with `rows` in their order; the last batch is padded."""
    steps = -(-len(rows) // batch_size)
    is_large = np.max(rows, initial=0) > np.iinfo(np.int32).max
    indices = np.zeros(steps * batch_size, np.int64 if is_large else np.int32)
    indices[: len(rows)] = rows
    weights = np.zeros(steps * batch_size, np.float32)
    weights[: len(rows)] = 1.0
    return BatchPlan(indices.reshape(steps, -1), weights.reshape(steps, -1))


def token_plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    size: int,
    by: str = "tokens",
    seed: int,
    epoch: int,
    multiple: int | None = None,
) -> list[np.ndarray]:
    """Return batches of pairs of similar lengths, each pair once, drawn from (seed, epoch).

    Pairs of the same two lengths are shuffled, so that batches differ between epochs, and the
    batches are in random order. Every epoch of the same pairs has the same number of batches.

    Args:
        source_lengths: (N,) tokens of each source.
        target_lengths: (N,) tokens of each target, or steps of the decoder.
        size: for `items`, the pairs per batch. For `tokens`, the most tokens of a batch on its
            longer side, including padding; a longer pair becomes a batch of its own.
        by: `tokens` or `items`.
        seed: the run's seed.
        epoch: the epoch's number, from 1.
        multiple: for XLA, lengths are rounded up to multiples of it, and all batches of one length
            have the same number of rows, padded with -1. None: no padding.

    Returns:
        The row numbers of each batch, int64.

    Raises:
        ValueError: an unknown `by`.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(source_lengths))
    batches = _batches(order, source_lengths, target_lengths, size, by, multiple)
    return [batches[at] for at in random.permutation(len(batches))]


def length_plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    size: int,
    multiple: int | None = None,
) -> list[np.ndarray]:
    """Return batches like `token_plan`'s by tokens, sorted by length instead of drawn."""
    order = np.arange(len(source_lengths))
    return _batches(order, source_lengths, target_lengths, size, "tokens", multiple)


def _batches(
    order: np.ndarray,
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    size: int,
    by: str,
    multiple: int | None,
) -> list[np.ndarray]:
    if by not in ("tokens", "items"):
        raise ValueError(f"by: expected tokens or items, got {by!r}")
    if not len(order):
        return []
    unit = multiple or 1
    source, target = (
        -(-np.asarray(lengths, np.int64)[order] // unit)
        for lengths in (source_lengths, target_lengths)
    )
    longest = np.maximum(source, target)
    rows = np.argsort(_similarity(source, target), kind="stable")
    order, longest = order[rows], longest[rows] * unit
    if multiple is not None:
        return _equal_shapes(order, longest, size, by)
    ends = range(size, len(order), size) if by == "items" else _ends(longest, size)
    return np.split(order, list(ends))


def _similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return a sort key with which neighbouring pairs need little padding.

    The longer side decides, then the difference of both sides, ascending and descending in turn.
    """
    longest = np.maximum(source, target)
    width = int(longest.max()) + 1
    turn = np.where(longest % 2, 1, -1)
    key = longest * (2 * width) + turn * (source - target) + width
    return key.astype(np.min_scalar_type(int(key.max())))  # small types sort faster


def _ends(longest: np.ndarray, size: int) -> list[int]:
    """Return the ends of all batches but the last, if each has as many pairs as possible.

    Args:
        longest: (N,) tokens of the longer side of each pair, ascending.
        size: most tokens of a batch.
    """
    ends, first = [], 0
    while first < len(longest):
        widths = longest[first : first + max(1, size // int(longest[first]))]
        padded = widths * np.arange(1, len(widths) + 1)
        first += max(1, int(np.searchsorted(padded, size, side="right")))
        ends.append(first)
    return ends[:-1]


def _equal_shapes(order: np.ndarray, longest: np.ndarray, size: int, by: str) -> list[np.ndarray]:
    """Return batches with one longest length each, padded with -1."""
    batches = []
    bounds = np.flatnonzero(np.diff(longest)) + 1
    for group, widths in zip(np.split(order, bounds), np.split(longest, bounds), strict=True):
        rows = size if by == "items" else max(1, size // int(widths[0]))
        filled = np.full(-(-len(group) // rows) * rows, -1, np.int64)
        filled[: len(group)] = group
        batches += list(filled.reshape(-1, rows))
    return batches
