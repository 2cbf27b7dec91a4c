"""What needs no network to translate: the source itself, and the most similar training pair."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from attnlab.tasks.translation.text.token_files import Ragged

# Training pairs that are searched, and queries compared with them at once.
_MOST_PAIRS, _CHUNK = 200_000, 256


def nearest_rows(train: Ragged, asked: Ragged, rows: np.ndarray) -> np.ndarray:
    """For some rows of `asked` the training row with the most similar tokens.

    Similar is the cosine of tf-idf vectors, idf = ln(N / rows with the token) + 1; the first of
    equals counts. Only the first 200,000 training rows are searched.

    Returns:
        (len(rows),) row numbers of `train`.
    """
    first = np.arange(min(len(train), _MOST_PAIRS))
    size = 1 + max(_largest(train, first), _largest(asked, rows))
    memory = _counts(train, first, size)
    share = np.bincount(memory.indices, minlength=size) / len(first)
    idf = np.where(share > 0, 1.0 - np.log(np.maximum(share, 1e-12)), 0.0)
    memory = _unit_rows(memory.multiply(idf[None]).tocsr())
    queries = _unit_rows(_counts(asked, rows, size).multiply(idf[None]).tocsr())
    found = np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), _CHUNK):
        similar = queries[start : start + _CHUNK] @ memory.T
        found[start : start + _CHUNK] = np.asarray(similar.argmax(axis=1)).ravel()
    return found


def _largest(rows: Ragged, wanted: np.ndarray) -> int:
    return max((int(rows[int(row)].max(initial=0)) for row in wanted), default=0)


def _counts(rows: Ragged, wanted: np.ndarray, size: int) -> sparse.csr_matrix:
    """(len(wanted), size) how often each token stands in each row."""
    ends = np.concatenate([[0], np.cumsum(rows.lengths[wanted], dtype=np.int64)])
    tokens = np.concatenate([rows[int(row)] for row in wanted])
    matrix = sparse.csr_matrix(
        (np.ones(len(tokens), np.float32), tokens.astype(np.int64), ends),
        shape=(len(wanted), size),
    )
    matrix.sum_duplicates()
    return matrix


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.diags(1.0 / np.maximum(lengths, 1e-12)) @ matrix
