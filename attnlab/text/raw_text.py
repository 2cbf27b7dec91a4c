"""Texts as bytes, also texts larger than memory: they are read in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from attnlab.errors import RequestError, explained

_MOST_FITTED = 200_000_000  # bytes on which a tokenizer is fitted
_BLOCK = 1 << 24  # bytes of a block
_LONGEST = 1 << 27  # bytes of a line that isn't cut
_MOST_OF_CHARACTER = 4  # bytes

Block = TypeVar("Block", str, bytes)


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
    def joined(cls, texts: Iterable[RawText]) -> RawText:
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
