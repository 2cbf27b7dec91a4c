"""Choose words of a text to predict, tokenize texts with masks, and fill in the masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from attnlab.tasks.language.data import PADDING, Rows
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer

# Devlin et al. 2019 (arXiv 1810.04805), section 3.1.
SHARE = 0.15  # of all words
MASKED, REPLACED = 0.8, 0.1  # of the chosen words; the others stay

MASK = "[MASK]"  # the mask in a text
_WORD = "a"  # any word
_CONTINUES = "·"  # in `Tokenizer.pieces`, the prefix of a token that continues the previous word

Guess = tuple[str, float]  # a word for a mask, and its probability


def choose(rows: np.ndarray, mask: int, seed: int) -> Rows:
    """Choose 15 % of the words of each row (N, S), at least one, and mask or replace them.

        rows     START the old dog sleeps END
        tokens   START the old [MASK] sleeps END
        targets                dog

    Tokens up to END aren't words; `mask` follows the last word.
    """
    draw = np.random.default_rng(seed)
    is_word = rows > END
    numbers = is_word.sum(axis=1)
    counts = np.minimum(np.maximum(np.round(SHARE * numbers).astype(np.int32), 1), numbers)
    ranks = np.where(is_word, draw.random(rows.shape), 2.0)
    places = np.argsort(ranks, axis=1, kind="stable")[:, : max(int(counts.max(initial=1)), 1)]
    kinds = draw.random(places.shape)
    others = draw.integers(END + 1, max(mask, END + 2), places.shape)
    words = np.take_along_axis(rows, places, axis=1)
    shown = np.where(kinds < MASKED, mask, np.where(kinds < MASKED + REPLACED, others, words))
    is_chosen = np.arange(places.shape[1]) < counts[:, None]
    tokens, targets = rows.copy(), np.full_like(rows, PADDING)
    np.put_along_axis(tokens, places, np.where(is_chosen, shown, words), axis=1)
    np.put_along_axis(targets, places, np.where(is_chosen, words, PADDING), axis=1)
    return Rows(tokens, targets)


def tokens_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return a text's tokens without START and END; `[MASK]` is the vocabulary's size."""
    first, *others = normalize(text).split(MASK)
    tokens = _encode(tokenizer, first)
    for piece in others:
        tokens.append(tokenizer.size)
        if piece[:1].strip():  # it continues the masked word, or is a mark right after it
            word, whole = _encode(tokenizer, _WORD), _encode(tokenizer, _WORD + piece)
            if whole[: len(word)] == word:
                tokens += whole[len(word) :]
                continue
        tokens += _encode(tokenizer, piece)
    return tokens


def _encode(tokenizer: Tokenizer, piece: str) -> list[int]:
    return tokenizer.encode([piece.strip()])[0]


def labels(tokenizer: Tokenizer, tokens: Iterable[int]) -> list[str]:
    """Return a readable label for each of some unrelated tokens; see `pieces`."""
    word = _encode(tokenizer, _WORD) if tokenizer.kind == "bpe" else []
    return [tokenizer.pieces([*word, int(token)])[-1] for token in tokens]


def best_words(tokenizer: Tokenizer, logits: np.ndarray, count: int) -> list[list[Guess]]:
    """Return the most probable words for logits (M, V), the best ones first; no special tokens."""
    from scipy.special import softmax

    logits = logits.astype(np.float64)
    logits[:, [PAD, UNKNOWN, START, END]] = -np.inf
    shares = softmax(logits, axis=-1)
    best = np.argsort(-shares, axis=-1, kind="stable")[:, : min(count, tokenizer.size - END - 1)]
    return [
        [*zip(labels(tokenizer, numbers), row[numbers].tolist(), strict=True)]
        for row, numbers in zip(shares, best, strict=True)
    ]


def fill_in(text: str, guesses: Sequence[Sequence[Guess]]) -> str:
    """Return a text with the best word in place of each mask."""
    filled, *pieces = text.split(MASK)
    for ((word, _), *_), piece in zip(guesses, pieces, strict=True):
        if len(word) > 1 and word.startswith(_CONTINUES):
            filled, word = filled.rstrip(), word.removeprefix(_CONTINUES)
        filled += word + piece
    return filled
