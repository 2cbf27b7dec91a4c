"""The corpus `listops`: nested lists of digits with MIN, MAX, MED and SM, and their value."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import DrawnRows, answered

_OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
SYMBOLS = ("_", "=", "]", *_OPERATORS, *"0123456789")  # "_" pads
_DIGIT = SYMBOLS.index("0")
_CLOSE = SYMBOLS.index("]")
_FIRST_OPERATOR = SYMBOLS.index(_OPERATORS[0])
_VALUES: tuple[Callable[[list[int]], int], ...] = (
    min,
    max,
    lambda values: int(statistics.median(values)),
    lambda values: sum(values) % 10,
)
_TRIES = 20_000  # lists drawn for a row before its length counts as impossible
_NESTED = 0.25  # probability that an argument is a list


class ListOps(DrawnRows):
    """Rows of `listops`, with smaller lists than those of the Long Range Arena.

    Args:
        rows: the number of training rows.
        depth: the most levels of a list, its digits included.
        arguments: the most arguments of a list.
        shortest: the fewest tokens before `=`.
        longest: the most tokens before `=`.
        seed: draws the rows; the run's seed doesn't change them.

    Raises:
        RequestError: hardly any list has such a length.
    """

    name = "listops"
    origin = "made by this project, after ListOps of the Long Range Arena (Tay et al. 2020)"

    def __init__(
        self,
        *,
        rows: int = 20_000,
        depth: int = 5,
        arguments: int = 5,
        shortest: int = 10,
        longest: int = 60,
        seed: int = 0,
    ) -> None:
        if shortest > longest:
            raise RequestError(
                f"data.shortest: expected at most data.longest={longest}, got {shortest}."
            )
        self._drawn = {
            "depth": depth,
            "arguments": arguments,
            "shortest": shortest,
            "longest": longest,
        }
        super().__init__(rows, seed, **self._drawn)

    @property
    def symbols(self) -> Sequence[str]:
        """Return the operators, digits and signs; `_` pads."""
        return SYMBOLS

    def _make(self, rng: np.random.Generator, rows: int, part: str) -> Rows:
        return listops(rng, rows, **self._drawn)


def listops(
    rng: np.random.Generator, rows: int, *, depth: int, arguments: int, shortest: int, longest: int
) -> Rows:
    """Draw rows `[MAX 4 [MIN 2 3 ] 1 ] = 4`, where the value is scored.

    A list is MIN, MAX, MED (the median, truncated) or SM (the sum modulo 10) of 2 to `arguments`
    arguments. An argument is a list with probability .25, otherwise, and always at depth `depth`,
    a digit. Rows with fewer than `shortest` or more than `longest` tokens before `=` are drawn
    again.

    Source: Tay et al. 2020 (arXiv 2011.04006), `lra_benchmarks/data/listops.py`: depth 10, 10
    arguments, more than 500 and fewer than 2,000 tokens. Difference: the value follows `=` as a
    token instead of being a class of the row.
    """
    draw = random.Random(int(rng.integers(2**63)))
    whole = np.zeros((rows, longest + 2), np.int32)
    lengths = np.zeros(rows, int)
    for number in range(rows):
        for _ in range(_TRIES):
            tokens, value = _list(draw, depth, arguments)
            if shortest <= len(tokens) <= longest:
                break
        else:
            raise RequestError(
                f"data.shortest={shortest}, data.longest={longest}: of {_TRIES:,} lists with "
                f"data.depth={depth} and data.arguments={arguments}, none has such a length."
            )
        lengths[number] = len(tokens)
        whole[number, : len(tokens) + 2] = *tokens, SYMBOLS.index("="), _DIGIT + value
    return answered(whole, lengths + 1, lengths + 2)


def _list(draw: random.Random, depth: int, arguments: int) -> tuple[list[int], int]:
    """Draw a list that may have `depth` - 1 levels of arguments; return its tokens and value."""
    operator = draw.randrange(len(_OPERATORS))
    tokens, values = [_FIRST_OPERATOR + operator], []
    for _ in range(draw.randint(2, arguments)):
        if depth > 2 and draw.random() <= _NESTED:
            inner, value = _list(draw, depth - 1, arguments)
            tokens += inner
        else:
            value = draw.randrange(10)
            tokens.append(_DIGIT + value)
        values.append(value)
    return [*tokens, _CLOSE], _VALUES[operator](values)
