"""The corpus `recall`: sequences of keys and values, and questions for the value of a key."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.corpus import HELD_OUT, DrawnCorpus
from attnlab.tasks.translation.pair import Pair

_ROOM = 10  # possible sequences per drawn one; with fewer, drawing different ones takes long
_FILLER = "."


class Recall(DrawnCorpus):
    """Keys with their values, then the keys again in another order; needs no file.

    A source starts with `keys` pairs of a key and its value, `k3 v7 k1 v2`. Then each key follows
    once more, in random order and at random places among fillers, up to `length` words. The target
    is each of these keys with its value, `k1 v2 k3 v7`: the decoder copies a key from the second
    half, then has to find it among the pairs. Keys differ, values may be equal. `validation` and
    `test` have 1,000 sequences each, none of which is in `train`. Gold alignments link a key to its
    place in the second half, and a value to its place among the pairs.

    Source: multi-query associative recall (Arora et al. 2023, arXiv 2312.04927). Difference: in the
    paper one network reads pairs and queries, and answers after each query. Here a decoder writes
    query and answer, so that a recurrent network that attends once per step can find both.

    Args:
        pairs: the number of training sequences.
        keys: pairs of a key and its value in a sequence.
        length: words of a sequence.
        symbols: the number of possible keys, and of possible values.
        seed: draws the sequences; the run's seed doesn't change them.

    Raises:
        RequestError: there are fewer symbols than keys, the sequence is too short for its keys, or
            there are too few possible sequences.
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
                f"data.symbols={symbols}: too few for {wanted:,} different sequences, because only "
                f"{possible:,} are possible and ten times as many are needed."
            )
        super().__init__(pairs, seed, keys=keys, length=length, symbols=symbols)
        self.keys, self.length, self.symbols = keys, length, symbols

    def _drawn(self, what: str) -> Iterator[Pair]:
        """Draw pairs with different sources."""
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
