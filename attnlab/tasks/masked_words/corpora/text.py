"""The user's own texts: a file, or a folder of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError, explained
from attnlab.tasks.declaration import Progress
from attnlab.tasks.masked_words.corpora.corpus import Corpus
from attnlab.tasks.text_corpus import left_out
from attnlab.text.cleaning import shortened, unwrapped
from attnlab.text.reading import decoded, is_hidden, is_text_name
from attnlab.text.sentences import sentence_spans

_LINE_END = re.compile(r"\r\n?")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".parquet", ".html", ".xml")
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")


class TextFiles(Corpus):
    """The text of a file, or of all text files below a folder (see `is_text_name`), UTF-8.

    Empty lines end a document; in a file without empty lines, each line is a document. Sentences
    are found by the rules of the language; a line break doesn't end a sentence.

    Args:
        path: the file, or the folder.
        language: the code of the texts' language, for finding sentences.
        limit: the number of documents to read, from the first on; None: all.
        validation: share of the documents for validation.
        test: share of the documents for the test.
    """

    name = "text"
    origin = "your own texts"
    license = "your own"
    needs: ClassVar[str] = "data.path=FILE.txt"

    def __init__(
        self,
        *,
        path: str | None = None,
        language: str = "en",
        limit: int | None = None,
        validation: float = 0.05,
        test: float = 0.05,
    ) -> None:
        self.path, self.language, self.limit = path, language, limit
        self.validation, self.test = validation, test
        self._texts: list[str] = []

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        if not self.path:
            raise RequestError("data.path: expected a text file, or a folder of texts, got null.")
        path = Path(self.path).expanduser()
        files = [path]
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.is_file())
            found = [file for file in found if not is_hidden(file.relative_to(path))]
            files = [file for file in found if is_text_name(file.name)]
            others = [file for file in found if not is_text_name(file.name)]
            self.notes = tuple(left_out(others, path, "text"))
        if not files:
            raise RequestError(
                f"data.path: expected a folder with files *.txt or *.md, got {path}."
            )
        if path.suffix.lower() in _TABLES and path.is_file():
            raise RequestError(
                f"data.path: expected plain text, got {path}: write its texts into a file *.txt."
            )
        self._texts = []
        for done, file in enumerate(files):
            with explained(f"data.path: {file} can't be read"):
                raw = file.read_bytes()
            self._texts.append(decoded(raw, f"data.path: {file}"))
            if progress:
                progress(done, len(files), "files")
        if not any(text.strip() for text in self._texts):
            raise RequestError(f"data.path: {path}: expected texts, got empty ones.")

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        wordless: list[str] = []
        marks = 0  # documents with marks outside of sentences
        for text in self._texts:
            text = _LINE_END.sub("\n", text).strip()
            documents = _EMPTY_LINES.split(text)
            if len(documents) == 1:
                documents = text.split("\n")
            for document in documents:
                own = unwrapped(document)
                found = [own[start:end] for start, end in sentence_spans(own, self.language)]
                if found:
                    marks += _size(own) > sum(map(_size, found))
                    yield found
                elif own:
                    wordless.append(own)
        if wordless:
            self.note(
                f"{len(wordless):,} documents without a letter or digit are left out, such as "
                f"{shortened(wordless[0], 20)!r}."
            )
        if marks:
            self.note(f"In {marks:,} documents, marks that belong to no sentence are left out.")

    def _content(self) -> Any:
        digest = hashlib.sha256("\0".join(self._texts).encode("utf-8", "surrogatepass"))
        return {"texts": digest.hexdigest(), "language": self.language}


def _size(text: str) -> int:
    """Return the number of characters other than spaces."""
    return len(text) - text.count(" ")
