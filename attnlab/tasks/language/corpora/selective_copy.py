"""The corpus `selective_copy`: symbols among blanks, to be repeated without the blanks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows


class SelectiveCopy(DrawnRows):
    """Rows of `selective_copy`.

    Args:
        rows: the number of training rows.
        vocabulary: the number of tokens, the blank and the sign to copy included.
        length: tokens of a row.
        symbols: symbols to copy in a row.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: the row is too short for its symbols.
    """

    name = "selective_copy"
    origin = "made by this project, after the selective copying of MAD (Poli et al. 2024)"

    def __init__(
        self,
        *,
        rows: int = 12_800,
        vocabulary: int = 16,
        length: int = 256,
        symbols: int = 16,
        seed: int = 0,
    ) -> None:
        if length < 2 * symbols + 1:
            raise RequestError(
                f"data.length: expected at least {2 * symbols + 1}, two tokens for each of "
                f"data.symbols and the sign to copy, got {length}."
            )
        self._drawn = {"vocabulary": vocabulary, "length": length, "symbols": symbols}
        super().__init__(rows, seed, **self._drawn)
        self.vocabulary = vocabulary

    @property
    def symbols(self) -> Sequence[str]:
        """Return the numbers of the symbols, `_` for the blank and `?` for the sign to copy."""
        return [*map(str, range(self.vocabulary - 2)), "_", "?"]

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        return selective_copy(rng, rows, **self._drawn)


def selective_copy(
    rng: np.random.Generator, rows: int, *, vocabulary: int, length: int, symbols: int
) -> Rows:
    """Draw rows with K = `symbols` symbols at random places among blanks.

    With V = `vocabulary`: symbols are 0 to V - 3, the blank is V - 2, the sign to copy V - 1. A row
    has the K symbols, drawn with replacement, among `length` - 2K - 1 blanks; then the sign; then K
    blanks, whose targets are the symbols in their order.

    Source: selective copying, Poli et al. 2024 (arXiv 2403.17844), `mad/data/instances.py`.
    Difference: each blank goes to one of K + 1 gaps, the one after the last symbol included, which
    stays empty there; places come from the corpus's generator, not from NumPy's global one.
    """
    blank, copy = vocabulary - 2, vocabulary - 1
    blanks = length - 2 * symbols - 1
    chosen = rng.integers(vocabulary - 2, size=(rows, symbols), dtype=np.int32)
    gaps = rng.multinomial(blanks, np.full(symbols + 1, 1 / (symbols + 1)), size=rows)
    places = np.arange(symbols) + gaps[:, :-1].cumsum(axis=1)
    tokens = np.full((rows, length), blank, np.int32)
    np.put_along_axis(tokens, places, chosen, axis=1)
    tokens[:, -symbols - 1] = copy
    targets, scored = np.zeros_like(tokens), np.zeros(tokens.shape, bool)
    targets[:, -symbols:], scored[:, -symbols:] = chosen, True
    return Rows(tokens, targets, scored)
