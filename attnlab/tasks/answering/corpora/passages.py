"""The corpus `passages`: generated texts, with questions that one of several sentences answers."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Answer, Asked, Corpus
from attnlab.tasks.answering.corpora.passages_grammar import QUESTION_WORDS, Passage, passage
from attnlab.tasks.text_corpus import PARTS

VERSION = 3  # of the grammar; other versions write other passages
HELD_OUT = 250  # passages for validation, and as many for the test
_EACH = len(QUESTION_WORDS)  # questions about a passage


class Passages(Corpus):
    """Passages of four events, with the questions who, whom, where and when; needs no file.

    "Anna met the old sailor in the harbour on Monday. At noon, the judge was called by Anna ..."
    Several sentences have some words of a question, but only one has all of them. "Who" names the
    verb and the patient, "whom" the agent and the verb, "where" and "when" all three. So no single
    word is enough to find the sentence, and without the question four answers are equally likely.
    Sentences are active or passive; places and times are at the start or at the end. There are some
    600 names of people, most of which occur a few dozen times.

    Parts share no passage. Answers are copied from the text unchanged.

    Args:
        questions: the number of training questions, four per passage; the 1,000 for validation and
            the 1,000 for the test don't depend on it.
        seed: draws the passages; the run's seed doesn't change them.
    """

    name = "passages"
    origin = "a grammar of this project"
    license = "Apache-2.0, as attnlab"
    own_parts = PARTS

    def __init__(self, *, questions: int = 8_000, seed: int = 0) -> None:
        self.size, self.seed = questions, seed

    @cached_property
    def _held_out(self) -> list[Passage]:
        """The passages of validation, then those of test."""
        drawn = self._drawn("held out")
        return [next(drawn) for _ in range(2 * HELD_OUT)]

    def _drawn(self, what: str, not_these: Collection[str] = ()) -> Iterator[Passage]:
        """Draw different passages without end."""
        draw, seen = random.Random(f"{self.seed} {what}"), {*not_these}
        while True:
            found = passage(draw)
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


def _asked(part: str, drawn: Iterator[Passage]) -> Iterator[Asked]:
    for number, (text, questions) in enumerate(drawn):
        for place, (question, answer, start) in enumerate(questions):
            name = f"{part}-{number * _EACH + place}"
            yield Asked(name, question, text, (Answer(start, answer),))
