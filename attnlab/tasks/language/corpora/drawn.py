"""Rows that a corpus draws by itself: what all generated tasks share."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import RowCorpus, Rows

HELD_OUT = 1000  # rows of validation, and of test
_CHUNK = 4096  # rows drawn at once; a longer part begins like a shorter one because it is constant
_TRIES = 200  # draws of a chunk without a new row before a corpus counts as too small


class DrawnRows(RowCorpus):
    """Rows that a subclass draws by `_make`: training rows, and 1,000 each to validate and to test.

    No row of validation is in test, and no row of train is in either. Rows of one part may repeat
    each other, where few are possible. If `tests_longer` is set, the test part has 1,000 longer
    rows at its end, which `_make` draws as the part `longer`.

    Args:
        rows: the number of training rows.
        seed: draws the rows; the run's seed doesn't change them.
        settings: the other settings that affect them.
    """

    tests_longer: bool = False
    version: ClassVar[int] = 1  # of the generator; a change makes the rows others

    def __init__(self, rows: int, seed: int, **settings: Any) -> None:
        self.size, self.seed, self._settings = rows, seed, settings

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        """Draw rows of a part."""
        raise NotImplementedError

    def rows(self, part: str) -> Rows:
        """Return the rows of a part; see `RowCorpus`."""
        return self._held_out[part] if part in self._held_out else self._train

    @cached_property
    def _held_out(self) -> dict[str, Rows]:
        test = self._draw("test", HELD_OUT, [])
        validation = self._draw("validation", HELD_OUT, [test])
        if self.tests_longer:
            test = one_after_the_other(test, self._draw("longer", HELD_OUT, []))
        return {"validation": validation, "test": test}

    @cached_property
    def _train(self) -> Rows:
        return self._draw("train", self.size, [*self._held_out.values()])

    def _draw(self, part: str, size: int, others: list[Rows]) -> Rows:
        """Draw rows that are in no other part."""
        rng = np.random.default_rng((self.seed, *part.encode()))
        known = [fingerprints(other.tokens) for other in others]
        drawn: list[Rows] = []
        found = tries = 0
        while found < size:
            made = self._make(rng, _CHUNK, part)
            fresh = ~np.isin(
                fingerprints(made.tokens), np.concatenate([np.empty(0, np.uint64), *known])
            )
            drawn.append(Rows(*(each[fresh] for each in made)))
            found += int(fresh.sum())
            tries = 0 if fresh.any() else tries + 1
            if tries > _TRIES:
                raise RequestError(
                    f"data.name={self.name}: too few different rows are possible with these "
                    "settings, because train, validation and test must not share a row. Choose "
                    "longer rows or more symbols."
                )
        return Rows(*(np.concatenate(each)[:size] for each in zip(*drawn, strict=True)))

    def _content(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "rows": self.size,
            "seed": self.seed,
            **self._settings,
        }


def one_after_the_other(first: Rows, second: Rows) -> Rows:
    """Return the rows of both, padded to the same number of tokens."""
    width = max(first.tokens.shape[1], second.tokens.shape[1])
    return Rows(
        *(
            np.concatenate(
                [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in (one, other)]
            )
            for one, other in zip(first, second, strict=True)
        )
    )


def answered(whole: np.ndarray, first: np.ndarray, after: np.ndarray) -> Rows:
    """Make rows from sequences in which every token is predicted from those before it.

    Args:
        whole: (N, T + 1) questions, each with its answer, and padding.
        first: (N,) or (), the place of the answer's first token in `whole`.
        after: (N,) or (), the place after its last token.
    """
    places = np.arange(1, whole.shape[1])
    scored = (places >= np.reshape(first, (-1, 1))) & (places < np.reshape(after, (-1, 1)))
    scored = np.broadcast_to(scored, (len(whole), len(places)))
    targets = np.where(scored, whole[:, 1:], 0)
    return Rows(whole[:, :-1].astype(np.int32), targets.astype(np.int32), scored.copy())


def different(rng: np.random.Generator, rows: int, choices: int, count: int) -> np.ndarray:
    """Draw `count` different numbers below `choices` per row, in random order: (rows, count).

    Numbers that repeat an earlier one in their row are drawn again until none is left. That favors
    no number over another, so each ordered choice is equally probable.
    """
    if choices <= 4 * count:
        return rng.random((rows, choices)).argsort(axis=1)[:, :count]
    drawn = rng.integers(choices, size=(rows, count))
    open_rows = np.arange(rows)
    while len(open_rows):
        again = _repeats(drawn[open_rows])
        open_rows, again = open_rows[again.any(axis=1)], again[again.any(axis=1)]
        part = drawn[open_rows]
        part[again] = rng.integers(choices, size=np.count_nonzero(again))
        drawn[open_rows] = part
    return drawn


def _repeats(numbers: np.ndarray) -> np.ndarray:
    """Return where a number repeats an earlier one of its row."""
    order = numbers.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(numbers, order, axis=1)
    repeats = np.zeros(numbers.shape, bool)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return repeats


def fingerprints(tokens: np.ndarray) -> np.ndarray:
    """Return a 64-bit number per row (N, T); rows that differ only by zeros at the end share it."""
    factors = np.random.default_rng(0).integers(2**63, size=tokens.shape[1], dtype=np.uint64)
    return (tokens.astype(np.uint64) * (2 * factors + 1)).sum(axis=1, dtype=np.uint64)
