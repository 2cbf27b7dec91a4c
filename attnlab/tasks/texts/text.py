"""The user's own texts: a file, or a folder of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from attnlab.errors import RequestError, explained
from attnlab.tasks.declaration import Progress
from attnlab.tasks.split import check_shares
from attnlab.tasks.text_corpus import left_out, listed, shown
from attnlab.tasks.texts.corpus import MOST_HELD_OUT, Corpus, LeftOut, by_position
from attnlab.text.cleaning import unwrapped
from attnlab.text.raw_text import RawText, changed, state_of
from attnlab.text.reading import decoded, encoding_of, is_hidden, is_text_name
from attnlab.text.sentences import sentence_spans

_LINE_END = re.compile(r"\r\n?")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".parquet", ".html", ".xml")
# Bytes of text whose words are read into memory: as Python's objects they take 15 to 50 times as
# many.
_IN_MEMORY = 1 << 24
_MOST_BYTES = 1_000_000_000  # of texts that may be in memory, for requests of all documents
_PIECE = 1 << 22  # bytes of a piece
_MARK = b"\xef\xbb\xbf"
_LONGEST_DOCUMENT = 1 << 23  # bytes
_EMPTY_LINE = re.compile(rb"\n[^\S\n]*\n\s*")
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
        self._files: dict[Path, bytes | Path] = {}  # a file of much text stays on the disk
        self._states: dict[Path, tuple[int, ...]] = {}

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
        with explained(f"data.path: {path} can't be read"):
            self._states = {file: state_of(file) for file in files}
            is_long = self.text_size > _IN_MEMORY
            for done, file in enumerate(files):
                self._files[file] = file if is_long else file.read_bytes()
                if progress:
                    progress(done, len(files), "files")
        empty = [file for file, content in self._files.items() if _is_blank(content)]
        if len(empty) == len(files):
            raise RequestError(f"data.path: {path}: expected text, got only empty files.")
        if empty:
            are = "1 file is" if len(empty) == 1 else f"{len(empty):,} files are"
            self.note(f"{are} empty and left out: {listed(shown(each, path) for each in empty)}.")

    def raw(self) -> dict[str, RawText]:
        """Return the bytes of each part: the files one after the other, cut by the shares.

        The parts follow each other: train, validation, test. A line break ends each file. Files in
        UTF-16 become UTF-8. Of more than a gigabyte, at most 10 MB each are held out.

        Raises:
            RequestError: the shares leave nothing to train on, or UTF-16 is damaged.
        """
        check_shares(self, ("validation", "test"), "text")
        texts = []
        for file, content in self._files.items():
            if not _is_blank(content):
                text = _as_utf8(content, f"data.path: {file}")
                texts.append(text)
                if bytes(text.cut(len(text) - 1, len(text))) != b"\n":
                    texts.append(RawText(b"\n"))
        whole = RawText.joined(texts)
        if self.limit:
            start = bytes(whole.cut(0, _MOST_BYTES)).removesuffix(b"\n")
            between = b"\n\n" if b"\n\n" in start else b"\n"
            whole = RawText(between.join(start.split(between)[: self.limit]), b"\n")
        shares = [self.validation, self.test]
        if len(whole) > _MOST_BYTES:
            shares = [min(share, MOST_HELD_OUT / len(whole)) for share in shares]
            validation, test = (f"{round(share * len(whole)):,}" for share in shares)
            self.note(
                f"Of {len(whole):,} bytes of text, {validation} are held out for validation and "
                f"{test} for the test."
            )
        return by_position(whole, *shares)

    def check_text(self) -> None:  # noqa: D102
        for file, content in self._files.items():
            where, line = f"data.path: {file}", 1
            for block in _as_utf8(content, where).blocks():
                decoded(block, where, first_line=line)
                line += block.count(b"\n")

    def check_unchanged(self) -> None:  # noqa: D102
        for file, state in self._states.items():
            with explained(f"data.path: {file} can't be read any more"):
                if state_of(file) != state:
                    raise changed(file)

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        path = Path(str(self.path))
        if path.suffix.lower() in _TABLES:
            raise RequestError(
                f"data.path: expected plain text, got {path}: write its texts into a file *.txt."
            )
        left_out = LeftOut()
        if self.text_size > _IN_MEMORY:
            for piece in self.pieces(part):
                yield from piece.documents(left_out)
        else:
            texts = (
                decoded(content, f"data.path: {file}")
                for file, content in self._files.items()
                if isinstance(content, bytes)
            )
            yield from read_documents(texts, self.language, left_out)
        self.note(*left_out.notes)

    @property
    def is_long(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.text_size > _IN_MEMORY and self.limit is None

    @property
    def is_too_long(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.text_size > _MOST_BYTES and self.limit is None

    @property
    def text_size(self) -> int:  # noqa: D102
        return sum(size for size, *_ in self._states.values())

    def pieces(self, part: str) -> Iterator[Piece]:  # noqa: D102
        wheres = {f"data.path: {file}": content for file, content in self._files.items()}
        texts = ((_as_utf8(content, where), where) for where, content in wheres.items())
        yield from _joined(
            piece for text, where in texts for piece in pieces_of(text, self.language, where)
        )

    def _content(self) -> Any:
        digest = hashlib.sha256()
        for number, (file, content) in enumerate(self._files.items()):
            digest.update(b"\0" * (number > 0))
            for block in _as_utf8(content, f"data.path: {file}").blocks():
                digest.update(block)
        return {"texts": digest.hexdigest(), "language": self.language}


class Piece(NamedTuple):
    """Whole documents of a long text; see `corpus.Piece`."""

    text: bytes
    by_line: bool  # whether each line is a document
    language: str
    where: str  # for messages

    def documents(self, left_out: LeftOut) -> list[Sequence[str]]:  # noqa: D102
        texts = [decoded(self.text, self.where)]
        return [*read_documents(texts, self.language, left_out, self.by_line)]


def pieces_of(text: RawText, language: str, where: str) -> Iterator[Piece]:
    """Yield a long text, cut between documents; one of over 8 MiB is cut at a line break."""
    by_line = not _has_empty_line(text)
    held = b""
    for block in text.blocks(_PIECE, _LONGEST_DOCUMENT):
        whole = held + block
        end = len(whole)
        if not by_line:
            # What was held has no empty line, but may end with the beginning of one.
            first = len(held.rstrip())
            ends = [found.end() for found in _EMPTY_LINE.finditer(whole, first)]
            end = ends[-1] if ends else len(whole) if len(whole) > _LONGEST_DOCUMENT else 0
        if end:
            yield Piece(whole[:end], by_line, language, where)
        held = whole[end:]
    if held:
        yield Piece(held, by_line, language, where)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join small pieces, because each one costs time of its own."""
    held: list[Piece] = []
    size = 0
    for piece in pieces:
        size += len(piece.text)
        fits = size <= _PIECE and held and piece.by_line == held[0].by_line
        if held and not fits:
            yield _as_one(held)
            held, size = [], len(piece.text)
        held.append(piece)
    if held:
        yield _as_one(held)


