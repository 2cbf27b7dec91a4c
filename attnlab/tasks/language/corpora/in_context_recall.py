"""The corpus `in_context_recall`: keys with values by a map that each row has for itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows


class InContextRecall(DrawnRows):
    """Rows of `in_context_recall`; validation and test score only values of keys seen before.

    Args:
        rows: the number of training rows.
        vocabulary: the number of tokens, half of them keys.
        length: tokens of the pairs of a row; the model reads all but the last.
        train_on: `everything`, every next token as published, or `answers`, what is scored.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: the length is odd.
    """

    name = "in_context_recall"
    origin = "made by this project, after the in-context recall of MAD (Poli et al. 2024)"

    def __init__(
        self,
        *,
        rows: int = 12_800,
        vocabulary: int = 16,
        length: int = 128,
        train_on: str = "everything",
        seed: int = 0,
    ) -> None:
        if length % 2:
            raise RequestError(f"data.length: expected an even number, got {length}.")
        super().__init__(rows, seed, vocabulary=vocabulary, length=length, train_on=train_on)
        self.vocabulary, self.length, self.train_on = vocabulary, length, train_on

    @property
    def symbols(self) -> Sequence[str]:
        """Return `k1`, `k2`, ... for keys and `v1`, `v2`, ... for values."""
        half = self.vocabulary // 2
        keys = [f"k{number}" for number in range(1, half + 1)]
        return [*keys, *(f"v{number}" for number in range(1, self.vocabulary - half + 1))]

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        everything = part == "train" and self.train_on == "everything"
        return in_context_recall(
            rng, rows, vocabulary=self.vocabulary, length=self.length, everything=everything
        )


def in_context_recall(
    rng: np.random.Generator, rows: int, *, vocabulary: int, length: int, everything: bool
) -> Rows:
    """Draw rows of keys, each followed by its value.

    With V = `vocabulary`: keys are 0 to V/2 - 1, values V/2 to V - 1. Each row draws a map from
    keys to values, with replacement, and `length` / 2 pairs of a key and its value. The last key is
    one that occurred before. The model reads all but the last value, `length` - 1 tokens. Values
    of keys that occurred before are scored; with `everything`, every next token is.

    Source: in-context recall, Poli et al. 2024 (arXiv 2403.17844), `mad/data/instances.py` with
    `multi_query` and without noise. Difference: none.
    """
    half, pairs = vocabulary // 2, length // 2
    values = half + rng.integers(vocabulary - half, size=(rows, half))
    keys = rng.integers(half, size=(rows, pairs))
    # The last key: among those present, the one with the largest random number.
    present = np.zeros((rows, half), bool)
    np.put_along_axis(present, keys[:, :-1], True, axis=1)
    keys[:, -1] = np.where(present, rng.random((rows, half)), -1).argmax(axis=1)
    whole = np.empty((rows, 2 * pairs), np.int32)
    whole[:, 0::2], whole[:, 1::2] = keys, np.take_along_axis(values, keys, axis=1)
    scored = np.ones((rows, 2 * pairs - 1), bool)
    if not everything:
        scored[:] = False
        scored[:, 0::2] = _seen_before(keys, half)
    return Rows(whole[:, :-1], np.where(scored, whole[:, 1:], 0), scored)


def _seen_before(keys: np.ndarray, count: int) -> np.ndarray:
    """Return where a key occurred earlier in its row, (N, K) bool."""
    first = np.full((len(keys), count), keys.shape[1])
    for place in reversed(range(keys.shape[1])):
        np.put_along_axis(first, keys[:, place : place + 1], place, axis=1)
    return np.take_along_axis(first, keys, axis=1) < np.arange(keys.shape[1])
