"""Corpora of sequences that are drawn at random; no file is needed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.pair import Pair

HELD_OUT = 1000
HELD_OUT_PAIRS = "held out"


class DrawnCorpus(Corpus):
    """Pairs that a subclass draws: `pairs` to train on, 1,000 others to validate, 1,000 to test.

    Args:
        pairs: to train on.
        seed: which pairs; the run's seed doesn't change them.
        settings: what else decides them, by name.
    """

    license = "Apache-2.0, as attnlab"
    own_parts = ("train", "validation", "test")

    def __init__(self, pairs: int, seed: int, **settings: int) -> None:
        self.size, self.seed, self._settings = pairs, seed, settings

    def _drawn(self, what: str) -> Iterator[Pair]:
        """Pairs without end, by the seed and by what they are for: `HELD_OUT_PAIRS` or `train`."""
        raise NotImplementedError

    @cached_property
    def _held_out(self) -> list[Pair]:
        """Validation, then test: different sources."""
        found: dict[str, Pair] = {}
        drawn = self._drawn(HELD_OUT_PAIRS)
        while len(found) < 2 * HELD_OUT:
            pair = next(drawn)
            found.setdefault(pair.source, pair)
        return list(found.values())

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        if part == "train":
            held_out = {pair.source for pair in self._held_out}
            drawn = self._drawn("train")
            return itertools.islice((p for p in drawn if p.source not in held_out), self.size)
        first = HELD_OUT if part == "test" else 0
        return iter(self._held_out[first : first + HELD_OUT])

    def _content(self) -> dict[str, int]:
        return {"version": 1, "pairs": self.size, "seed": self.seed, **self._settings}
