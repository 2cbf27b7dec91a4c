"""A corpus of questions about texts, as a stream."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress

PARTS = ("train", "validation", "test")
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


class Corpus:
    """Questions about texts; the base of every corpus.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword arguments, and gives
    `_read` and `_content`.
    """

    name: ClassVar[str] = ""  # the corpus's name, as in `data=NAME`
    origin: ClassVar[str] = ""  # who made it, and where it is from
    license: ClassVar[str] = ""  # the terms it is given under
    fetchable: ClassVar[bool] = False  # whether it can be downloaded
    # the settings without which there is no corpus, as on the command line
    needs: ClassVar[str] = ""

    # the corpus's own division, of `PARTS`; those that are missing are held out from train
    own_parts: tuple[str, ...] = ("train",)
    limit: int | None = None  # only the first so many questions of train count; None takes all
    validation: float = 0.1  # share of the texts for validation, of what has no parts of its own
    test: float = 0.1  # share for the test

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the corpus's files, downloading them into `cache` where they are missing.

        Raises:
            RequestError: a file is missing, can't be downloaded or is not what it should be.
        """

    def location(self, cache: Path) -> Path | None:
        """Where the corpus's files lie, without opening them; None where there are none (yet)."""
        return None

    def questions(self, part: str = "train") -> Iterator[Asked]:
        """The questions of one of `own_parts`, in an order that is always the same.

        Raises:
            RequestError: there are none.
        """
        found = itertools.islice(self._read(part), self.limit if part == "train" else None)
        empty = True
        for each in found:
            empty = False
            yield each
        if empty:
            raise RequestError(f"{self.name}, part {part}: expected questions, got none.")

    def digest(self) -> str:
        """SHA-256 that changes with the content and with every setting that decides the parts."""
        keys = ("own_parts", "limit", "validation", "test")
        decisive = {**{key: getattr(self, key) for key in keys}, "content": self._content()}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def _read(self, part: str) -> Iterator[Asked]:
        raise NotImplementedError

    def _content(self) -> Any:
        """What identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError
