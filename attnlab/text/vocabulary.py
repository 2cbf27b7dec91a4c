"""Vocabularies, learned and encoded by Hugging Face's `tokenizers`: words, characters, BPE.

They never match special tokens in a text: no text is encoded as a special token. Words that a
vocabulary lacks get a warning.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.text.words import word_pattern

if TYPE_CHECKING:
    import tokenizers

KINDS = ("word", "char", "bpe")
# No text contains these tokens: words have only a space in front, BPE pieces have "Ġ" instead of
# spaces, and characters are single.
SPECIAL_TOKENS = ("[ PAD ]", "[ UNKNOWN ]", "[ START ]", "[ END ]")
BYTES = 256
_DEFAULT_BPE_SIZE = 8000
_NO_LIMIT = 2**31 - 1
UNKNOWN_TEXT = "⁇"  # the text of an unknown token
# The note in a page on an unknown token whose word isn't known.
UNNAMED = {UNKNOWN_TEXT: "a word that is not in the vocabulary"}
_MOST_NAMED = 12
_SIMILAR = 0.75  # least similarity, from 0 to 1, of a known word that is suggested
_LONGEST_SHOWN = 60  # characters of a text in a warning


class Vocabulary(NamedTuple):
    """Tokens by id, and for BPE the pairs of tokens to merge, in their order."""

    tokens: list[str]
    merges: list[tuple[str, str]]


def learn_vocabulary(
    texts: Iterable[str], *, kind: str, size: int | None, min_count: int = 1
) -> Vocabulary:
    """Learn a vocabulary: the most frequent words or characters of texts, or BPE merges.

    Texts are prepared as by `Tokenizer`; they are read once and not stored. `size` is the most
    tokens, special tokens included; None: all words or characters, and 8,000 for BPE. Tokens and
    merges rarer than `min_count` are left out, and merges that occur only once.

    Raises:
        RequestError: the kind is unknown, `size` is too small, or there is no text.
    """
    check_size(kind, size)
    texts = (text for text in texts if text)
    first = next(texts, None)
    if first is None:
        raise RequestError(
            f"task.tokenizer={kind}: expected texts with words to fit it on, got none."
        )
    if kind == "char":
        return Vocabulary(
            [*SPECIAL_TOKENS, *_characters(chain([first], texts), size, min_count)], []
        )
    untrained = make_tokenizer(kind, Vocabulary(list(SPECIAL_TOKENS), []))
    untrained.train_from_iterator(chain([first], texts), _trainer(kind, size, min_count))
    model = json.loads(untrained.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return Vocabulary(tokens, [(left, right) for left, right in model.get("merges", ())])


def _characters(texts: Iterable[str], size: int | None, min_count: int) -> list[str]:
    """Return the characters of texts, the most frequent first, equally frequent ones in order."""
    counts = Counter[str]()
    for text in texts:
        counts.update(text)
    frequent = (character for character, count in counts.items() if count >= min_count)
    ordered = sorted(frequent, key=lambda character: (-counts[character], character))
    return ordered if size is None else ordered[: size - len(SPECIAL_TOKENS)]


def check_size(kind: str, size: int | None) -> None:
    """Raise `RequestError` for an unknown kind, or for a size that is too small."""
    if kind not in KINDS:
        raise RequestError(f"task.tokenizer: expected one of {', '.join(KINDS)}, got {kind!r}.")
    special = len(SPECIAL_TOKENS)
    least = special + (BYTES if kind == "bpe" else 1)
    what = f"{BYTES} bytes" if kind == "bpe" else f"a {kind}"
    if size is not None and size < least:
        raise RequestError(
            f"task.vocabulary: expected at least {least} for task.tokenizer={kind} "
            f"({what} and {special} special tokens), got {size}."
        )


def make_tokenizer(kind: str, vocabulary: Vocabulary) -> tokenizers.Tokenizer:
    """Return the tokenizer of a vocabulary, which encodes batches in parallel threads."""
    # Without this variable, the library warns at each fork of this process.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import tokenizers
    from tokenizers import models, pre_tokenizers

    ids = {token: number for number, token in enumerate(vocabulary.tokens)}
    split = pre_tokenizers.Split(tokenizers.Regex(pattern(kind)), "isolated")
    if kind == "bpe":
        result = tokenizers.Tokenizer(models.BPE(ids, vocabulary.merges))
        as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        result.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    else:
        if kind == "word":  # known with a space in front, or only without one: both are
            words = [token for token in ids if token not in SPECIAL_TOKENS]
            turned = {w[1:] if w[0] == " " else f" {w}": ids[w] for w in words}
            ids = {**turned, **ids}
        result = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=SPECIAL_TOKENS[1]))
        result.pre_tokenizer = split
    return result


def bytes_of(piece: str) -> bytes:
    """Return the bytes of a BPE token; one outside the byte alphabet is encoded as UTF-8."""
    try:
        return bytes(map(_byte_numbers().__getitem__, piece))
    except KeyError:
        return piece.encode()


@functools.cache
def pattern(kind: str) -> str:
    """Return the regular expression of the pieces that tokens never cross."""
    if kind == "char":
        return r"[\s\S]"
    word = " ?(?:" + word_pattern(other=r"\S") + ")"
    return word if kind == "word" else rf"{word}|\s"


def _trainer(kind: str, size: int | None, min_count: int) -> tokenizers.trainers.Trainer:
    from tokenizers import pre_tokenizers, trainers

    common: dict[str, Any] = {"special_tokens": list(SPECIAL_TOKENS), "show_progress": False}
    if kind != "bpe":
        size = size or _NO_LIMIT
        return trainers.WordLevelTrainer(vocab_size=size, min_frequency=min_count, **common)
    return trainers.BpeTrainer(
        vocab_size=size or _DEFAULT_BPE_SIZE,
        min_frequency=max(min_count, 2),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        **common,
    )


@functools.cache
def _byte_numbers() -> dict[str, int]:
    """Return the byte of each letter of GPT-2's byte alphabet (Radford et al. 2019).

    Bytes that are visible characters of Latin-1 are that character; the others start at U+0100.
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(BYTES) if byte not in visible]
    letters = {chr(0x100 + at): byte for at, byte in enumerate(others)}
    return {**letters, **{chr(byte): byte for byte in visible}}


