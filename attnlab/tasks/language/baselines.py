"""Baselines: modified Kneser-Ney of texts, and words by their frequencies and neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnlab.tasks.language.data import ScoredRows
from attnlab.text.tokenizers import END

MOST_TOKENS = 4_000_000  # that baselines count: 25 seconds and 0.6 GB for order 7
_BLOCK = 1 << 20  # tokens of a text that are predicted at once, which limits memory
_FALLBACK = (0.5, 1.0, 1.5)  # discounts if those of the formula are undefined or not positive
_UNSEEN = -1
_ADDED = 0.1  # a: the sum of what is added to the counts of all pairs of a word


# Texts


class _Counts(NamedTuple):
    """Counts c of the G n-grams of one length, and sums over those of one history.

    A history is numbered as an n-gram of the length below.
    """

    discounted: np.ndarray  # (G,) c(hw) - D
    totals: np.ndarray  # (G of the length below,) c(h); 0: nothing follows this history
    left: np.ndarray  # likewise, D1 N1(h) + D2 N2(h) + D3 N3+(h)


class KneserNey:
    """Probabilities of tokens by the n - 1 tokens before them, n = `order`.

    P(w|h) = max(c(hw) - D, 0)/c(h) + (D1 N1 + D2 N2 + D3 N3+)(h)/c(h) * P(w|h'), with h' the
    history h without its first token, and N1, N2, N3+ the numbers of different tokens that follow h
    once, twice, more often. At the highest order n, c counts n-grams of the training stream (N,);
    below it, the different tokens to the left of an n-gram. The order below 1 is 1/V, V = `tokens`.
    D = Dk for a count of k, D3 from 3 on: Dk = k - (k + 1) Y n_{k+1}/n_k with Y = n1/(n1 + 2 n2)
    for each order, where n_k n-grams have the count k. If n1, n2 or n3 is 0, or a Dk isn't
    positive, D is 0.5, 1, 1.5. After a history that never occurs, P(w|h) = P(w|h'). At the start
    of a text the history is shorter.

    Source: Chen and Goodman 1998, "An empirical study of smoothing techniques for language
    modeling", modified Kneser-Ney. Difference: a text has no start and end symbols.
    """

    def __init__(self, stream: np.ndarray, order: int, tokens: int) -> None:
        self.tokens = tokens
        stream = stream.astype(np.int64)
        # For each length: the sorted keys of its n-grams, history * V + last token, and their
        # counts. The number of an n-gram is its place in the keys.
        self._keys: list[np.ndarray] = []
        self._counts: list[_Counts] = []
        shorter_histories, histories = 0, 1  # the numbers of histories of two lengths
        ends = np.zeros(len(stream), np.int64)  # the number of the n-gram that ends at each place
        for length in range(1, min(order, len(stream)) + 1):
            shorter, history = ends, _before(ends) if length > 1 else ends
            seen = history != _UNSEEN
            keys, numbers = np.unique(history[seen] * tokens + stream[seen], return_inverse=True)
            ends = np.full(len(stream), _UNSEEN)
            ends[seen] = numbers
            if length > 1:
                below = np.zeros(len(keys), np.int64)  # n-gram -> itself without its first token
                below[numbers] = shorter[seen]
                left = np.bincount(below, minlength=len(self._keys[-1]))
                self._counts[-1] = self._discount(self._keys[-1], left, shorter_histories)
            self._counts.append(self._discount(keys, np.bincount(numbers), histories))
            self._keys.append(keys)
            shorter_histories, histories = histories, len(keys)

    def _discount(self, keys: np.ndarray, counts: np.ndarray, histories: int) -> _Counts:
        history, discounts = keys // self.tokens, _discounts(counts)[counts.clip(max=3)]
        sums = (np.bincount(history, weights, histories) for weights in (counts, discounts))
        return _Counts(counts - discounts, *sums)

    def nats(self, stream: np.ndarray) -> np.ndarray:
        """Return -ln P of each token of a text (N,): (N,) float64."""
        past = len(self._keys) - 1  # tokens on which a probability depends
        blocks = [np.zeros(0)]
        for start in range(0, len(stream), _BLOCK):
            first = max(start - past, 0)
            nats = self._nats(stream[first : start + _BLOCK].astype(np.int64))
            blocks.append(nats[start - first :])
        return np.concatenate(blocks)

    def _nats(self, stream: np.ndarray) -> np.ndarray:
        shares = np.full(len(stream), 1 / self.tokens)
        numbers = np.zeros(len(stream), np.int64)
        for length, (all_keys, counts) in enumerate(zip(self._keys, self._counts, strict=True), 1):
            history = _before(numbers) if length > 1 else numbers
            keys = np.where(history == _UNSEEN, _UNSEEN, history * self.tokens + stream)
            places = np.searchsorted(all_keys, keys).clip(max=len(all_keys) - 1)
            numbers = np.where(all_keys[places] == keys, places, _UNSEEN)
            totals = np.where(history == _UNSEEN, 0, counts.totals[history])
            numerator = np.where(numbers == _UNSEEN, 0, counts.discounted[numbers])
            mixed = (numerator + counts.left[history] * shares) / np.maximum(totals, 1)
            shares = np.where(totals > 0, mixed, shares)
        return -np.log(shares)


def _before(numbers: np.ndarray) -> np.ndarray:
    """Return the number at the place before each; none at the start."""
    shifted = np.roll(numbers, 1)
    shifted[:1] = _UNSEEN
    return shifted


def _discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of counts 0, 1, 2, and 3 or more."""
    n1, n2, n3, n4 = np.bincount(counts, minlength=5)[1:5].tolist()
    if not (n1 and n2 and n3):
        return np.array([0, *_FALLBACK])
    y = n1 / (n1 + 2 * n2)
    formula = [1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
    return np.array([0, *(formula if min(formula) > 0 else _FALLBACK)])


# Masked words


class Neighbours:
    """P(w | l, r) = P(w) P(l | w) P(r | w) / sum over all words: naive Bayes of both neighbours.

    P(l | w) = (count(l w) + a P(l)) / (count(w) + a), a = 0.1, from training rows (N, S). For P(w)
    1 is added to each count. A masked neighbour is ignored.
    """

    def __init__(self, rows: np.ndarray, words: int) -> None:
        from scipy.sparse import coo_matrix

        self.words = words
        counts = np.bincount(rows[rows > END], minlength=words) + (np.arange(words) > END)
        self.shares = counts / counts.sum()
        left, right = rows[:, :-1].ravel(), rows[:, 1:].ravel()
        both = (left > 0) & (right > 0)
        pairs = (np.ones(both.sum()), (left[both], right[both]))
        pairs = coo_matrix(pairs, shape=(words, words)).tocsr()
        self.pairs = pairs, pairs.T.tocsr()
        self.counts = np.bincount(rows[rows > 0], minlength=words)

    def log_shares(self, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
        """Return ln P (M, V) of each word between neighbours (M,)."""
        from scipy.special import log_softmax

        with np.errstate(divide="ignore"):
            scores = np.log(self.shares)[None] + np.zeros((len(lefts), 1))
        neighbour_shares = self.counts / max(self.counts.sum(), 1)
        for numbers, pairs in zip((lefts, rights), self.pairs, strict=True):
            words = numbers < self.words
            counts = pairs[numbers[words]].toarray()
            counts += _ADDED * neighbour_shares[numbers[words], None]
            scores[words] += np.log(np.maximum(counts, 1e-12) / (self.counts + _ADDED))
        return log_softmax(scores, axis=1)


def word_baselines(
    train: np.ndarray, scored: ScoredRows, words: int
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return each baseline's words (M,), and -ln P of the right words (M,), by its name.

    `frequency` always predicts the most frequent word; `neighbours` is `Neighbours`.
    """
    targets, rows = scored.targets[scored.has_target], np.nonzero(scored.has_target)[0]
    model, places = Neighbours(train, words), scored.places[scored.has_target]
    with np.errstate(divide="ignore"):
        frequency = np.full(len(targets), model.shares.argmax()), -np.log(model.shares[targets])
    lefts, rights = scored.tokens[rows, places - 1], scored.tokens[rows, places + 1]
    predicted, losses = [], []
    for start in range(0, len(targets), 256):
        some = slice(start, start + 256)
        logs = model.log_shares(lefts[some], rights[some])
        predicted.append(logs.argmax(axis=1))
        losses.append(-logs[np.arange(len(logs)), targets[some]])
    neighbours = np.concatenate(predicted), np.concatenate(losses)
    return {"frequency": frequency, "neighbours": neighbours}
