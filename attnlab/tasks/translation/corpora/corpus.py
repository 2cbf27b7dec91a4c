"""A parallel corpus: pairs of sentences that are translations of each other, as a stream."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.text_corpus import NamedCorpus, digest_of
from attnlab.tasks.translation.pair import Pair

if TYPE_CHECKING:
    from attnlab.tasks.translation.corpora.text_files import PartFiles

HELD_OUT = 1000
HELD_OUT_PAIRS = "held out"


class Corpus(NamedCorpus):
    """Pairs of sentences; see `NamedCorpus`.

    A subclass is a dataclass, or has a constructor that calls `__post_init__`. It either overrides
    `pairs` and `digest`, or gives `_read` and `_content` and gets reversal, the limit and the check
    for emptiness from here.
    """

    source_language: str = "en"  # code of the language translated from, such as `en`
    target_language: str = "de"  # code of the language translated into
    # the corpus's own division, such as `("train", "validation", "test")`; empty where
    # `attnlab.tasks.translation.corpora.splitting` divides it
    own_parts: tuple[str, ...] = ()
    # `source` lets no source sentence stand in two parts, `pair` deals out single pairs
    split: str = "source"
    reverse: bool = False  # translate from the second language into the first
    # what makes sources comparable where one of `own_parts` is held out from train
    clean: Callable[[str], str] | None = None

    def test_files(self, name: str, cache: Path, progress: Progress | None = None) -> PartFiles:
        """The files of a test set, of a corpus that has a setting `test_set`: a value of that.

        Raises:
            RequestError: a file is missing, can't be downloaded or is not what it should be.
        """
        raise NotImplementedError

    def pairs(self, part: str | None = None) -> Iterator[Pair]:
        """The pairs of one of `own_parts`, or of all after each other; memory stays bounded.

        Raises:
            RequestError: a line that can't be read, named, or no pair at all.
        """
        if part is not None and part not in self.own_parts:
            parts = ", ".join(self.own_parts) or "none of its own"
            raise RequestError(f"{self.name}: expected one of its parts ({parts}), got {part!r}.")
        for each in [part] if part else self.own_parts or [None]:
            yield from self._pairs_of(each)

    def digest(self) -> str:
        """SHA-256 that changes with the content and with every setting that decides the pairs."""
        keys = ["limit", "reverse", "own_parts"]
        keys += [] if self.own_parts else ["validation", "test", "split"]
        return digest_of({**{key: getattr(self, key) for key in keys}, "content": self._content()})

    @property
    def dropped(self) -> dict[str, int]:
        """Pairs left out by reason, in the latest pass over each part."""
        return dict(sum(self._dropped().values(), Counter()))

    def __post_init__(self) -> None:
        """With `reverse` the second language of the files is the source."""
        if self.reverse:
            languages = self.target_language, self.source_language
            self.source_language, self.target_language = languages

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        """The pairs of a part as the files have them; counts what it leaves out in `dropped`."""
        raise NotImplementedError

    def _content(self) -> Any:
        """What identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError

    def _pairs_of(self, part: str | None) -> Iterator[Pair]:
        counts = self._dropped()[part] = Counter()
        limit = self.limit if part in (None, "train") else None
        empty = True
        for pair in itertools.islice(self._read(part, counts), limit):
            empty = False
            yield reversed_pair(pair) if self.reverse else pair
        if empty:
            where = f"{self.name}, part {part}" if part else self.name
            raise RequestError(f"{where}: expected pairs of sentences, got an empty corpus.")

    def _dropped(self) -> dict[str | None, Counter[str]]:
        return self.__dict__.setdefault("_dropped_by_part", {})


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


def reversed_pair(pair: Pair) -> Pair:
    """The pair for translating the other way, its links turned round as well."""
    links = pair.links
    if links is not None:
        turned = (link.partition("-") for link in links.split())
        links = " ".join(f"{target}-{source}" for source, _, target in turned)
    return Pair(pair.target, pair.source, links)
