"""Sequences to be written backwards: which position matters, and nothing else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.pair import Pair

HELD_OUT = 1000
_LONGER = 5  # than in train


class Reverse(Corpus):
    """Random sequences of numbers and the same from behind, with gold alignments; needs no file.

    Lengths and numbers are uniform. `validation` and `test`, 1,000 sequences each, are up to 5
    longer than those of `train`; they are all different, and none of them is in `train`.

    Source: the data of JoeyNMT's reverse task (Kreutzer, Bastings, Riezler 2019, arXiv 1907.12484).
    Difference: there short sequences of the test are in the training data, too.

    Args:
        pairs: sequences to train on.
        symbols: how many numbers there are, 0 to `symbols` - 1.
        longest: the most numbers of a sequence in train.
        seed: which sequences; the run's seed doesn't change them.
    """

    name = "reverse"
    origin = "made by this project, after JoeyNMT's reverse task"
    license = "Apache-2.0, as attnlab"
    own_parts = ("train", "validation", "test")
    source_language, target_language = "forward", "backward"

    def __init__(
        self, *, pairs: int = 50_000, symbols: int = 50, longest: int = 25, seed: int = 0
    ) -> None:
        self.size, self.symbols, self.longest, self.seed = pairs, symbols, longest, seed

    @cached_property
    def _held_out(self) -> list[tuple[int, ...]]:
        """Validation, then test."""
        found: dict[tuple[int, ...], None] = {}
        drawn = self._drawn("held out", self.longest + _LONGER)
        while len(found) < 2 * HELD_OUT:
            found[next(drawn)] = None
        return list(found)

    def _drawn(self, what: str, longest: int) -> Iterator[tuple[int, ...]]:
        draw = random.Random(f"{self.seed} {what}")
        while True:
            length = draw.randint(1, longest)
            yield tuple(draw.randrange(self.symbols) for _ in range(length))

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        if part == "train":
            held_out = set(self._held_out)
            usable = (each for each in self._drawn("train", self.longest) if each not in held_out)
            return (_pair(numbers) for numbers, _ in zip(usable, range(self.size), strict=False))
        first = HELD_OUT if part == "test" else 0
        return map(_pair, self._held_out[first : first + HELD_OUT])

    def _content(self) -> dict[str, int]:
        settings = {"pairs": self.size, "symbols": self.symbols, "longest": self.longest}
        return {"version": 1, **settings, "seed": self.seed}


def _pair(numbers: tuple[int, ...]) -> Pair:
    last = len(numbers) - 1
    links = " ".join(f"{last - place}-{place}" for place in range(len(numbers)))
    return Pair(" ".join(map(str, numbers)), " ".join(map(str, reversed(numbers))), links)
