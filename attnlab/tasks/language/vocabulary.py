"""The tokens of a language model: those of a tokenizer, or the symbols of a generated task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.reading import decoded
from attnlab.text.tokenizers import END, UNKNOWN, Tokenizer

_SPECIAL = END + 1  # PAD, UNKNOWN, START, END
_TOGETHER = 1 << 16  # lines that are encoded in one call
_BREAK = "↵"  # label of a line break


class Vocabulary(Protocol):
    """Converts between texts and the token ids of a model, which start at 0."""

    @property
    def size(self) -> int:
        """Return the number of tokens, V."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt.

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
        """Return the numbers of symbols; see `Vocabulary`."""
        words = text.split()
        if unknown := [word for word in words if word not in self._ids]:
            some = ", ".join(self.names[:8]) + (", ..." if self.size > 8 else "")
            raise RequestError(f"PROMPT: expected symbols among {some}, got {unknown[0]!r}.")
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

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt; see `Vocabulary`."""
        ids = token_ids(self.tokenizer, text)
        if UNKNOWN in ids and not (self.tokenizer.kind == "word" and self.has_unknown):
            some = " ".join(self.labels(range(min(self._known, 40))))
            missing = self.tokenizer.unknown(text)[0]
            raise RequestError(
                f"PROMPT: expected tokens of the model ({some} ...), got {missing!r}."
            )
        return self._numbers[ids].tolist()

    def tokens(self, text: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens (N,) of a whole text, and the share of its bytes that each takes.

        Raises:
            RequestError: the text is not UTF-8, which a tokenizer of bytes alone accepts.
        """
        ids, sizes = text_tokens(self.tokenizer, text, where)
        return self._numbers[ids].astype(np.min_scalar_type(self.size - 1)), sizes

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


def fit(text: bytes, where: str, *, kind: str, size: int, min_count: int) -> Tokenizer:
    """Fit a tokenizer on a text, whose line breaks are tokens, too.

    Raises:
        RequestError: the text is not UTF-8, or `size` is too small.
    """
    if kind == "bytes":
        return Tokenizer.fit([], kind=kind, size=size)
    lines = decoded(text, where).splitlines(keepends=True)
    return Tokenizer.fit(lines, kind=kind, size=size, min_count=min_count)


def token_ids(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """Return the tokenizer's ids of a prompt; of words without the END of its last line."""
    if tokenizer.kind != "word":
        return np.array(tokenizer.encode_on([text])[0], int)
    lines = [[*line, END] for line in tokenizer.encode(text.split("\n"))]
    return np.array([token for line in lines for token in line][:-1], int)


def text_tokens(tokenizer: Tokenizer, text: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokenizer's ids (N,) of a text, and how many of its bytes each takes, (N,).

    The bytes of a line are divided equally among its words or pieces.

    Raises:
        RequestError: the text is not UTF-8 and the tokens aren't bytes.
    """
    if tokenizer.kind == "bytes":
        raw = np.frombuffer(text, np.uint8)
        return raw.astype(int) + _SPECIAL, np.ones(len(raw), np.float32)
    if tokenizer.kind == "char":
        points = np.frombuffer(decoded(text, where).encode("utf-32-le"), np.uint32)
        different, places = np.unique(points, return_inverse=True)
        characters = [*map(chr, different)]
        own = np.array(tokenizer.encode_on(["".join(characters)])[0], int)
        return own[places], np.array([len(each.encode()) for each in characters])[places]
    lines = decoded(text, where).splitlines(keepends=True)
    ids: list[np.ndarray] = []
    sizes: list[np.ndarray] = []
    for start in range(0, len(lines), _TOGETHER):
        some = lines[start : start + _TOGETHER]
        if tokenizer.kind == "word":
            cut = [[*line, END] for line in tokenizer.encode(some)]
        else:
            cut = tokenizer.encode_on(some)
        counts = np.array([len(line) for line in cut])
        shares = np.array([len(line.encode()) for line in some]) / counts
        own = np.concatenate([np.array(line, int) for line in cut])
        ids.append(own)
        sizes.append(np.repeat(shares, counts).astype(np.float32))
    return np.concatenate(ids), np.concatenate(sizes)
