"""Batch plans: which windows make up which gradient step of an epoch.

A plan follows from (seed, epoch) alone, so a resumed run needs no saved iterator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BatchPlan:
    """The steps of one epoch, all of one shape.

    Attributes:
        indices: (steps, batch) int32 rows of the data; a short last batch is filled up with row 0.
        weights: (steps, batch) float32, 1 for a real row and 0 for a filler.
    """

    indices: np.ndarray
    weights: np.ndarray

    @property
    def steps(self) -> int:
        """How many gradient steps these are."""
        return len(self.indices)

    @property
    def sizes(self) -> np.ndarray:
        """(steps,) number of real rows in each step."""
        return self.weights.sum(axis=1)


def shuffled_plan(rows: np.ndarray, batch_size: int, seed: int, epoch: int) -> BatchPlan:
    """Each of `rows` once, in an order drawn from (seed, epoch).

    Args:
        rows: (N,) row numbers of the training windows.
        batch_size: rows a step; more than N are cut to N.
        seed: the run's seed.
        epoch: the epoch's number, from 1.
    """
    order = np.random.default_rng([seed, epoch]).permutation(np.asarray(rows))
    return filled_plan(order, min(batch_size, len(order)))


def filled_plan(rows: np.ndarray, batch_size: int) -> BatchPlan:
    """`rows` in their order, in steps of `batch_size`, the last one filled up."""
    steps = -(-len(rows) // batch_size)
    indices = np.zeros(steps * batch_size, np.int32)
    indices[: len(rows)] = rows
    weights = np.zeros(steps * batch_size, np.float32)
    weights[: len(rows)] = 1.0
    return BatchPlan(indices.reshape(steps, -1), weights.reshape(steps, -1))
