"""A corpus of questions about texts, as a stream."""

from __future__ import annotations

import re
from typing import NamedTuple

from attnlab.tasks.text_corpus import TextCorpus

_WORDS = ("who", "whom", "whose", "what", "which", "where", "when", "why", "how")
_ASKING = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.IGNORECASE)


class Answer(NamedTuple):
    """Where an answer stands in its text."""

    start: int  # the place of its first character
    text: str  # its characters as they stand there

    @property
    def end(self) -> int:
        """The place behind its last character."""
        return self.start + len(self.text)


class Asked(NamedTuple):
    """A question about a text, and its answers."""

    id: str
    question: str
    text: str
    answers: tuple[Answer, ...]  # all that are right; none where the text has no answer

    @property
    def group(self) -> str:
        """The question's first word that asks, such as `where`; `other` without one."""
        found = _ASKING.search(self.question)
        return found[1].lower() if found else "other"


class Corpus(TextCorpus):
    """Questions about texts; see `TextCorpus`. Shares of it are shares of the texts."""

    noun = "question"
