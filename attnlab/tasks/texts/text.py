"""The user's own texts: a file, or a folder of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError, explained
from attnlab.tasks.declaration import Progress
from attnlab.tasks.split import check_shares
from attnlab.tasks.text_corpus import left_out, listed, shown
from attnlab.tasks.texts.corpus import Corpus, by_position
from attnlab.text.cleaning import shortened, unwrapped
from attnlab.text.reading import decoded, encoding_of, is_hidden, is_text_name
from attnlab.text.sentences import sentence_spans

_LINE_END = re.compile(r"\r\n?")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".parquet", ".html", ".xml")
_MOST_BYTES = 1_000_000_000
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
        self._files: dict[Path, bytes] = {}

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
        if (size := sum(file.stat().st_size for file in files if file.exists())) > _MOST_BYTES:
            most = f"{_MOST_BYTES:,} bytes"
            raise RequestError(
                f"data.path: expected at most {most} of text, got {size:,} in {path}."
            )
        self._files = {}
        for done, file in enumerate(files):
            with explained(f"data.path: {file} can't be read"):
                self._files[file] = file.read_bytes()
            if progress:
                progress(done, len(files), "files")
        empty = [file for file, raw in self._files.items() if not raw.strip()]
        if len(empty) == len(files):
            raise RequestError(f"data.path: {path}: expected text, got only empty files.")
        if empty:
            are = "1 file is" if len(empty) == 1 else f"{len(empty):,} files are"
            self.note(f"{are} empty and left out: {listed(shown(each, path) for each in empty)}.")

    def raw(self) -> dict[str, bytes]:
        """Return the bytes of each part: the files one after the other, cut by the shares.

        The parts follow each other: train, validation, test. A line break ends each file. Files in
        UTF-16 become UTF-8.

        Raises:
            RequestError: the shares leave nothing to train on, or UTF-16 is damaged.
        """
        check_shares(self, ("validation", "test"), "text")
        texts = (_as_utf8(raw).removesuffix(b"\n") for raw in self._files.values() if raw.strip())
        whole = b"\n".join(texts)
        if self.limit:
            between = b"\n\n" if b"\n\n" in whole else b"\n"
            whole = between.join(whole.split(between)[: self.limit])
        return by_position(whole + b"\n", self.validation, self.test)

    def check_text(self) -> None:  # noqa: D102
        self._texts()

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        path = Path(str(self.path))
        if path.suffix.lower() in _TABLES:
            raise RequestError(
                f"data.path: expected plain text, got {path}: write its texts into a file *.txt."
            )
        return read_documents(self._texts(), self.language, self.note)

    def _content(self) -> Any:
        digest = hashlib.sha256(b"\0".join(_as_utf8(raw) for raw in self._files.values()))
        return {"texts": digest.hexdigest(), "language": self.language}

    def _texts(self) -> list[str]:
        return [decoded(raw, f"data.path: {file}") for file, raw in self._files.items()]


def read_documents(
    texts: Iterable[str], language: str, note: Callable[[str], None]
) -> Iterator[Sequence[str]]:
    """Yield the documents of texts, each a list of sentences; see `TextFiles`.

    Args:
        texts: whole texts.
        language: the code of their language.
        note: takes a sentence on what is left out.
    """
    wordless: list[str] = []
    marks = 0  # documents with marks outside of sentences
    for text in texts:
        text = _LINE_END.sub("\n", text).strip()
        documents = _EMPTY_LINES.split(text)
        if len(documents) == 1:
            documents = text.split("\n")
        for document in documents:
            own = unwrapped(document)
            found = [own[start:end] for start, end in sentence_spans(own, language)]
            if found:
                marks += _size(own) > sum(map(_size, found))
                yield found
            elif own:
                wordless.append(own)
    if wordless:
        note(
            f"{len(wordless):,} documents without a letter or digit are left out, such as "
            f"{shortened(wordless[0], 20)!r}."
        )
    if marks:
        note(f"In {marks:,} documents, marks that belong to no sentence are left out.")


def _as_utf8(raw: bytes) -> bytes:
    """Return a text without its byte order mark; UTF-16 becomes UTF-8, other bytes stay."""
    return decoded(raw, "data.path").encode() if encoding_of(raw) != "utf-8" else raw


def _size(text: str) -> int:
    """Return the number of characters other than spaces."""
    return len(text) - text.count(" ")
