"""What needs no network to translate: the source itself, and the most similar training pair."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from attnlab.data.prepared import Ragged

# Training pairs that are searched, and queries compared with them at once.
_MOST_PAIRS, _CHUNK = 200_000, 256


def nearest_rows(train: Ragged, queries: Ragged) -> np.ndarray:
    """For each query the training row with the most similar tokens.

    Similar is the cosine of tf-idf vectors, idf = ln(N / rows with the token) + 1; the first of
    equals counts. Only the first 200,000 training rows are searched.

    Returns:
        (len(queries),) row numbers of `train`.
    """
    count = min(len(train), _MOST_PAIRS)
    size = 1 + max(_largest(train, count), _largest(queries, len(queries)))
    memory = _counts(train, count, size)
    document_share = np.bincount(memory.indices, minlength=size) / count
    idf = np.where(document_share > 0, -np.log(np.maximum(document_share, 1e-12)) + 1.0, 0.0)
    memory = _unit_rows(memory.multiply(idf[None]).tocsr())
    asked = _unit_rows(_counts(queries, len(queries), size).multiply(idf[None]).tocsr())
    found = np.zeros(len(queries), np.int64)
    for first in range(0, len(queries), _CHUNK):
        similar = asked[first : first + _CHUNK] @ memory.T
        found[first : first + _CHUNK] = np.asarray(similar.argmax(axis=1)).ravel()
    return found


def _largest(rows: Ragged, count: int) -> int:
    return max((int(rows[row].max(initial=0)) for row in range(count)), default=0)


def _counts(rows: Ragged, count: int, size: int) -> sparse.csr_matrix:
    """(count, size) how often each token stands in each row."""
    lengths = np.asarray(rows.lengths[:count], np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.concatenate([rows[row] for row in range(count)]) if count else np.zeros(0, int)
    ones = np.ones(len(tokens), np.float32)
    matrix = sparse.csr_matrix((ones, tokens.astype(np.int64), ends), shape=(count, size))
    matrix.sum_duplicates()
    return matrix


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.diags(1.0 / np.maximum(lengths, 1e-12)) @ matrix
