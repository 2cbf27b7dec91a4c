"""The pickled array of sentence pairs that the book's programs write and read."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.files import existing_file
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.text_files import EMPTY_SIDE, scan, shortened
from attnlab.tasks.translation.pair import Pair
from attnlab.text.safe_pickle import read_string_array

_COLUMNS = (2, 3)


@dataclass(kw_only=True, eq=False)
class Book(Corpus):
    """`english-german-both.pkl` and similar files: a NumPy array of strings, a row per pair.

    The first column is English, the second German; a third, the attribution, is not read. Reading
    the file runs no code that may be in it; see `safe_pickle`.
    """

    name = "book"
    origin = "'Building Transformer Models with Attention', chapter 13, from Tatoeba"
    license = "Tatoeba's: CC-BY 2.0 FR; name tatoeba.org and manythings.org/anki as the source"
    needs = "data.path=FILE.pkl"

    path: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    split: str = "source"
    reverse: bool = False

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the array; see `Corpus.open`."""
        if not self.path:
            raise RequestError("data.path: expected the book's pickle file, got null.")
        self.file = existing_file(self.path, "data.path")
        self.array = read_string_array(self.file)
        if self.array.shape[1] not in _COLUMNS:
            raise RequestError(
                f"{self.file}: expected an array of 2 or 3 columns (English, German), "
                f"got {self.array.shape[1]}."
            )

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        for row in range(len(self.array)):
            source, target = (self._text(row, column) for column in range(2))
            if source and target:
                yield Pair(source, target)
            else:
                dropped[EMPTY_SIDE] += 1

    def _text(self, row: int, column: int) -> str:
        try:
            text = str(self.array[row, column])
            text.encode("utf-8")
        except ValueError as error:  # a number that isn't a character
            raise RequestError(
                f"{self.file}: row {row + 1}: the sentence is not valid Unicode: {error}."
            ) from error
        if any(mark in text for mark in "\0\n"):
            raise RequestError(
                f"{self.file}: row {row + 1}: expected a sentence on one line, got "
                f"{shortened(text)}."
            )
        return unicodedata.normalize("NFC", text).strip()

    def _content(self) -> Any:
        return scan(self.file).digest
