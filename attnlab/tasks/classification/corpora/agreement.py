"""The corpus `agreement`: sentences whose verb agrees with its subject, or doesn't."""

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

    "The keys to the cabinet near the doors are old." is right; with `is` it is wrong. Between
    subject and verb are 0 to 3 attractors, which are nouns of the other number, and nouns of the
    subject's number. The number of attractors is the text's group. Each sentence and its wrong twin
    are in the same part, so the classes differ only in a form of the verb. If the twins were in
    different parts, a test text would differ in one word from a training text of the other class:
    a model that memorizes texts would be worse than guessing, and one that finds the twin in train
    would know the answer.

    With attractors, the subject's number doesn't follow from the counts of singular and plural
    nouns, nor from the last noun before the verb, which has the subject's number in half of the
    sentences. The first noun of a sentence isn't always its subject, and the verbs of relative
    clauses have no number. Half of the sentences without attractors are simple, such as "The keys
    are old.": from these a model learns the rule. Attractors, numbers of the subject and classes
    are balanced.

    Source: the number prediction and grammaticality judgment of Linzen, Dupoux, Goldberg 2016
    (arXiv 1611.01368). Difference: the paper's sentences are from Wikipedia, where few have an
    attractor; these are generated.

    Args:
        texts: the number of training sentences; the 1,000 for validation and the 1,000 for the test
            don't depend on it.
        seed: draws the sentences; the run's seed doesn't change them.
    """

    name = "agreement"
    origin = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license = "Apache-2.0, as attnlab"
    own_parts = PARTS

    def __init__(self, *, texts: int = 20_000, seed: int = 0) -> None:
        self.size, self.seed = texts, seed

    @cached_property
    def _held_out(self) -> list[tuple[int, Twins]]:
        """The pairs of validation, then those of test."""
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
