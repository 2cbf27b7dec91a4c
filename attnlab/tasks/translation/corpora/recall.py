"""Sequences of keys and values, to be recalled: what stood beside this key?"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.corpus import HELD_OUT, DrawnCorpus
from attnlab.tasks.translation.pair import Pair

_ROOM = 10  # times as many sequences as are drawn, or drawing takes long
_FILLER = "."


class Recall(DrawnCorpus):
    """Keys with their values, then the keys again in another order; needs no file.

    A source is `keys` pairs of a key and its value, `k3 v7 k1 v2`, and after them each key once
    more, in random order and at random places among fillers, up to `length` words. Its target is
    each of these keys with its value, `k1 v2 k3 v7`: a key is copied from where it is asked for,
    and the next look has to find it among the pairs. Keys differ, values needn't. `validation` and
    `test` have 1,000 sequences each, none of them in `train`. Gold alignments say where a key is
    asked for, and where its value stands.

    Source: multi-query associative recall (Arora et al. 2023, arXiv 2312.04927). Difference: there
    one network reads pairs and queries and answers behind each query; here a decoder writes query
    and answer, so that a recurrent network with one look a step can find both.

    Args:
        pairs: sequences to train on.
        keys: pairs of a key and its value in a sequence.
        length: words of a sequence.
        symbols: how many keys there are to draw from, and how many values.
        seed: which sequences; the run's seed doesn't change them.

    Raises:
        RequestError: there are fewer symbols than keys, the sequence is too short for its keys, or
            so many sequences can't differ.
    """

    name = "recall"
    origin = "made by this project, after multi-query associative recall (Arora et al. 2023)"
    source_language, target_language = "pairs", "answers"

    def __init__(
        self,
        *,
        pairs: int = 20_000,
        keys: int = 4,
        length: int = 16,
        symbols: int = 32,
        seed: int = 0,
    ) -> None:
        if symbols < keys:
            raise RequestError(f"data.symbols: expected at least data.keys={keys}, got {symbols}.")
        if length < 3 * keys:
            raise RequestError(
                f"data.length: expected at least {3 * keys}, three words for each of data.keys, "
                f"got {length}."
            )
        possible = math.perm(symbols, keys) * symbols**keys * math.perm(length - 2 * keys, keys)
        wanted = pairs + 2 * HELD_OUT
        if possible < _ROOM * wanted:
            raise RequestError(
                f"data.symbols: expected so many that {wanted:,} sequences can differ, got "
                f"{symbols}, which make {possible:,}."
            )
        super().__init__(pairs, seed, keys=keys, length=length, symbols=symbols)
        self.keys, self.length, self.symbols = keys, length, symbols

    def _drawn(self, what: str) -> Iterator[Pair]:
        """Pairs of which no two have the same source."""
        draw, seen = random.Random(f"{self.seed} {what}"), set()
        while True:
            pair = self._pair(draw)
            if pair.source not in seen:
                seen.add(pair.source)
                yield pair

    def _pair(self, draw: random.Random) -> Pair:
        keys = draw.sample(range(self.symbols), self.keys)
        values = [draw.randrange(self.symbols) for _ in keys]
        asked = draw.sample(range(self.keys), self.keys)
        free = range(2 * self.keys, self.length)
        places = sorted(draw.sample(free, self.keys))
        words = [word for pair in zip(keys, values, strict=True) for word in _named(*pair)]
        words += [_FILLER] * len(free)
        target: list[str] = []
        links: list[str] = []
        for at, (place, number) in enumerate(zip(places, asked, strict=True)):
            written = _named(keys[number], values[number])
            words[place] = written[0]
            target += written
            links += [f"{place}-{2 * at}", f"{2 * number + 1}-{2 * at + 1}"]
        return Pair(" ".join(words), " ".join(target), " ".join(links))


def _named(key: int, value: int) -> tuple[str, str]:
    return f"k{key}", f"v{value}"
