"""The attention weight of each word of a text."""

from __future__ import annotations

import numpy as np


def word_weights(weights: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the attention weights of words, (N, H, S): means over the queries.

    If each word is a query, as in self-attention, the queries of padding are left out.

    Args:
        weights: (N, H, T, S).
        known: (N, S) bool, False for padding.
    """
    if weights.shape[2] != known.shape[1]:
        return weights.mean(axis=2)
    counts = np.maximum(known.sum(axis=1), 1)[:, None, None]
    return np.einsum("nhts,nt->nhs", weights, known) / counts
