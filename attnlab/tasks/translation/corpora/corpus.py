"""The base classes of parallel corpora: streams of sentences and their translations."""

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
    `pairs` and `digest`, or defines `_read` and `_content`; then this class reverses pairs, applies
    the limit and refuses an empty corpus.
    """

    source_language: str = "en"  # code of the language translated from, such as `en`
    target_language: str = "de"  # code of the language translated into
    # the corpus's own division, such as `("train", "validation", "test")`; empty if
    # `attnlab.tasks.translation.corpora.splitting` divides it
    own_parts: tuple[str, ...] = ()
    # `source` puts all pairs with the same source into one part, `pair` divides single pairs
    split: str = "source"
    reverse: bool = False  # translate from the second language into the first
    # the cleaning after which sources are compared, if one of `own_parts` is held out from train
    clean: Callable[[str], str] | None = None

    def test_files(self, name: str, cache: Path, progress: Progress | None = None) -> PartFiles:
        """Return the files of a test set, a value of the corpus's setting `test_set`.

        Raises:
            RequestError: a file is missing, can't be downloaded or is not what it should be.
        """
        raise NotImplementedError

    def pairs(self, part: str | None = None) -> Iterator[Pair]:
        """Yield the pairs of one of `own_parts`, or of all parts in turn, in bounded memory.

        Raises:
            RequestError: a line can't be read (the message names it), or there is no pair.
        """
        if part is not None and part not in self.own_parts:
            parts = ", ".join(self.own_parts) or "none of its own"
            raise RequestError(f"{self.name}: expected one of its parts ({parts}), got {part!r}.")
        for each in [part] if part else self.own_parts or [None]:
            yield from self._pairs_of(each)

    def digest(self) -> str:
        """Return a SHA-256 of the content and of every setting that affects the pairs."""
        keys = ["limit", "reverse", "own_parts"]
        keys += [] if self.own_parts else ["validation", "test", "split"]
        return digest_of({**{key: getattr(self, key) for key in keys}, "content": self._content()})

    @property
    def dropped(self) -> dict[str, int]:
        """The number of pairs left out for each reason, in the latest pass over each part."""
        return dict(sum(self._dropped().values(), Counter()))

    def __post_init__(self) -> None:
        """Exchange source and target language if `reverse` is set."""
        if self.reverse:
            languages = self.target_language, self.source_language
            self.source_language, self.target_language = languages

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        """Yield the pairs of a part as in the files; count pairs left out in `dropped`."""
        raise NotImplementedError

    def _content(self) -> Any:
        """Return what identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError

    def _pairs_of(self, part: str | None) -> Iterator[Pair]:
        counts = self._dropped()[part] = Counter()
        limit = self.limit if part in (None, "train") else None
        empty = True
        for pair in itertools.islice(self._read(part, counts), limit):
            empty = False
            yield reversed_pair(pair) if self.reverse else pair
        self._check_unchanged()
        if empty:
            where = f"{self.name}, part {part}" if part else self.name
            raise RequestError(f"{where}: expected pairs of sentences, got an empty corpus.")

    def _check_unchanged(self) -> None:
        """Raise `RequestError` if a file has changed since `open`."""

    def _dropped(self) -> dict[str | None, Counter[str]]:
        return self.__dict__.setdefault("_dropped_by_part", {})


class DrawnCorpus(Corpus):
    """A corpus that a subclass draws: training pairs, and 1,000 each to validate and to test.

    Args:
        pairs: the number of training pairs.
        seed: draws the pairs; the run's seed doesn't change them.
        settings: the other settings that affect them.
    """

    license = "Apache-2.0, as attnlab"
    own_parts = ("train", "validation", "test")

    def __init__(self, pairs: int, seed: int, **settings: int) -> None:
        self.size, self.seed, self._settings = pairs, seed, settings

    def _drawn(self, what: str) -> Iterator[Pair]:
        """Draw pairs without end, by the seed and `what`: `HELD_OUT_PAIRS` or `train`."""
        raise NotImplementedError

    @cached_property
    def _held_out(self) -> list[Pair]:
        """The pairs of validation, then those of test; all sources differ."""
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
    """Exchange source and target of a pair, also in its links."""
    links = pair.links
    if links is not None:
        turned = (link.partition("-") for link in links.split())
        links = " ".join(f"{target}-{source}" for source, _, target in turned)
    return Pair(pair.target, pair.source, links)
