"""The corpora `copy`, `reversal` and `sort`: a sequence, then itself in some order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows, answered

PAD, END, ASK, FIRST = 0, 1, 2, 3  # FIRST: the token of symbol 0

# (N, L) symbols and (N, 1) lengths -> (N, L) answers; symbols after a row's length don't matter.
Rewrite = Callable[[np.ndarray, np.ndarray], np.ndarray]


def rewritten(
    rng: np.random.Generator,
    rows: int,
    *,
    rewrite: Rewrite,
    symbols: int,
    shortest: int,
    longest: int,
) -> Rows:
    """Draw rows `x1 ... xn ? y1 ... yn END`, where the answer y and END are scored.

    The length n is uniform on `shortest` to `longest`, each symbol on 0 to `symbols` - 1. Rows have
    2 * `longest` + 1 tokens, shorter ones are padded at the end.

    Source: copy, reverse and sort of Kazemnejad et al. 2023 (arXiv 2305.19466),
    `scripts/dataset_builders`. Differences: lengths are drawn, instead of equally many rows of each
    length; `?` replaces a prompt of English words.
    """
    lengths = rng.integers(shortest, longest + 1, size=(rows, 1))
    drawn = rng.integers(symbols, size=(rows, longest))
    answers = rewrite(drawn, lengths)
    places = np.arange(2 * longest + 2)
    whole = np.full((rows, len(places)), PAD)
    asked = places < lengths
    whole[asked] = FIRST + drawn[asked[:, :longest]]
    whole[places == lengths] = ASK
    whole[(places > lengths) & (places <= 2 * lengths)] = FIRST + answers[asked[:, :longest]]
    whole[places == 2 * lengths + 1] = END
    return answered(whole, lengths + 1, 2 * lengths + 2)


def copied(drawn: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the symbols."""
    return drawn


def reversed_order(drawn: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the symbols from the last to the first."""
    places = (lengths - 1 - np.arange(drawn.shape[1])).clip(0)
    return np.take_along_axis(drawn, places, axis=1)


def in_order(drawn: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the symbols from the smallest to the largest."""
    inside = np.arange(drawn.shape[1]) < lengths
    return np.sort(np.where(inside, drawn, drawn.max(initial=0) + 1), axis=1)


class _Rewriting(DrawnRows):
    """Rows of `rewritten`.

    Args:
        rows: the number of training rows.
        different: the number of different symbols.
        shortest: the smallest length of a sequence.
        longest: the largest length of a sequence.
        test_longest: the largest length in 1,000 further rows of test, whose sequences are longer
            than `longest`; None: no such rows.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: `shortest` exceeds `longest`, or `test_longest` doesn't.
    """

    origin = "made by this project, after Kazemnejad et al. (2023)"
    version = 2
    _rewrite: ClassVar[Any]  # a static `Rewrite`

    def __init__(
        self,
        *,
        rows: int = 50_000,
        different: int = 100,
        shortest: int = 4,
        longest: int = 20,
        test_longest: int | None = None,
        seed: int = 0,
    ) -> None:
        if shortest > longest:
            raise RequestError(
                f"data.shortest: expected at most data.longest={longest}, got {shortest}."
            )
        if test_longest is not None and test_longest <= longest:
            raise RequestError(
                f"data.test_longest: expected more than data.longest={longest}, or null, got "
                f"{test_longest}."
            )
        lengths = {"shortest": shortest, "longest": longest, "test_longest": test_longest}
        super().__init__(rows, seed, different=different, **lengths)
        self.different, self.shortest, self.longest = different, shortest, longest
        self.test_longest, self.tests_longer = test_longest, test_longest is not None

    @property
    def symbols(self) -> Sequence[str]:
        """Return the names of the tokens; `_` pads, `?` asks and `.` ends the answer."""
        return ["_", ".", "?", *map(str, range(self.different))]

    def lengths(self, rows: Rows) -> np.ndarray:
        """Return the number of symbols of each sequence, (N,)."""
        return (rows.tokens == ASK).argmax(axis=1)

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        shortest, longest = self.shortest, self.longest
        if part == "longer" and self.test_longest:
            shortest, longest = longest + 1, self.test_longest
        return rewritten(
            rng,
            rows,
            rewrite=type(self)._rewrite,
            symbols=self.different,
            shortest=shortest,
            longest=longest,
        )


class Copy(_Rewriting):
    """A sequence, then the same sequence; see `_Rewriting`."""

    name = "copy"
    _rewrite = staticmethod(copied)


class Reversal(_Rewriting):
    """A sequence, then the same symbols from the last to the first; see `_Rewriting`."""

    name = "reversal"
    _rewrite = staticmethod(reversed_order)


class Sort(_Rewriting):
    """A sequence, then the same symbols from the smallest to the largest; see `_Rewriting`."""

    name = "sort"
    _rewrite = staticmethod(in_order)

    def __init__(
        self,
        *,
        rows: int = 50_000,
        different: int = 50,
        shortest: int = 4,
        longest: int = 20,
        test_longest: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            rows=rows,
            different=different,
            shortest=shortest,
            longest=longest,
            test_longest=test_longest,
            seed=seed,
        )
