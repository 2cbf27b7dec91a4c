"""Passages that were made, with questions that one sentence among several answers."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Answer, Asked, Corpus
from attnlab.tasks.answering.corpora.passages_grammar import QUESTION_WORDS, Told, told
from attnlab.tasks.text_corpus import PARTS

VERSION = 3  # of the grammar; another one may write other passages
HELD_OUT = 250  # passages for validation, and as many for the test
_EACH = len(QUESTION_WORDS)  # questions about a passage


class Passages(Corpus):
    """Passages of four events, and who, whom, where and when about them; needs no file.

    "Anna met the old sailor in the harbour on Monday. At noon, the judge was called by Anna ..."
    Other sentences also have some of the words of a question, but only one has all of them: who
    is found by verb and patient, whom by agent and verb, where and when by all three. So the
    sentence can't be found by a single word, and without the question no answer is likelier than
    three others. Sentences are active or passive; places and times come first or last. People
    have one of some 600 names, most of which are seen a few dozen times.

    Parts share no passage. Answers are copied from the text unchanged.

    Args:
        questions: to train on, four about each passage; those to validate and test on, 1,000 each,
            stay the same.
        seed: which passages; the run's seed doesn't change them.
    """

    name = "passages"
    origin = "a grammar of this project"
    license = "Apache-2.0, as attnlab"
    own_parts = PARTS

    def __init__(self, *, questions: int = 8_000, seed: int = 0) -> None:
        self.size, self.seed = questions, seed

    @cached_property
    def _held_out(self) -> list[Told]:
        """Validation, then test."""
        drawn = self._drawn("held out")
        return [next(drawn) for _ in range(2 * HELD_OUT)]

    def _drawn(self, what: str, not_these: Collection[str] = ()) -> Iterator[Told]:
        """Different passages without end."""
        draw, seen = random.Random(f"{self.seed} {what}"), {*not_these}
        while True:
            found = told(draw)
            if found.text not in seen:
                seen.add(found.text)
                yield found

    def _read(self, part: str) -> Iterator[Asked]:
        held_out = self._held_out
        if part != "train":
            first = HELD_OUT if part == "test" else 0
            yield from _asked(part, iter(held_out[first : first + HELD_OUT]))
            return
        questions = _asked(part, self._drawn("train", {each.text for each in held_out}))
        for _ in range(self.size):
            yield next(questions)

    def _content(self) -> Any:
        return {"version": VERSION, "questions": self.size, "seed": self.seed}


def _asked(part: str, drawn: Iterator[Told]) -> Iterator[Asked]:
    for number, passage in enumerate(drawn):
        for place, (question, answer, start) in enumerate(passage.questions):
            name = f"{part}-{number * _EACH + place}"
            yield Asked(name, question, passage.text, (Answer(start, answer),))
