"""The corpus `induction`: which symbol followed the special one?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows


class Induction(DrawnRows):
    """Rows of `induction`.

    Args:
        rows: the number of training rows.
        vocabulary: the number of tokens, the special one included.
        length: tokens of a row.
        test_length: tokens of each of 1,000 further rows of test; None: no such rows.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: `test_length` doesn't exceed `length`.
    """

    name = "induction"
    version = 2
    origin = "made by this project, after the induction heads of Gu and Dao (2023)"

    def __init__(
        self,
        *,
        rows: int = 20_000,
        vocabulary: int = 16,
        length: int = 64,
        test_length: int | None = None,
        seed: int = 0,
    ) -> None:
        if test_length is not None and test_length <= length:
            raise RequestError(
                f"data.test_length: expected more than data.length={length}, or null, got "
                f"{test_length}."
            )
        super().__init__(rows, seed, vocabulary=vocabulary, length=length, test_length=test_length)
        self.vocabulary, self.length, self.test_length = vocabulary, length, test_length
        self.tests_longer = test_length is not None

    @property
    def symbols(self) -> Sequence[str]:
        """Return the numbers of the symbols, and `?` for the special one."""
        return [*map(str, range(self.vocabulary - 1)), "?"]

    def lengths(self, rows: Rows) -> np.ndarray | None:
        """Return the number of tokens of each row, (N,); None if all rows have the same."""
        return rows.scored.argmax(axis=1) + 1 if self.tests_longer else None

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        length = self.test_length if part == "longer" and self.test_length else self.length
        return induction(rng, rows, vocabulary=self.vocabulary, length=length)


def induction(rng: np.random.Generator, rows: int, *, vocabulary: int, length: int) -> Rows:
    """Draw rows of random symbols with a special one twice; the second is the question.

    Symbols are 0 to V - 2 with V = `vocabulary`, the special one is V - 1. It is at a random
    place and at the end of the row. The only target, at the end, is the symbol that followed it the
    first time.

    Source: induction heads, Gu and Dao 2023 (arXiv 2312.00752), section 4.1.2. The paper leaves
    open how places are drawn: here each place with a successor before the end is equally probable.
    """
    tokens = rng.integers(vocabulary - 1, size=(rows, length), dtype=np.int32)
    places = rng.integers(length - 2, size=(rows, 1))
    np.put_along_axis(tokens, places, vocabulary - 1, axis=1)
    tokens[:, -1] = vocabulary - 1
    targets, scored = np.zeros_like(tokens), np.zeros(tokens.shape, bool)
    targets[:, -1:] = np.take_along_axis(tokens, places + 1, axis=1)
    scored[:, -1] = True
    return Rows(tokens, targets, scored)
