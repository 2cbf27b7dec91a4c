"""Choose the words of a text to predict, and mask or replace them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.text.tokenizers import END

# Devlin et al. 2019 (arXiv 1810.04805), section 3.1.
SHARE = 0.15  # of all words
MASKED, REPLACED = 0.8, 0.1  # of the chosen words; the others stay

MASK = "[MASK]"  # the mask in a text
_KINDS = ("masked", "replaced", "kept")


class Asked(NamedTuple):
    """The places of rows at which a word is to be predicted."""

    tokens: np.ndarray  # (N, S) int32, rows as the model reads them
    places: np.ndarray  # (N, K) int32, padded with 0
    counts: np.ndarray  # (N,) int32, number of valid places per row, which are the first ones

    @property
    def known(self) -> np.ndarray:
        """Which places are valid, (N, K) bool."""
        return np.arange(self.places.shape[1]) < self.counts[:, None]


def choose(rows: np.ndarray, mask: int, seed: int) -> Asked:
    """Choose 15 % of the words of each row (N, S), at least one, and mask or replace them.

    Args:
        rows: tokens; those up to END aren't words.
        mask: the token of the mask, which follows the last word.
        seed: the seed of the choice.
    """
    draw = np.random.default_rng(seed)
    words = rows > END
    numbers = words.sum(axis=1)
    counts = np.minimum(np.maximum(np.round(SHARE * numbers).astype(np.int32), 1), numbers)
    ranks = np.where(words, draw.random(rows.shape), 2.0)
    places = np.argsort(ranks, axis=1, kind="stable")[:, : max(int(counts.max(initial=1)), 1)]
    kinds = draw.random(places.shape)
    others = draw.integers(END + 1, max(mask, END + 2), places.shape)
    own = np.take_along_axis(rows, places, axis=1)
    read = np.where(kinds < MASKED, mask, np.where(kinds < MASKED + REPLACED, others, own))
    known = np.arange(places.shape[1]) < counts[:, None]
    tokens = rows.copy()
    np.put_along_axis(tokens, places, np.where(known, read, own), axis=1)
    return Asked(tokens, np.where(known, places, 0).astype(np.int32), counts.astype(np.int32))


def marked(word: str) -> str:
    """Mark the word to predict, since a text may have several masked words."""
    return f"»{word}«"


def kinds_of(read: np.ndarray, own: np.ndarray, mask: int) -> Sequence[str]:
    """Return `masked`, `replaced` or `kept` for each word; a replacement may equal its word."""
    numbers = np.where(read == mask, 0, np.where(read != own, 1, 2))
    return [_KINDS[number] for number in numbers]
