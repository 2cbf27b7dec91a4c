"""Modified Kneser-Ney: probabilities of tokens from counts of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_TOKENS = 10_000_000  # a minute and 1.5 GB for order 7
_FALLBACK = (0.5, 1.0, 1.5)  # discounts if those of the formula are undefined or not positive
_UNSEEN = -1


def kneser_ney(
    train: Sequence[np.ndarray], part: Sequence[np.ndarray], tokens: int, highest: int = 7
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Predict the tokens of a part by each order from 2 to `highest`.

    Args:
        train: the training sequences.
        part: the sequences to predict.
        tokens: the number of possible tokens.
        highest: the highest order.

    Returns:
        `kneser_ney_2` and so on, with -ln P of each of the part's N tokens (N,); and a sentence if
        train has more than `MOST_TOKENS` tokens: then only the last `MOST_TOKENS` are counted.
    """
    notes, left, counted = [], MOST_TOKENS, list[np.ndarray]()
    if (size := sum(map(len, train))) > MOST_TOKENS:
        notes.append(
            f"The baselines by Kneser-Ney are counted on the last {MOST_TOKENS:,} of {size:,} "
            "tokens of train: all would take too long."
        )
    for sequence in reversed(train):
        counted.insert(0, sequence[max(len(sequence) - left, 0) :])
        left -= len(counted[0])
    nats = KneserNey(counted, highest, tokens).nats(part)
    return {f"kneser_ney_{order}": nats[order - 1] for order in range(2, highest + 1)}, notes


class _Counts(NamedTuple):
    """Counts c of the G n-grams of one length, and sums over those of one history.

    A history is numbered as an n-gram of the length below.
    """

    discounted: np.ndarray  # (G,) c(hw) - D
    totals: np.ndarray  # (G of the length below,) c(h); 0: nothing follows this history
    left: np.ndarray  # likewise, D1 N1(h) + D2 N2(h) + D3 N3+(h)


class _Length(NamedTuple):
    """The G n-grams of one length; the number of an n-gram is its place in `keys`."""

    keys: np.ndarray  # (G,) int64, sorted: number of the history * V + last token
    occurrences: _Counts
    neighbors: _Counts | None = None  # different tokens to the left; None at the largest length