def nearest(word: str, vocabulary: Collection[str], most: int = 3) -> list[str]:
    """Return the words of a vocabulary most like a word, the best first, in any case."""
    spelled: dict[str, str] = {}
    for spelling in vocabulary:
        spelled.setdefault(spelling.lower(), spelling)
    matches = difflib.get_close_matches(word.lower(), [*spelled], n=most, cutoff=_SIMILAR)
    return [spelled[match] for match in matches]


def unknown_warning(
    words: Iterable[str], warned: set[str], vocabulary: Collection[str] = ()
) -> str | None:
    """Return a warning about unknown words, or None if all were `warned` about before.

    Args:
        words: words that aren't in the vocabulary.
        warned: words of earlier warnings; the new words are added.
        vocabulary: words that are known; the warning names the nearest one of each word.
    """
    new = [word for word in dict.fromkeys(words) if word not in warned]
    if not new:
        return None
    warned.update(new)
    shown = []
    for word in new[:_MOST_NAMED]:
        similar = nearest(word, vocabulary, 1)
        shown.append(f"{word} (nearest known word: {similar[0]})" if similar else word)
    more = ", ..." * (len(new) > _MOST_NAMED)
    return f"not in the model's vocabulary, and read as unknown: {', '.join(shown)}{more}"


def cut_warning(noun: str, most: int, text: str) -> str:
    """Return the warning that a model reads only the first `most` tokens of a text, a `noun`."""
    shown = textwrap.shorten(text, _LONGEST_SHOWN, placeholder=" ...")
    return (
        f"only the first {most} tokens of a {noun} are read, as in training; the end of {shown!r} "
        "is cut off."
    )


def unknown_column(words: Iterable[str]) -> str:
    """Return the last column of a line of output, with its unknown words; "" without any."""
    named = ", ".join(dict.fromkeys(words))
    return f"\tunknown: {named}" if named else ""
