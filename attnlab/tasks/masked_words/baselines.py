"""Baselines that fill in words by their frequencies, alone or next to other words."""

from __future__ import annotations

import numpy as np

from attnlab.tasks.masked_words.masking import Asked
from attnlab.text.tokenizers import END

_ADDED = 0.1  # a: the sum of what is added to the counts of all pairs of a word


def frequencies(rows: np.ndarray, words: int) -> np.ndarray:
    """Return the share of each word in training rows (N, S): (V,), after adding 1 to each count."""
    counts = np.bincount(rows[rows > END], minlength=words).astype(np.float64)
    counts[END + 1 :] += 1
    return counts / counts.sum()


class Neighbours:
    """P(w | l, r) = P(w) P(l | w) P(r | w) / sum over all words: naive Bayes of both neighbours.

    P(l | w) = (count(l w) + a P(l)) / (count(w) + a), a = 0.1, from training rows. A masked
    neighbour is ignored.
    """

    def __init__(self, rows: np.ndarray, words: int) -> None:
        from scipy.sparse import coo_matrix

        self.words = words
        self.shares = frequencies(rows, words)
        left, right = rows[:, :-1].ravel(), rows[:, 1:].ravel()
        both = (left > 0) & (right > 0)
        pairs = (np.ones(both.sum()), (left[both], right[both]))
        self.pairs = coo_matrix(pairs, shape=(words, words)).tocsr()
        self.reversed = self.pairs.T.tocsr()
        self.counts = np.bincount(rows[rows > 0], minlength=words) + _ADDED
        self.beside = np.bincount(rows[rows > 0], minlength=words) / max((rows > 0).sum(), 1)

    def log_shares(self, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
        """Return ln P (M, V) of each word between neighbours (M,)."""
        from scipy.special import log_softmax

        with np.errstate(divide="ignore"):
            found = np.log(self.shares)[None] + np.zeros((len(lefts), 1))
        for numbers, pairs in ((lefts, self.pairs), (rights, self.reversed)):
            known = numbers < self.words
            own = pairs[numbers[known]].toarray() + _ADDED * self.beside[numbers[known], None]
            found[known] += np.log(np.maximum(own, 1e-12) / self.counts)
        return log_softmax(found, axis=1)


def baselines(
    train: np.ndarray, asked: Asked, right: np.ndarray, words: int
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return each baseline's words (M,), and -ln P of the right words (M,), by its name.

    `frequency` always predicts the most frequent word; `neighbours` is `Neighbours`.
    """
    shares = frequencies(train, words)
    most = np.full(len(right), int(shares.argmax()))
    with np.errstate(divide="ignore"):
        found = {"frequency": (most, -np.log(shares[right]))}
    rows, columns = np.nonzero(asked.known)
    places = asked.places[rows, columns]
    lefts, rights = asked.tokens[rows, places - 1], asked.tokens[rows, places + 1]
    model = Neighbours(train, words)
    said, losses = [], []
    for start in range(0, len(right), 256):
        part = slice(start, start + 256)
        logs = model.log_shares(lefts[part], rights[part])
        said.append(logs.argmax(axis=1))
        losses.append(-logs[np.arange(len(logs)), right[part]])
    found["neighbours"] = (np.concatenate(said), np.concatenate(losses))
    return found
