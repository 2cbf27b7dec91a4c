"""Read texts: decode bytes, and read texts larger than memory in blocks."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from attnlab.errors import RequestError, explained

_LONGEST_TEXT = 1_000_000  # bytes
_MOST_FITTED = 200_000_000  # bytes on which a tokenizer is fitted
_BLOCK = 1 << 24  # bytes of a block
_LONGEST = 1 << 27  # bytes of a line that isn't cut
_MOST_OF_CHARACTER = 4  # bytes
_STANDARD_INPUT = Path("-")
_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
# Files and folders that file managers, file systems and Python create.
_OF_SYSTEMS = frozenset(
    "thumbs.db ehthumbs.db desktop.ini icon\r @eadir $recycle.bin lost+found __pycache__".split(" ")
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Block = TypeVar("Block", str, bytes)


def decode_text(raw: bytes, where: str, encoding: str | None = None, first_line: int = 1) -> str:
    """Decode bytes: by `encoding`, or as UTF-8, or as UTF-16 with a byte order mark.

    `first_line` is the number of the bytes' first line, for messages.

    Raises:
        RequestError: the bytes aren't such a text; the message starts with `where`.
    """
    if encoding is None:
        marked = "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"
        encoding = "utf-16" if raw[:2] in _UTF16 else marked
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = first_line + raw[: error.start].count(b"\n")
        name = _NAMES.get(encoding, encoding)
        raise RequestError(
            f"{where}: expected {name} text, got the byte 0x{raw[error.start]:02x} in line {line}."
        ) from error
    text = text.removeprefix("\ufeff")  # the mark, if `encoding` doesn't remove it
    if "\0" in text:
        raise RequestError(f"{where}: expected text, got a zero byte.")
    return text


def printable(name: str) -> str:
    r"""Return a file name for messages; bytes that aren't UTF-8 become `\xe9`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_hidden(path: PurePath) -> bool:
    """Whether a file is hidden, or was created by a file manager or a file system."""
    folders = (part for part in path.parts if part not in (".", ".."))
    return any(
        part.startswith((".", "__MACOSX")) or part.casefold() in _OF_SYSTEMS for part in folders
    )


def check_utf8(text: str, where: str) -> None:
    """Raise `RequestError` unless a text, such as a command-line argument, is UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:  # Python shows other bytes as lone surrogates
        raise RequestError(f"{where}: expected UTF-8, got {text!a}.") from error


def read_text(path: Path, argument: str) -> str:
    """Read the text of a file, or of standard input (`-`).

    Args:
        path: the path of the file.
        argument: the command-line argument with the path, for messages.

    Raises:
        RequestError: the file can't be read, isn't text, is empty, or has over 1,000,000 bytes.
    """
    where = f"{argument}: {path}" if path != _STANDARD_INPUT else f"{argument}: standard input"
    with explained(f"{where} can't be read"):
        if path == _STANDARD_INPUT:
            raw = sys.stdin.buffer.read(_LONGEST_TEXT + 1) if sys.stdin else b""
        else:
            with open(path, "rb") as file:
                raw = file.read(_LONGEST_TEXT + 1)
    if len(raw) > _LONGEST_TEXT:
        raise RequestError(
            f"{where}: expected a text of at most {_LONGEST_TEXT:,} bytes, got more."
        )
    text = decode_text(raw, where)
    if not text.strip():
        raise RequestError(f"{where}: expected a text, got an empty one.")
    return text


def sample_blocks(blocks: Iterable[Block], total: int) -> Iterator[Block]:
    """Yield the blocks of a text of `total` bytes on which a tokenizer is fitted.

    These are all of them, or some of a text above 200 MB, at equal distances.
    """
    share, seen, used = min(_MOST_FITTED / max(total, 1), 1.0), 0, 0
    for block in blocks:
        seen += len(block)
        if used < share * seen:
            used += len(block)
            yield block


class _Piece(NamedTuple):
    """Consecutive bytes of a file, or of other bytes."""

    of: bytes | Path
    start: int
    end: int

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` on; raise `RequestError` if the file is shorter now."""
        start, end = self.start + start, min(self.start + end, self.end)
        if isinstance(self.of, bytes):
            return self.of[start:end]
        with explained(f"{self.of} can't be read"), open(self.of, "rb") as stream:
            stream.seek(start)
            content = stream.read(end - start)
        if len(content) < end - start:
            raise RequestError(f"{self.of}: changed while it was read: run the command again.")
        return content


class RawText:
    """The bytes of a text, in memory or in files.

    Args:
        *parts: bytes, and files, one after the other.

    Raises:
        RequestError: a file can't be read.
    """

    def __init__(self, *parts: bytes | Path) -> None:
        self._pieces = [_Piece(part, 0, _size(part)) for part in parts]

    def __len__(self) -> int:
        return sum(piece.end - piece.start for piece in self._pieces)

    def __bytes__(self) -> bytes:
        return b"".join(piece.read(0, piece.end) for piece in self._pieces)

    def cut(self, start: int, end: int) -> RawText:
        """Return the text from byte `start` to `end`."""
        part = RawText()
        ends = [0, *accumulate(piece.end - piece.start for piece in self._pieces)]
        for piece, (first, last) in zip(self._pieces, pairwise(ends), strict=True):
            low, high = max(start, first), min(end, last)
            if low < high:
                at = piece.start - first
                part._pieces.append(piece._replace(start=at + low, end=at + high))
        return part

    def character_start(self, at: int) -> int:
        """Return the place of the first byte of the character that has byte `at`."""
        first = max(at - _MOST_OF_CHARACTER, 0)
        return first + _character_start(bytes(self.cut(first, at + 1)), at - first)

    @classmethod
    def join(cls, texts: Iterable[RawText]) -> RawText:
        """Return texts one after the other."""
        whole = cls()
        whole._pieces = [piece for text in texts for piece in text._pieces]
        return whole

    def blocks(self, size: int = _BLOCK, longest: int = _LONGEST) -> Iterator[bytes]:
        """Yield the text in blocks of about `size` bytes, 16 MiB, which end with a line break.

        The last block may end without one. Lines longer than `longest` bytes, 128 MiB, are cut
        before a space if they have any, and never within a character.
        """
        held, length = list[bytes](), 0
        for piece in self._pieces:
            for at in range(0, piece.end - piece.start, size):
                held.append(piece.read(at, at + size))
                length += len(held[-1])
                if length >= size:
                    whole = b"".join(held)
                    if end := _end(whole, longest):
                        yield whole[:end]
                    held, length = [whole[end:]], len(whole) - end
        if length:
            yield b"".join(held)


def _character_start(text: bytes, at: int) -> int:
    while 0 < at < len(text) and 0x80 <= text[at] < 0xC0:
        at -= 1
    return at


def _size(part: bytes | Path) -> int:
    if isinstance(part, bytes):
        return len(part)
    with explained(f"{part} can't be read"):
        return part.stat().st_size


def _end(text: bytes, longest: int) -> int:
    """Return the place after the last line break; without one 0, or where a long line is cut."""
    end = text.rfind(b"\n") + 1
    if end or len(text) < longest:
        return end
    return max(text.rfind(b" "), 0) or _character_start(text, len(text) - 1)