class KneserNey:
    """Probabilities of tokens by the n - 1 tokens before them, for n = 1 to `highest`.

    P(w|h) = max(c(hw) - D, 0)/c(h) + (D1 N1 + D2 N2 + D3 N3+)(h)/c(h) * P(w|h'), with h' the
    history h without its first token, and N1, N2, N3+ the numbers of different tokens that follow h
    once, twice, more often. At the highest order n, c counts n-grams; below it, the different
    tokens to the left of an n-gram. The order below 1 is 1/V. D = Dk for a count of k, D3 from 3
    on: Dk = k - (k + 1) Y n_{k+1}/n_k with Y = n1/(n1 + 2 n2) for each order, where n_k n-grams
    have the count k. If n1, n2 or n3 is 0, or a Dk isn't positive, D is 0.5, 1, 1.5. After a
    history that never occurs, P(w|h) = P(w|h'). At the start of a sequence the history is shorter.

    Source: Chen and Goodman 1998, "An empirical study of smoothing techniques for language
    modeling", modified Kneser-Ney. Difference: sequences have no start and end symbols.

    Args:
        sequences: the training sequences; no n-gram spans two of them.
        highest: the length of the longest n-grams. Longer ones than the longest sequence don't
            exist, so their orders are equal to that of its length.
        tokens: V, the number of possible tokens.
    """

    def __init__(self, sequences: Sequence[np.ndarray], highest: int, tokens: int) -> None:
        self.highest, self.tokens = highest, tokens
        stream, starts = _joined(sequences)
        self._lengths: list[_Length] = []
        sizes = [1]  # the number of histories of each length
        ends = np.zeros(len(stream), np.int64)  # the number of the n-gram that ends at each place
        for length in range(1, min(highest, max(map(len, sequences), default=0)) + 1):
            shorter = ends
            history = _before(shorter, starts) if length > 1 else shorter
            seen = history != _UNSEEN
            keys, numbers = np.unique(history[seen] * tokens + stream[seen], return_inverse=True)
            ends = np.full(len(stream), _UNSEEN)
            ends[seen] = numbers
            if length > 1:
                last = self._lengths[-1]
                below = np.zeros(len(keys), np.int64)  # n-gram -> itself without its first token
                below[numbers] = shorter[seen]
                neighbors = np.bincount(below, minlength=len(last.keys))
                counts = self._counts(last.keys, neighbors, sizes[-2])
                self._lengths[-1] = last._replace(neighbors=counts)
            occurrences = self._counts(keys, np.bincount(numbers), sizes[-1])
            self._lengths.append(_Length(keys, occurrences))
            sizes.append(len(keys))

    def _counts(self, keys: np.ndarray, counts: np.ndarray, histories: int) -> _Counts:
        history = keys // self.tokens
        discounts = _discounts(counts)[counts.clip(max=3)]
        return _Counts(
            counts - discounts,
            np.bincount(history, counts, histories),
            np.bincount(history, discounts, histories),
        )

    def nats(self, sequences: Sequence[np.ndarray]) -> np.ndarray:
        """Return -ln P of each of N tokens, those of all sequences: (highest, N) float64.

        Row n - 1 is of order n.
        """
        stream, starts = _joined(sequences)
        found, below = [], np.full(len(stream), 1 / self.tokens)
        numbers = np.zeros(len(stream), np.int64)
        for place, length in enumerate(self._lengths):
            history = _before(numbers, starts) if place else numbers
            numbers = self._numbers(length, history, stream)
            found.append(_mixed(length.occurrences, history, numbers, below))
            if length.neighbors:
                below = _mixed(length.neighbors, history, numbers, below)
        found += [found[-1] if found else below] * (self.highest - len(found))
        return -np.log(found)

    def probabilities(self, history: Sequence[int], order: int) -> np.ndarray:
        """Return P of each of the V tokens after a history by one order: (V,)."""
        every, below = np.arange(self.tokens), np.full(self.tokens, 1 / self.tokens)
        order = min(order, len(self._lengths))
        for size, length in enumerate(self._lengths[:order]):
            if size > len(history):
                break
            number = np.zeros(1, np.int64)
            for shorter, token in zip(self._lengths, history[len(history) - size :], strict=False):
                number = self._numbers(shorter, number, np.array([token]))
            before = np.full(self.tokens, number)
            counts = length.occurrences if size == order - 1 else length.neighbors
            assert counts is not None
            below = _mixed(counts, before, self._numbers(length, before, every), below)
        return below

    def _numbers(self, length: _Length, history: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the numbers of the n-grams of histories and tokens; -1: one never occurs."""
        keys = np.where(history == _UNSEEN, _UNSEEN, history * self.tokens + tokens)
        places = np.searchsorted(length.keys, keys).clip(max=len(length.keys) - 1)
        return np.where(length.keys[places] == keys, places, _UNSEEN)


def _mixed(
    counts: _Counts, history: np.ndarray, numbers: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Return P(w|h) of one length from P(w|h'); unseen histories leave it as it is."""
    totals = np.where(history == _UNSEEN, 0, counts.totals[history])
    own = np.where(numbers == _UNSEEN, 0, counts.discounted[numbers])
    mixed = (own + counts.left[history] * below) / np.maximum(totals, 1)
    return np.where(totals > 0, mixed, below)


def _joined(sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of all sequences, and the places where one starts."""
    stream = np.concatenate([np.zeros(0, np.int64), *sequences]).astype(np.int64)
    starts = np.cumsum([0, *map(len, sequences)])[:-1]
    return stream, starts[starts < len(stream)]


def _before(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return for each place the number at the place before; none at the start of a sequence."""
    shifted = np.roll(numbers, 1)
    shifted[starts] = _UNSEEN
    return shifted


def _discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of counts 0, 1, 2, and 3 or more."""
    n1, n2, n3, n4 = np.bincount(counts, minlength=5)[1:5].tolist()
    if not (n1 and n2 and n3):
        return np.array([0, *_FALLBACK])
    y = n1 / (n1 + 2 * n2)
    found = [1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
    return np.array([0, *(found if min(found) > 0 else _FALLBACK)])
