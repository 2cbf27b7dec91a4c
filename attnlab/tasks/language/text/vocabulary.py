"""The tokens of a language model: those of a tokenizer, or the symbols of a generated task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, UNKNOWN, Tokenizer

_SPECIAL = END + 1  # PAD, UNKNOWN, START, END
_BREAK = "↵"  # label of a line break


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
        """Return the numbers of at least one symbol, all in the vocabulary."""
        words = text.split()
        unknown = [repr(word) for word in words if word not in self._ids]
        if unknown or not words:
            some = ", ".join(self.names[:8]) + (", ..." if self.size > 8 else "")
            got = [*unknown, "none"][0]
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

    The model's tokens are those of a fitted tokenizer without its special ones. UNKNOWN is the next
    to last or the last token, if the text has unknown words or characters. With a tokenizer of
    words the last one is END, the end of a line, since words don't contain white space.

    Attributes:
        ids: the tokenizer's id of each token, (V,).
        numbers: the token of each of the tokenizer's ids, int32; -1 for PAD and START.
    """

    def __init__(self, tokenizer: Tokenizer, has_unknown: bool) -> None:
        self.tokenizer, self.has_unknown = tokenizer, has_unknown
        special = [*[UNKNOWN] * has_unknown, *[END] * (tokenizer.kind == "word")]
        self.ids = np.concatenate([np.arange(_SPECIAL, tokenizer.size), special]).astype(int)
        self.numbers = np.full(tokenizer.size, -1, np.int32)
        self.numbers[self.ids] = np.arange(len(self.ids))

    @property
    def size(self) -> int:
        """Return the number of tokens, V."""
        return len(self.ids)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt; the vocabulary must have all of them.

        An empty prompt is a line break, or the first token if there is none.
        """
        if not text:
            text = self.decode([0]) if self.tokenizer.unknown("\n") else "\n"
        ids = token_ids(self.tokenizer, text)
        if UNKNOWN in ids and not (self.tokenizer.kind == "word" and self.has_unknown):
            some = " ".join(self.labels(range(min(self.tokenizer.size - _SPECIAL, 40))))
            missing = self.tokenizer.unknown(text)[0]
            raise RequestError(
                f"PROMPT: expected tokens of the model ({some} ...), got {missing!r}."
            )
        return self.numbers[ids].tolist()

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; bytes that aren't a character become U+FFFD."""
        ids = self.ids[np.asarray([*tokens], int)]
        if self.tokenizer.kind != "word":
            return self.tokenizer.content(ids).decode("utf-8", "replace")
        ends = np.flatnonzero(ids == END) + 1
        lines = [self.tokenizer.content(line).decode() for line in np.split(ids, ends)]
        return "\n".join(line.removeprefix(" ") for line in lines)

    def labels(self, tokens: Iterable[int]) -> list[str]:
        """Return a readable label for each token; a line break is `↵`."""
        return [
            _BREAK
            if token == END or self.tokenizer.content([token]) == b"\n"
            else self.tokenizer.pieces([token])[0]
            for token in self.ids[np.asarray([*tokens], int)]
        ]

    def sizes(self) -> np.ndarray:
        """Return the bytes of each token's text, (V,); an END is the space that a line lacks."""
        return np.array([len(self.tokenizer.content([token])) for token in self.ids], np.float64)


def token_ids(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """Return the tokenizer's ids of a prompt; of words without the END of its last line."""
    if tokenizer.kind != "word":
        return np.array(tokenizer.encode_on([text])[0], int)
    lines = [[*line, END] for line in tokenizer.encode(text.split("\n"))]
    return np.array([token for line in lines for token in line][:-1], int)


Vocabulary = TextVocabulary | Symbols
