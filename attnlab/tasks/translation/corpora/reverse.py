"""The corpus `reverse`: sequences to be written backwards, so that only positions matter."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attnlab.tasks.translation.corpora.corpus import HELD_OUT_PAIRS, DrawnCorpus
from attnlab.tasks.translation.pair import Pair

_LONGER = 5  # numbers that a test sequence may have more than a training sequence


class Reverse(DrawnCorpus):
    """Random sequences of numbers and their reversals, with gold alignments; needs no file.

    Lengths and numbers are uniform. `validation` and `test`, 1,000 different sequences each, are up
    to 5 numbers longer than those of `train`; none of them is in `train`.

    Source: the data of JoeyNMT's reverse task (Kreutzer, Bastings, Riezler 2019, arXiv 1907.12484).
    Difference: JoeyNMT has short test sequences also in its training data.

    Args:
        pairs: the number of training sequences.
        symbols: numbers are 0 to `symbols` - 1.
        longest: the most numbers of a training sequence.
        seed: draws the sequences; the run's seed doesn't change them.
    """

    name = "reverse"
    origin = "made by this project, after JoeyNMT's reverse task"
    source_language, target_language = "forward", "backward"

    def __init__(
        self, *, pairs: int = 50_000, symbols: int = 50, longest: int = 25, seed: int = 0
    ) -> None:
        super().__init__(pairs, seed, symbols=symbols, longest=longest)
        self.symbols, self.longest = symbols, longest

    def _drawn(self, what: str) -> Iterator[Pair]:
        draw = random.Random(f"{self.seed} {what}")
        longest = self.longest + _LONGER * (what == HELD_OUT_PAIRS)
        while True:
            length = draw.randint(1, longest)
            yield _pair([draw.randrange(self.symbols) for _ in range(length)])


def _pair(numbers: list[int]) -> Pair:
    last = len(numbers) - 1
    links = " ".join(f"{last - place}-{place}" for place in range(len(numbers)))
    return Pair(" ".join(map(str, numbers)), " ".join(map(str, reversed(numbers))), links)
