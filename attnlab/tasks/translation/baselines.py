"""Baselines of translation without neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from attnlab.tasks.data.tokens import Tokens
    from attnlab.tasks.translation.attention_maps import Tokenizers
    from attnlab.tasks.translation.tokenized import TokenizedPart

# Training pairs that are searched, and the number of queries compared with them at once.
_MOST_PAIRS, _CHUNK = 200_000, 256


def baselines(
    part: TokenizedPart, train: TokenizedPart | None, tokenizers: Tokenizers
) -> dict[str, list[str]]:
    """Translate a part by copying the source, and by the most similar training pair.

    Without the training part only `copied_source` is returned.
    """
    sources, _, _ = part.texts()
    if train is None:
        return {"copied_source": sources}
    rows = nearest_rows(train.source, part.source, len(sources), tokenizers[0].size)
    nearest = tokenizers[1].decode([train.target[int(row)][1:] for row in rows])
    return {"nearest_pair": nearest, "copied_source": sources}


def nearest_rows(train: Tokens, asked: Tokens, count: int, size: int) -> np.ndarray:
    """Return the number of the most similar training row for each of the first rows: (count,).

    Similarity is the cosine of tf-idf vectors, idf = ln(N / rows with the token) + 1; the first of
    equally similar rows wins. Only the first 200,000 training rows are searched. Tokens are below
    `size`.
    """
    pairs = min(len(train), _MOST_PAIRS)
    memory = _counts(train, pairs, size)
    share = np.bincount(memory.indices, minlength=size) / pairs
    idf = np.where(share > 0, 1.0 - np.log(np.maximum(share, 1e-12)), 0.0)
    memory = _unit_rows(memory.multiply(idf[None]).tocsr())
    queries = _unit_rows(_counts(asked, count, size).multiply(idf[None]).tocsr())
    nearest = np.zeros(count, np.int64)
    for start in range(0, count, _CHUNK):
        similar = queries[start : start + _CHUNK] @ memory.T
        nearest[start : start + _CHUNK] = np.asarray(similar.argmax(axis=1)).ravel()
    return nearest


def _counts(rows: Tokens, first: int, size: int) -> sparse.csr_matrix:
    """Return the counts (first, size) of each token in each of the first rows."""
    ends = np.asarray(rows.offsets[: first + 1])
    tokens = rows.tokens[: ends[-1]].astype(np.int64)
    matrix = sparse.csr_matrix((np.ones(len(tokens), np.float32), tokens, ends), (first, size))
    matrix.sum_duplicates()
    return matrix


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.diags(1.0 / np.maximum(lengths, 1e-12)) @ matrix
