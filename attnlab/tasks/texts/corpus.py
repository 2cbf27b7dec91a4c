"""A corpus of texts without labels: documents of sentences, or one long text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.split import check_shares, hold_out, too_few
from attnlab.tasks.text_corpus import PARTS, TextCorpus
from attnlab.text.cleaning import shortened, text_key
from attnlab.text.raw_text import RawText

MOST_HELD_OUT = 10_000_000  # bytes of a long text in validation, and in the test
_BLANK = bytes(byte in b" \t\n\r\v\f" for byte in range(256))  # 1 for white space


@dataclass
class LeftOut:
    """Counts of what the documents of a text leave out, which grow while they are read."""

    wordless: int = 0  # documents without a letter or digit
    marks: int = 0  # documents with marks outside of sentences
    example: str = ""  # one of `wordless`

    @property
    def notes(self) -> list[str]:
        """Return a sentence per count that isn't zero."""
        notes = []
        if self.wordless:
            such = f", such as {shortened(self.example, 20)!r}" if self.example else ""
            notes.append(
                f"{self.wordless:,} documents without a letter or digit are left out{such}."
            )
        if self.marks:
            notes.append(
                f"In {self.marks:,} documents, marks that belong to no sentence are left out."
            )
        return notes


class Piece(Protocol):
    """Whole documents of a long text; it can be pickled."""

    @property
    def text(self) -> bytes: ...  # noqa: D102

    def documents(self, left_out: LeftOut) -> list[Sequence[str]]:
        """Return the documents, each a list of sentences; raises `RequestError`."""


class Corpus(TextCorpus):
    """Documents, each a list of sentences; see `TextCorpus`."""

    noun = "document"
    has_sentences = True  # as `items` promises; otherwise an item is a piece of a long text
    is_long = False  # whether `pieces` is to be read in place of `items`
    is_too_long = False  # whether nothing may read all `items` into memory
    validation = 0.05
    test = 0.05

    def raw(self) -> dict[str, RawText]:
        """Return the whole text of each part of an opened corpus, for a model that reads on.

        It is UTF-8, with a line per document, unless a corpus says otherwise.

        Raises:
            RequestError: the corpus can't be read or divided.
        """
        parts = {part: map(" ".join, self.items(part)) for part in self.own_parts}
        return {
            part: RawText("".join(f"{each}\n" for each in own).encode())
            for part, own in parts.items()
        }

    @property
    def text_size(self) -> int:
        """Return the number of bytes of all parts of a long text."""
        raise NotImplementedError

    def pieces(self, part: str) -> Iterator[Piece]:
        """Yield the documents of one of `own_parts` of a long text, many at a time.

        Raises:
            RequestError: a file can't be read.
        """
        raise NotImplementedError

    def check_text(self) -> None:
        """Raise `RequestError`, which names the file, unless an opened corpus is UTF-8 text."""

    def check_unchanged(self) -> None:
        """Raise `RequestError` if a file has changed since the corpus was opened."""

    def words(self, text: bytes) -> int:
        """Return the number of words of whole lines, for the perplexity per word.

        Words are divided by white space, unless a corpus has another convention.
        """
        blank = np.frombuffer(text.translate(_BLANK), bool)
        return int(np.count_nonzero(blank[:-1] & ~blank[1:])) + (text[:1].strip() != b"")


def divided(
    corpus: Corpus, seed: int, *, ignore_case: bool = True
) -> dict[str, list[Sequence[str]]]:
    """Return the documents of train, validation and test of an opened corpus, in its order.

    A missing part is held out from train by the seed: the share in the corpus's settings
    `validation` and `test`, at least one document. Repeated documents of train are left out;
    `Corpus.notes` gives their number.

    Args:
        corpus: an opened corpus.
        seed: the run's seed.
        ignore_case: whether documents that differ only by case count as one document, because the
            model reads them in lower case.

    Raises:
        RequestError: there are too few documents, or one can't be read.
    """
    if corpus.is_too_long:
        raise RequestError(
            f"data={corpus.name}: expected a text that fits into memory, got {corpus.text_size:,} "
            "bytes."
        )
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    missing = [part for part in PARTS if part not in parts]  # validation is filled first
    different = dict.fromkeys(map(tuple, parts["train"]))
    if repeated := len(parts["train"]) - len(different):
        corpus.left_out = {"train": repeated}
        corpus.note(
            f"{repeated:,} of {len(parts['train']):,} documents are left out: they repeat another "
            "one word for word."
        )
    parts["train"] = [*different]

    def key(document: Sequence[str]) -> str:
        return text_key(" ".join(document), ignore_case=ignore_case)

    if (count := len({*map(key, different)})) <= len(missing):
        raise too_few(corpus, missing, "documents", f"{count}; empty lines end a document")
    check_shares(corpus, missing, corpus.noun)
    hold_out(corpus, parts, missing, seed, key, order="\n".join, size=lambda group: 1)
    return {part: parts[part] for part in PARTS}


def by_position(text: RawText, validation: float, test: float) -> dict[str, RawText]:
    """Cut a text into train, validation and test, in this order, by their shares of its bytes.

    A character of several bytes is not cut.
    """
    size = len(text)
    ends = [round(size * (1 - validation - test)), round(size * (1 - test))]
    ends = [text.character_start(end) for end in ends]
    cuts = pairwise([0, *ends, size])
    return {part: text.cut(*cut) for part, cut in zip(PARTS, cuts, strict=True)}
