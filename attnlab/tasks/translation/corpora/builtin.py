"""The built-in corpus: English and German from a grammar, with gold word alignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.grammar.linked import Translation
from attnlab.tasks.translation.corpora.grammar.sentences import BEYOND, KINDS, sentences
from attnlab.tasks.translation.pair import Pair

VERSION = 2  # of the grammar; part of the digest, because other versions write other sentences
HELD_OUT = 1000
_WORDS = range(3, 17)  # words of a sentence, without the mark at its end
_WORDS_BEYOND = range(3, 26)


class Builtin(Corpus):
    """Sentences from a synchronous grammar; needs no file.

    A structure, such as "a clause with this verb, subject and object in the perfect tense", is
    written in English and in German at once, and each German word records the English words that
    it translates. Every sentence has exactly one translation in the corpus, in both directions.

    Its parts are `train`; `validation` and `test`, 1,000 other sentences each from the same
    distribution, which don't depend on `pairs`; and `compositions`, 1,000 sentences with more than
    any in train: a third clause, a third adjective before a noun, or an owner's owner.
    """

    name = "builtin"
    origin = "a grammar of this project"
    license = "Apache-2.0, as attnlab"
    own_parts = ("train", "validation", "test", "compositions")

    def __init__(self, *, pairs: int = 20_000, seed: int = 0, reverse: bool = False) -> None:
        self.size, self.seed, self.reverse = pairs, seed, reverse
        self.__post_init__()

    @cached_property
    def _usual(self) -> list[Pair]:
        """The pairs of validation, test and train, in this order."""
        size = 2 * HELD_OUT + self.size
        return _distinct(sentences(KINDS, f"{self.seed}"), size, _WORDS)

    @cached_property
    def _beyond(self) -> list[Pair]:
        return _distinct(sentences(BEYOND, f"{self.seed} beyond"), HELD_OUT, _WORDS_BEYOND)

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        if part == "compositions":
            return iter(self._beyond)
        if part == "train":
            return iter(self._usual[2 * HELD_OUT :])
        start = HELD_OUT if part == "test" else 0
        return iter(self._usual[start : start + HELD_OUT])

    def _content(self) -> dict[str, int]:
        return {"version": VERSION, "pairs": self.size, "seed": self.seed}


def _distinct(stream: Iterator[Translation], size: int, words: range) -> list[Pair]:
    """Return the first `size` different pairs whose sides have a number of words in `words`."""
    pairs: dict[str, Pair] = {}
    for english, german, links in stream:
        if english in pairs:
            continue
        marks = links[-1]  # the two marks at the ends
        if marks[0] in words and marks[1] in words:
            text = " ".join(f"{source}-{target}" for source, target in links)
            pairs[english] = Pair(english, german, text)
            if len(pairs) == size:
                break
    return list(pairs.values())
