"""A corpus of questions about texts, and its parts: no text is in two of them."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.split import (
    check_shares,
    hold_out,
    leave_out_repeated,
    missing_parts,
    same_text,
    too_few,
)
from attnlab.tasks.text_corpus import PARTS, TextCorpus
from attnlab.text.cleaning import text_key

_WORDS = ("who", "whom", "whose", "what", "which", "where", "when", "why", "how")
_ASKING = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.IGNORECASE)


class Answer(NamedTuple):
    """The place of an answer in its text."""

    start: int  # position of its first character
    text: str  # its characters in the text

    @property
    def end(self) -> int:
        """Return the position after its last character."""
        return self.start + len(self.text)


class Asked(NamedTuple):
    """A question about a text, and its answers."""

    id: str
    question: str
    text: str
    answers: tuple[Answer, ...]  # all right answers; empty if the text has no answer

    @property
    def group(self) -> str:
        """Return the first question word, such as `where`; `other` without one."""
        found = _ASKING.search(self.question)
        return found[1].lower() if found else "other"


class Corpus(TextCorpus):
    """Questions about texts; see `TextCorpus`. Shares of parts are shares of the texts."""

    noun = "question"


def divided(corpus: Corpus, seed: int, *, ignore_case: bool = True) -> dict[str, list[Asked]]:
    """Return the questions of train, validation and test of an opened corpus, in its order.

    A missing part is held out from train by the run's seed: the share of texts in the settings
    `test` and `validation`, at least one text, with all questions about them. If two of the
    corpus's own parts have questions about one text, only the later of `PARTS` keeps its questions;
    `Corpus.left_out` and `notes` count the questions that the other part loses.

    Args:
        corpus: an opened corpus.
        seed: the run's seed.
        ignore_case: whether texts that differ only by case count as one text, because the model
            reads them in lower case.

    Raises:
        RequestError: a question can't be read, or there are too few texts.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    # A text has many questions, one after the other: its key is computed once.
    key_of_text = lru_cache(maxsize=1)(partial(text_key, ignore_case=ignore_case))

    def key(asked: Asked) -> str:
        return key_of_text(asked.text)

    leave_out_repeated(corpus, parts, key, same_text(ignore_case))
    missing = missing_parts(corpus)
    check_shares(corpus, missing, "text")
    if missing and (count := len({*map(key, parts["train"])})) <= len(missing):
        raise too_few(corpus, missing, "texts", str(count))
    hold_out(corpus, parts, missing, seed, key, size=lambda group: 1)
    if empty := next((part for part in PARTS if not parts[part]), None):
        raise RequestError(
            f"data={corpus.name}, part {empty}: expected questions, got none. Questions about "
            "texts of a later part are left out."
        )
    return {part: parts[part] for part in PARTS}
