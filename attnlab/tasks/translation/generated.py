"""Generated corpora of translation: `recall` and `reverse`, with gold alignments."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.translation.parallel import Pair, ParallelCorpus

_HELD_OUT = 1000  # pairs of validation, and of test
_ROOM = 10  # possible sequences per drawn one; with fewer, drawing different ones takes long
_FILLER = "."
_LONGER = 5  # numbers that a test sequence of `reverse` may have more than a training sequence


class GeneratedCorpus(ParallelCorpus):
    """Pairs that a subclass draws: `pairs` for train, 1,000 each for validation and test.

    Sources of validation and test occur in no other part. The run's seed doesn't change the pairs.
    """

    license = "Apache-2.0, as attnlab"
    repeats: ClassVar[bool] = False  # whether a source may occur twice in train
    pairs: int
    seed: int

    @abstractmethod
    def draw(self, draws: random.Random, is_train: bool) -> Pair:
        """Draw a pair."""

    def read(self, place: Path) -> dict[str, list[Pair]]:
        """Draw the pairs of all parts; see `Corpus.read`."""
        held_out: dict[str, Pair] = {}
        draws = random.Random(f"{self.seed} held out")
        while len(held_out) < 2 * _HELD_OUT:
            pair = self.draw(draws, is_train=False)
            held_out.setdefault(pair.source, pair)
        train: list[Pair] = []
        sources, draws = {*held_out}, random.Random(f"{self.seed} train")
        while len(train) < self.pairs:
            pair = self.draw(draws, is_train=True)
            if pair.source not in sources:
                train.append(pair)
                if not self.repeats:
                    sources.add(pair.source)
        others = [*held_out.values()]
        return {"train": train, "validation": others[:_HELD_OUT], "test": others[_HELD_OUT:]}


@dataclass(kw_only=True, eq=False)
class Recall(GeneratedCorpus):
    """Keys with their values, then the keys again in another order.

        k3 v7 k1 v2 . k1 . k3      k1 v2 k3 v7

    A source starts with `keys` pairs of a key and its value. Then each key follows once more, in
    random order and at random places among fillers, up to `length` words. The target is each of
    these keys with its value. Keys differ, values may be equal. Gold alignments link a key to its
    place in the second half, and a value to its place among the pairs.

    Source: multi-query associative recall (Arora et al. 2023, arXiv 2312.04927). Difference: in the
    paper one network reads pairs and queries, and answers after each query. Here a decoder writes
    query and answer, so that a recurrent network that attends once per step can find both.
    """

    name = "recall"
    origin = "made by this project, after multi-query associative recall (Arora et al. 2023)"
    source_language, target_language = "pairs", "answers"

    pairs: int = 20_000
    keys: int = 4
    length: int = 16
    symbols: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that there are enough different sequences."""
        keys, length, symbols = self.keys, self.length, self.symbols
        places = math.perm(max(length - 2 * keys, 0), keys)
        possible = math.perm(symbols, keys) * symbols**keys * places
        required = _ROOM * (self.pairs + 2 * _HELD_OUT)
        if possible < required:
            raise RequestError(
                f"data.keys={keys}, data.length={length}, data.symbols={symbols}: expected at "
                f"least {required:,} possible sequences for data.pairs={self.pairs}, got "
                f"{possible:,}."
            )

    def draw(self, draws: random.Random, is_train: bool) -> Pair:
        """Draw a pair; see `GeneratedCorpus.draw`."""
        keys = [f"k{key}" for key in draws.sample(range(self.symbols), self.keys)]
        values = [f"v{draws.randrange(self.symbols)}" for _ in keys]
        order = draws.sample(range(self.keys), self.keys)
        words = [word for pair in zip(keys, values, strict=True) for word in pair]
        words += [_FILLER] * (self.length - len(words))
        places = sorted(draws.sample(range(2 * self.keys, self.length), self.keys))
        target: list[str] = []
        links: list[str] = []
        for place, number in zip(places, order, strict=True):
            words[place] = keys[number]
            links += [f"{place}-{len(target)}", f"{2 * number + 1}-{len(target) + 1}"]
            target += [keys[number], values[number]]
        return Pair(" ".join(words), " ".join(target), " ".join(links))


@dataclass(kw_only=True, eq=False)
class Reverse(GeneratedCorpus):
    """Random sequences of numbers and their reversals, so that only positions matter.

        17 4 30      30 4 17

    Lengths and numbers are uniform. Sequences of validation and test are up to 5 numbers longer
    than those of train.

    Source: the data of JoeyNMT's reverse task (Kreutzer, Bastings, Riezler 2019, arXiv 1907.12484).
    Difference: JoeyNMT has short test sequences also in its training data.
    """

    name = "reverse"
    origin = "made by this project, after JoeyNMT's reverse task"
    source_language, target_language = "forward", "backward"
    repeats = True

    pairs: int = 50_000
    symbols: int = 50
    longest: int = 25
    seed: int = 0

    def draw(self, draws: random.Random, is_train: bool) -> Pair:
        """Draw a pair; see `GeneratedCorpus.draw`."""
        length = draws.randint(1, self.longest + (0 if is_train else _LONGER))
        numbers = [str(draws.randrange(self.symbols)) for _ in range(length)]
        links = " ".join(f"{length - 1 - place}-{place}" for place in range(length))
        return Pair(" ".join(numbers), " ".join(reversed(numbers)), links)
