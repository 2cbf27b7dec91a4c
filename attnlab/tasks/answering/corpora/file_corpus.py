"""Corpora from files of SQuAD's form: read once, when they are opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.text_corpus import PARTS


class FileCorpus(Corpus):
    """A corpus from files; `open` of the subclass calls `set_questions`."""

    def set_questions(self, parts: Mapping[str, Sequence[Asked]]) -> None:
        """Take the questions of the parts that have files, `train` among them."""
        self.parts = parts
        self.own_parts = tuple(part for part in PARTS if part in parts)

    def _read(self, part: str) -> Iterator[Asked]:
        return iter(self.parts[part])

    def _content(self) -> Any:
        state = hashlib.sha256()
        for part in self.own_parts:
            for each in self.parts[part]:
                state.update(json.dumps([part, *each]).encode())
        return state.hexdigest()


def existing_file(path: str | None, key: str, what: str) -> Path:
    """The file that a setting names; raises `RequestError` where there is none."""
    found = Path(path).expanduser() if path else None
    if found and found.is_file():
        return found
    raise RequestError(f"{key}: expected {what}, got {path or 'null'}.")
