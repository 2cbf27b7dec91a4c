"""Sentences whose verb agrees with its subject, or doesn't: what stands between is no help."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.text_corpus import PARTS
from attnlab.text.agreement import HELD_OUT, VERSION, Twins, drawn, held_out


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
        return held_out(self.seed)

    def _read(self, part: str) -> Iterator[Labelled]:
        if part == "train":
            found = drawn(self.seed, "train", {twins for _, twins in self._held_out})
            return itertools.islice(_labelled(found), self.size)
        first = HELD_OUT // 2 if part == "test" else 0
        return _labelled(self._held_out[first : first + HELD_OUT // 2])

    def _content(self) -> Any:
        return {"version": VERSION, "texts": self.size, "seed": self.seed}


def _labelled(pairs: Iterable[tuple[int, Twins]]) -> Iterator[Labelled]:
    for attractors, found in pairs:
        group = f"{attractors} attractor{'' if attractors == 1 else 's'}"
        yield Labelled(found.right, "right", group)
        yield Labelled(found.wrong, "wrong", group)
