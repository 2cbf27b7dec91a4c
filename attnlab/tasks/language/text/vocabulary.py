"""The tokens of a language model: those of a tokenizer, or the symbols of a generated task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.raw_text import RawText, fitted
from attnlab.text.reading import decoded
from attnlab.text.tokenizers import END, UNKNOWN, Tokenizer

_SPECIAL = END + 1  # PAD, UNKNOWN, START, END
_TOGETHER = 1 << 22  # characters that are encoded in one call
_LONGEST = 1 << 16  # characters of a piece of a line
_LARGER = (0x80, 0x800, 0x10000)  # the first characters of 2, 3 and 4 bytes
_BREAK = "↵"  # label of a line break


class Vocabulary(Protocol):
    """Converts between texts and the token ids of a model, which start at 0."""

    @property
    def size(self) -> int:
        """Return the number of tokens, V."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt, at least one.

        Raises:
            RequestError: the vocabulary lacks a part of it.
        """

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens."""

    def labels(self, tokens: Iterable[int]) -> list[str]:
        """Return a readable label for each token."""


class Symbols:
    """The vocabulary of a generated task: a text is names with spaces between them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._ids = {name: number for number, name in enumerate(self.names)}

    @property
    def size(self) -> int:
        """Return the number of symbols, V."""
        return len(self.names)

    def encode(self, text: str) -> list[int]:
        """Return the numbers of symbols; see `Vocabulary`. A row needs a prompt."""
        words = text.split()
        unknown = [word for word in words if word not in self._ids]
        if unknown or not words:
            some = ", ".join(self.names[:8]) + (", ..." if self.size > 8 else "")
            got = repr(unknown[0]) if unknown else "none"
            raise RequestError(f"PROMPT: expected symbols among {some}, got {got}.")
        return [self._ids[word] for word in words]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the names of symbols with spaces between them."""
        return " ".join(self.labels(tokens))

    def labels(self, tokens: Iterable[int]) -> list[str]:
        """Return the names of symbols."""
        return [self.names[token] for token in tokens]


class TextVocabulary:
    """The vocabulary of a text.

    The model's tokens are those of a tokenizer without its special ones. UNKNOWN is the next to
    last or the last token, if the text has unknown words or characters. With a tokenizer of words
    the last one is END, the end of a line, since words don't contain white space.

    Args:
        tokenizer: a fitted tokenizer.
        has_unknown: whether UNKNOWN is a token.
    """

    def __init__(self, tokenizer: Tokenizer, has_unknown: bool) -> None:
        self.tokenizer, self.has_unknown = tokenizer, has_unknown
        self._known = tokenizer.size - _SPECIAL
        special = [*[UNKNOWN] * has_unknown, *[END] * (tokenizer.kind == "word")]
        self._ids = np.concatenate([np.arange(_SPECIAL, tokenizer.size), special]).astype(int)
        self._numbers = np.full(tokenizer.size, -1)
        self._numbers[self._ids] = np.arange(len(self._ids))

    @property
    def size(self) -> int:
        """Return the number of tokens, V."""
        return len(self._ids)

    @property
    def ids(self) -> np.ndarray:
        """Return the tokenizer's id of each token, (V,)."""
        return self._ids

    @property
    def start(self) -> str:
        """Return what an empty prompt means: a line break, or a space if no text has them."""
        return " " if self.tokenizer.unknown("\n") else "\n"

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt; see `Vocabulary`."""
        ids = token_ids(self.tokenizer, text)
        if not len(ids):
            ids = token_ids(self.tokenizer, self.start)
        if UNKNOWN in ids and not (self.tokenizer.kind == "word" and self.has_unknown):
            some = " ".join(self.labels(range(min(self._known, 40))))
            missing = self.tokenizer.unknown(text)[0]
            raise RequestError(
                f"PROMPT: expected tokens of the model ({some} ...), got {missing!r}."
            )
        return self._numbers[ids].tolist()

    def tokens(self, ids: np.ndarray) -> np.ndarray:
        """Return the tokens (N,) of the tokenizer's ids (N,), in the smallest type."""
        return _looked_up(self._numbers.astype(np.min_scalar_type(self.size - 1)), ids)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; bytes that aren't a character become U+FFFD."""
        ids = self._ids[np.asarray([*tokens], int)]
        if self.tokenizer.kind != "word":
            return self.tokenizer.content(ids).decode("utf-8", "replace")
        ends = np.flatnonzero(ids == END) + 1
        lines = [self.tokenizer.content(line).decode() for line in np.split(ids, ends)]
        return "\n".join(line.removeprefix(" ") for line in lines)

    def labels(self, tokens: Iterable[int]) -> list[str]:
        """Return a readable label for each token; a line break is `↵`."""
        ids = self._ids[np.asarray([*tokens], int)]
        breaks = (token == END or self.tokenizer.content([token]) == b"\n" for token in ids)
        labels = (self.tokenizer.pieces([token])[0] for token in ids)
        return [
            _BREAK if is_break else label for is_break, label in zip(breaks, labels, strict=True)
        ]


