"""Sentences whose verb agrees with its subject, or doesn't: what stands between is no help."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from attnlab.tasks.classification.corpora.agreement_grammar import PLURAL, SINGULAR, Twins, twins
from attnlab.tasks.classification.corpora.corpus import PARTS, Corpus, Labelled

VERSION = 1  # of the grammar; another one may write other sentences
HELD_OUT = 1000  # texts
MOST_ATTRACTORS = 3
_MOST_ALIKE = 2  # nouns of the subject's number beside attractors
_SIMPLE = 0.5  # share of the sentences without attractors that have no other noun there, either


class Agreement(Corpus):
    """English sentences, half of them with the wrong number of the verb; needs no file.

    "The keys beside the cabinet near the doors are old." is right, with `is` it is wrong. Between
    subject and verb stand 0 to 3 attractors, nouns of the other number, by which the texts are
    grouped, among nouns of the subject's own. Every sentence has its broken twin in the same part,
    so that a word of the verb is all by which the classes differ. Were the twins parted, a text to
    be tested on would be, but for a word, one in train of the other class: who remembers texts
    would err by more than guessing, and who knows how they were made would know the answer.

    Where there are attractors, the number of a subject can't be told from how many nouns are
    singular and plural, nor from the last noun before the verb, which has the subject's number in
    half of the sentences. The first noun of a sentence sometimes isn't its subject, and verbs of
    relative clauses have no number. Of the sentences without attractors half are simple ones, "The
    keys are old.": from those the others are learned. Attractors, numbers of the subject and
    classes are balanced.

    Source: the number prediction and grammaticality judgment of Linzen, Dupoux, Goldberg 2016
    (arXiv 1611.01368). Difference: there the sentences are Wikipedia's, of which few have an
    attractor; here they are made.

    Args:
        texts: sentences to train on; those to validate and test on, 1,000 each, stay the same.
        seed: which sentences; the run's seed doesn't change them.
    """

    name = "agreement"
    origin = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license = "Apache-2.0, as attnlab"
    own_parts = PARTS

    def __init__(self, *, texts: int = 20_000, seed: int = 0) -> None:
        self.size, self.seed = texts, seed

    @cached_property
    def _held_out(self) -> list[tuple[int, Twins]]:
        """Validation, then test."""
        return list(itertools.islice(self._drawn("held out"), HELD_OUT))

    def _drawn(self, what: str, not_these: Collection[Twins] = ()) -> Iterator[tuple[int, Twins]]:
        """Different twins without end, each with its number of attractors."""
        draw, seen = random.Random(f"{self.seed} {what}"), {*not_these}
        balanced = itertools.product((SINGULAR, PLURAL), range(MOST_ATTRACTORS + 1))
        for number, attractors in itertools.cycle(balanced):
            between = _between(draw, number, attractors)
            found = twins(draw, number, between)
            while found in seen:
                found = twins(draw, number, between)
            seen.add(found)
            yield attractors, found

    def _read(self, part: str) -> Iterator[Labelled]:
        held_out = self._held_out
        if part == "train":
            drawn = self._drawn("train", {found for _, found in held_out})
            return itertools.islice(_labelled(drawn), self.size)
        first = HELD_OUT // 2 if part == "test" else 0
        return _labelled(held_out[first : first + HELD_OUT // 2])

    def _content(self) -> Any:
        return {"version": VERSION, "texts": self.size, "seed": self.seed}


def _between(draw: random.Random, number: int, attractors: int) -> list[int]:
    """The numbers of the nouns between subject and verb.

    With 1 to 3 attractors and, equally often, 0 to 2 other nouns, as many sentences with a nouns of
    one number and b of the other have a subject of the one number as of the other. A third has
    attractors alone; of the others three quarters end in a noun of the subject's number: in all a
    half.
    """
    if not attractors and draw.random() < _SIMPLE:
        return []
    alike = draw.randint(0, _MOST_ALIKE if attractors else MOST_ATTRACTORS)
    nouns = [number] * alike + [1 - number] * attractors
    last = number if alike and draw.random() < 0.75 else 1 - number
    if last not in nouns:
        return nouns
    nouns.remove(last)
    draw.shuffle(nouns)
    return [*nouns, last]


def _labelled(drawn: Any) -> Iterator[Labelled]:
    for attractors, found in drawn:
        group = f"{attractors} attractor{'' if attractors == 1 else 's'}"
        yield Labelled(found.right, "right", group)
        yield Labelled(found.wrong, "wrong", group)
