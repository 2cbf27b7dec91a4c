"""How much attention each word of a text had, whoever asked."""

from __future__ import annotations

import numpy as np


def word_weights(weights: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N, H, S) weights of words, means over the queries.

    Where each word asks, as in self-attention, what padding asks is left out.

    Args:
        weights: (N, H, T, S).
        known: (N, S) bool, False where there is padding.
    """
    if weights.shape[2] != known.shape[1]:
        return weights.mean(axis=2)
    counts = np.maximum(known.sum(axis=1), 1)[:, None, None]
    return np.einsum("nhts,nt->nhs", weights, known) / counts