def fit(text: RawText, where: str, *, kind: str, size: int, min_count: int) -> Tokenizer:
    """Fit a tokenizer on a text, whose line breaks are tokens, too.

    Of a long text, blocks at equal distances are read, 200 MB in all.

    Raises:
        RequestError: the text is not UTF-8, or `size` is too small.
    """
    if kind == "bytes":
        return Tokenizer.fit([], kind=kind, size=size)
    blocks = (decoded(block, where) for block in fitted(text.blocks(), len(text)))
    lines = (piece.text for block in blocks for piece in _pieces(block))
    return Tokenizer.fit(lines, kind=kind, size=size, min_count=min_count)


def token_ids(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """Return the tokenizer's ids of a prompt; of words without the END of its last line."""
    if tokenizer.kind != "word":
        return np.array(tokenizer.encode_on([text])[0], int)
    lines = [[*line, END] for line in tokenizer.encode(text.split("\n"))]
    return np.array([token for line in lines for token in line][:-1], int)


def block_tokens(block: bytes, tokenizer: Tokenizer, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokenizer's ids of a block of a text (N,), and how many bytes each takes (N,).

    The bytes of a line are divided equally among its words or pieces.

    Raises:
        RequestError: the text is not UTF-8 and the tokens aren't bytes.
    """
    if tokenizer.kind == "bytes":
        known = np.arange(256, dtype=np.uint16) + _SPECIAL
        return _looked_up(known, np.frombuffer(block, np.uint8)), np.ones(len(block), np.uint8)
    if tokenizer.kind == "char":
        return _character_tokens(tokenizer, decoded(block, where))
    found = [_piece_tokens(tokenizer, some) for some in _batches(_pieces(decoded(block, where)))]
    ids, sizes = zip(*found or [(np.zeros(0, np.uint32), np.zeros(0, np.float32))], strict=True)
    return np.concatenate(ids), np.concatenate(sizes)


def _character_tokens(tokenizer: Tokenizer, text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of characters and their sizes in bytes, (N,) each."""
    parts = [text[at : at + _TOGETHER] for at in range(0, len(text), _TOGETHER)]
    characters = sorted(set[str]().union(*parts))
    places = np.array([*map(ord, characters)], int)
    known = np.zeros(places.max(initial=0) + 1, np.min_scalar_type(tokenizer.size - 1))
    known[places] = tokenizer.encode_on(["".join(characters)])[0]
    ids, sizes = np.empty(len(text), known.dtype), np.empty(len(text), np.uint8)
    for number, part in enumerate(parts):
        points = np.frombuffer(part.encode("utf-32-le"), np.uint32)
        own = slice(number * _TOGETHER, number * _TOGETHER + len(points))
        ids[own] = known[points]
        sizes[own] = 1 + sum((points >= first).astype(np.uint8) for first in _LARGER)
    return ids, sizes


class _Piece(NamedTuple):
    """A line of a text with its line break, or a piece of a long one."""

    text: str
    is_end: bool  # whether the line ends with it


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the lines of a text, long ones in pieces.

    The second and each later piece of a line starts at a space, which no token crosses.
    """
    for line in text.splitlines(keepends=True):
        start = 0
        while len(line) - start > _LONGEST and (end := line.find(" ", start + _LONGEST)) > 0:
            yield _Piece(line[start:end], False)
            start = end
        yield _Piece(line[start:], True)


def _batches(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield pieces that are encoded in one call."""
    batch, size = list[_Piece](), 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece.text)
        if size >= _TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _piece_tokens(tokenizer: Tokenizer, pieces: Sequence[_Piece]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of pieces, and how many bytes each takes; see `block_tokens`."""
    texts = [piece.text for piece in pieces]
    if tokenizer.kind == "word":
        rows = [
            [*row, END] if piece.is_end else row
            for row, piece in zip(tokenizer.encode(texts), pieces, strict=True)
        ]
    else:
        rows = tokenizer.encode_on(texts)
    counts = np.array([len(row) for row in rows])
    shares = np.array([len(text.encode()) for text in texts]) / np.maximum(counts, 1)
    own = np.concatenate([np.array(row, np.uint32) for row in rows])
    return own, np.repeat(shares, counts).astype(np.float32)


def _looked_up(table: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return table[indices] without a large copy of the indices."""
    found = np.empty(len(indices), table.dtype)
    for at in range(0, len(indices), _TOGETHER):
        found[at : at + _TOGETHER] = table[indices[at : at + _TOGETHER]]
    return found
