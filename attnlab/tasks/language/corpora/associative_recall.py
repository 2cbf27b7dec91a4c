"""The corpus `associative_recall`: pairs of a key and its value, then the keys again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows, different

FILLER = 0


class AssociativeRecall(DrawnRows):
    """Rows of `associative_recall`, multi-query associative recall.

    Args:
        rows: the number of training rows.
        vocabulary: the number of tokens.
        length: tokens of a row.
        pairs: pairs of a key and its value in a row.
        power: the exponent of the law of the places; small ones put queries near their pairs.
        random_fillers: whether fillers are replaced by random tokens, keys and values included.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: the row is too short for its pairs, or odd, or there are too few tokens.
    """

    name = "associative_recall"
    origin = "made by this project, after zoology's multi-query associative recall (2023)"

    def __init__(
        self,
        *,
        rows: int = 20_000,
        vocabulary: int = 512,
        length: int = 64,
        pairs: int = 4,
        power: float = 0.01,
        random_fillers: bool = False,
        seed: int = 0,
    ) -> None:
        if length % 2 or length < 4 * pairs:
            raise RequestError(
                f"data.length: expected an even number of at least {4 * pairs}, four tokens for "
                f"each of data.pairs, got {length}."
            )
        if vocabulary < 2 * pairs + 2:
            raise RequestError(
                f"data.vocabulary: expected at least {2 * pairs + 2}, a filler and different keys "
                f"and values for data.pairs={pairs}, got {vocabulary}."
            )
        self._drawn: dict[str, Any] = {
            "vocabulary": vocabulary,
            "length": length,
            "pairs": pairs,
            "power": power,
            "random_fillers": random_fillers,
        }
        super().__init__(rows, seed, **self._drawn)
        self.vocabulary, self.pairs = vocabulary, pairs

    @property
    def symbols(self) -> Sequence[str]:
        """Return `_` for the filler, `k1`, `k2`, ... for keys and `v1`, `v2`, ... for values."""
        half = self.vocabulary // 2
        keys = [f"k{number}" for number in range(1, half)]
        return ["_", *keys, *(f"v{number}" for number in range(1, self.vocabulary - half + 1))]

    @property
    def chance(self) -> float:
        """Return the accuracy of guessing one of the row's values."""
        return 1 / self.pairs

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        return associative_recall(rng, rows, **self._drawn)


def associative_recall(
    rng: np.random.Generator,
    rows: int,
    *,
    vocabulary: int,
    length: int,
    pairs: int,
    power: float,
    random_fillers: bool,
) -> Rows:
    """Draw rows of multi-query associative recall.

    With V = `vocabulary`: keys are 1 to V/2 - 1, values V/2 to V - 1, the filler is 0. A row starts
    with K = `pairs` pairs `k1 v1 k2 v2 ...`, in which no key and no value repeats. The rest has
    S = (length - 2K) / 2 slots of two places. Each key is repeated in the first place of a
    slot of its own: slot j = 0, 1, ... is drawn with a probability proportional to
    (j + 1)^(power - 1), without replacement. The target at such a key is its value, which the row
    doesn't repeat.

    Source: Arora et al. 2023 (arXiv 2312.04927), `zoology/data/multiquery_ar.py`. Difference: none.
    """
    half = vocabulary // 2
    keys = 1 + different(rng, rows, half - 1, pairs)
    values = half + different(rng, rows, vocabulary - half, pairs)
    tokens = np.full((rows, length), FILLER, np.int32)
    tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = keys, values
    places = 2 * pairs + 2 * _slots(rng, rows, (length - 2 * pairs) // 2, pairs, power)
    np.put_along_axis(tokens, places, keys.astype(np.int32), axis=1)
    if random_fillers:
        noise = rng.integers(vocabulary, size=tokens.shape, dtype=np.int32)
        tokens = np.where(tokens == FILLER, noise, tokens)
    targets, scored = np.zeros_like(tokens), np.zeros(tokens.shape, bool)
    np.put_along_axis(targets, places, values.astype(np.int32), axis=1)
    np.put_along_axis(scored, places, True, axis=1)
    return Rows(tokens, targets, scored)


def _slots(rng: np.random.Generator, rows: int, slots: int, count: int, power: float) -> np.ndarray:
    """Draw `count` different slots per row, one after another, by a power law.

    The largest of log p + Gumbel noise are such a draw without replacement (Vieira 2014).
    """
    log_probability = (power - 1) * np.log(np.arange(1, slots + 1))
    noisy = log_probability + rng.gumbel(size=(rows, slots))
    return (-noisy).argsort(axis=1)[:, :count]
