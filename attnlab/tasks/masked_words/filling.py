"""Tokenize texts with masks, and fill in the masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.masked_words.masking import MASK
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer

_WORD = "a"  # any word
# In `Tokenizer.pieces`: the prefix of a token that continues the previous word, and the
# label of white space.
_CONTINUES, _SPACE = "·", "␣"


class Guess(NamedTuple):
    """A word for a mask."""

    word: str
    probability: float


def check_text(text: str, where: str) -> None:
    """Raise `RequestError` for a text without a mask; `where` names the text in the message."""
    if MASK not in text:
        got = repr(text) if text.strip() else "an empty one"
        raise RequestError(f"{where}: expected a text with {MASK}, got {got}.")


def tokens_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return a text's tokens without START and END; `[MASK]` is the vocabulary's size."""
    first, *others = normalized(text).split(MASK)
    tokens = _encoded(tokenizer, first)
    for piece in others:
        tokens += [tokenizer.size, *_behind(tokenizer, piece)]
    return tokens


def _encoded(tokenizer: Tokenizer, piece: str) -> list[int]:
    # A vocabulary of characters has white space as tokens; in others it belongs to the next word.
    return tokenizer.encode([piece if tokenizer.kind == "char" else piece.strip()])[0]


def _behind(tokenizer: Tokenizer, piece: str) -> list[int]:
    """Return the tokens of a piece after a mask, which may start with or without white space."""
    if not piece or piece[0].isspace():
        return _encoded(tokenizer, piece)
    word, whole = _encoded(tokenizer, _WORD), _encoded(tokenizer, _WORD + piece)
    alone = whole[: len(word)] == word
    return whole[len(word) :] if alone else _encoded(tokenizer, piece)


def labels(tokenizer: Tokenizer, tokens: Iterable[int]) -> list[str]:
    """Return a readable label for each of some unrelated tokens; see `pieces`."""
    if tokenizer.kind != "bpe":
        return [tokenizer.pieces([int(token)])[0] for token in tokens]
    word = _encoded(tokenizer, _WORD)
    return [tokenizer.pieces([*word, int(token)])[-1] for token in tokens]


def best_words(tokenizer: Tokenizer, logits: np.ndarray, count: int) -> list[list[Guess]]:
    """Return the most probable words for logits (M, V), the best ones first; no special tokens."""
    from scipy.special import softmax

    logits = logits.astype(np.float64)
    logits[:, [PAD, UNKNOWN, START, END]] = -np.inf
    shares = softmax(logits, axis=-1)
    best = np.argsort(-shares, axis=-1, kind="stable")[:, : min(count, tokenizer.size - END - 1)]
    return [
        [
            Guess(word, float(own[number]))
            for word, number in zip(labels(tokenizer, numbers), numbers, strict=True)
        ]
        for own, numbers in zip(shares, best, strict=True)
    ]


def filled_in(text: str, guesses: Sequence[Sequence[Guess]]) -> str:
    """Return a text with the best word in place of each mask."""
    filled, *pieces = text.split(MASK)
    for (best, *_), piece in zip(guesses, pieces, strict=True):
        word = " " if best.word == _SPACE else best.word
        if len(word) > 1 and word.startswith(_CONTINUES):
            filled, word = filled.rstrip(), word.removeprefix(_CONTINUES)
        filled += word + piece
    return filled
