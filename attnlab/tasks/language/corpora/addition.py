"""The corpus `addition`: two numbers and their sum, digit by digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows, answered

SYMBOLS = ("_", ".", "+", "=", *"0123456789")  # "_" pads, "." ends an answer


class Addition(DrawnRows):
    """Rows of `addition`.

    Args:
        rows: the number of training rows.
        digits: the most digits of a number; 17 at most, since sums are 64-bit numbers.
        test_digits: the most digits of a number in 1,000 further rows of test, in which at least
            one number has more than `digits`; None: no such rows.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: `test_digits` doesn't exceed `digits`.
    """

    name = "addition"
    version = 2
    origin = "made by this project, after Kazemnejad et al. (2023)"

    def __init__(
        self, *, rows: int = 50_000, digits: int = 8, test_digits: int | None = None, seed: int = 0
    ) -> None:
        if test_digits is not None and test_digits <= digits:
            raise RequestError(
                f"data.test_digits: expected more than data.digits={digits}, or null, got "
                f"{test_digits}."
            )
        super().__init__(rows, seed, digits=digits, test_digits=test_digits)
        self.digits, self.test_digits = digits, test_digits
        self.tests_longer = test_digits is not None

    @property
    def symbols(self) -> Sequence[str]:
        """Return the signs and digits; `_` pads and `.` ends the answer."""
        return SYMBOLS

    def lengths(self, rows: Rows) -> np.ndarray:
        """Return the digits of the longer of the two numbers, (N,)."""
        first, both = ((rows.tokens == SYMBOLS.index(sign)).argmax(axis=1) for sign in "+=")
        return np.maximum(first, both - first - 1)

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        if part == "longer" and self.test_digits:
            return addition(rng, rows, digits=self.test_digits, longer_than=self.digits)
        return addition(rng, rows, digits=self.digits)


def addition(rng: np.random.Generator, rows: int, *, digits: int, longer_than: int = 0) -> Rows:
    """Draw rows `37+128=165.`; `165.` is scored.

    The two numbers of digits are uniform on all pairs from 1 to `digits`; with `longer_than`, on
    pairs with at least one larger number. A number of k digits is uniform on 10^(k-1) to
    10^k - 1, one of one digit on 0 to 9. The most significant digit comes first, also in the sum.
    Rows are as long as the longest one can be; shorter ones are padded.

    Source: addition of Kazemnejad et al. 2023 (arXiv 2305.19466), `make_addition_dataset.py`.
    Differences: the numbers of digits are drawn, instead of equally many rows of each pair; one
    token per digit and sign replaces a prompt of English words.
    """
    sizes = np.array(
        [
            (one, other)
            for one in range(1, digits + 1)
            for other in range(1, digits + 1)
            if max(one, other) > longer_than
        ]
    )
    chosen = sizes[rng.integers(len(sizes), size=rows)]
    high = 10**chosen
    low = np.where(chosen == 1, 0, high // 10)
    numbers = rng.integers(low, high)
    width = 3 * digits + 4  # two signs, the digit that a sum may have more, the end
    texts = [f"{one}+{other}={one + other}." for one, other in numbers.tolist()]
    joined = "".join(text.ljust(width, "_") for text in texts)
    code = np.zeros(128, np.int32)
    code[[ord(symbol) for symbol in SYMBOLS]] = range(len(SYMBOLS))
    whole = code[np.frombuffer(joined.encode("ascii"), np.uint8)].reshape(rows, width)
    after = (whole == SYMBOLS.index(".")).argmax(axis=1) + 1
    return answered(whole, (whole == SYMBOLS.index("=")).argmax(axis=1) + 1, after)