def _as_one(pieces: Sequence[Piece]) -> Piece:
    first, *others = pieces
    if not others:
        return first
    between = b"\n" if first.by_line else b"\n\n"
    text = between.join(piece.text for piece in pieces)
    after = " and the files after it" * (others[-1].where != first.where)
    return first._replace(text=text, where=f"{first.where}{after}")


def _has_empty_line(text: RawText) -> bool:
    """Return whether an empty line is between two lines that aren't empty."""
    space, begun = b"", False  # white space at the end of what was read
    for block in text.blocks():
        block = space + block if begun else block.lstrip()
        found = block.rstrip()
        if _EMPTY_LINE.search(found):
            return True
        space, begun = block[len(found) :], begun or bool(found)
    return False


def read_documents(
    texts: Iterable[str], language: str, left_out: LeftOut, by_line: bool | None = None
) -> Iterator[Sequence[str]]:
    """Yield the documents of texts, each a list of sentences; see `TextFiles`.

    Args:
        texts: whole texts.
        language: the code of their language.
        left_out: counts what is left out.
        by_line: whether each line is a document; None: in texts without empty lines.
    """
    for text in texts:
        text = _LINE_END.sub("\n", text).strip()
        documents = text.split("\n") if by_line else _EMPTY_LINES.split(text)
        if len(documents) == 1 and by_line is None:
            documents = text.split("\n")
        for document in documents:
            own = unwrapped(document)
            found = [own[start:end] for start, end in sentence_spans(own, language)]
            if found:
                left_out.marks += _size(own) > sum(map(_size, found))
                yield found
            elif own:
                left_out.wordless += 1
                left_out.example = left_out.example or own


def _as_utf8(content: bytes | Path, where: str) -> RawText:
    """Return a text without its byte order mark; UTF-16 becomes UTF-8, other bytes stay."""
    text = RawText(content)
    encoding = encoding_of(bytes(text.cut(0, len(_MARK))))
    if encoding == "utf-16":
        return RawText(decoded(bytes(text), where).encode())
    return text.cut(len(_MARK), len(text)) if encoding == "utf-8-sig" else text


def _is_blank(content: bytes | Path) -> bool:
    return all(not block.strip() for block in RawText(content).blocks())


def _size(text: str) -> int:
    """Return the number of characters other than spaces."""
    return len(text) - text.count(" ")
