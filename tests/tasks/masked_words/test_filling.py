"""Tokenized texts with masks, the best words for them, and filled-in texts."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.masked_words.filling import (
    Guess,
    best_words,
    check_text,
    filled_in,
    labels,
    tokens_of,
)
from attnlab.text.tokenizers import Tokenizer

TEXTS = ["The keys to the cabinet are old.", "A key is old, and singing."] * 3


def fitted(kind: str) -> Tokenizer:
    return Tokenizer.fit(TEXTS, kind=kind, lowercase=True, size=300 if kind == "bpe" else None)


@pytest.mark.parametrize("kind", ["word", "char", "bpe"])
@pytest.mark.parametrize(
    "text",
    [
        "The [MASK] to the  cabinet are old.",
        "The keys to the cabinet are [MASK].",
        "[MASK] key is [MASK], and singing.",
    ],
)
def test_masks_dont_change_the_tokens_around_them(kind, text):
    """The mask replaces the token of the whole text."""
    tokenizer = fitted(kind)
    tokens = tokens_of(tokenizer, text)
    whole = next(each for each in TEXTS if each.startswith("The") == ("cabinet" in text))
    known = tokenizer.encode([whole])[0]
    first, last = tokens.index(tokenizer.size), tokens[::-1].index(tokenizer.size)
    assert tokens.count(tokenizer.size) == text.count("[MASK]")
    assert tokens[:first] == known[:first] and tokens[len(tokens) - last :] == known[-last:]


def test_adjacent_and_single_masks_are_tokenized():
    tokenizer = fitted("word")
    assert tokens_of(tokenizer, " [MASK] [MASK] ") == [tokenizer.size] * 2
    assert tokens_of(tokenizer, "") == []


def test_a_text_without_a_mask_is_refused():
    check_text("a [MASK]", "TEXT")
    with pytest.raises(RequestError, match=r"TEXT 1: expected a text with \[MASK\], got 'a mask'"):
        check_text("a mask", "TEXT 1")
    with pytest.raises(RequestError, match="got an empty one"):
        check_text(" ", "TEXT")


def test_labels_of_byte_pairs_mark_continued_words():
    tokenizer = fitted("bpe")
    inside = tokenizer.encode(["qs"])[0][-1]
    first = tokenizer.encode(["s"])[0][0]
    found = labels(tokenizer, [inside, inside, *tokenizer.encode(["the"])[0][:1], inside])
    assert found[0] == found[1] == found[3] and found[0].startswith("·")
    assert first == inside or not labels(tokenizer, [first])[0].startswith("·")
    words = fitted("word")
    assert labels(words, words.encode(["the keys"])[0]) == ["the", "keys"]


def test_the_best_words_exclude_special_tokens_and_have_probabilities():
    tokenizer = fitted("word")
    logits = np.zeros((1, tokenizer.size))
    logits[0, :4] = 9
    logits[0, 5], logits[0, 7] = np.log(3), np.log(2)
    (found,) = best_words(tokenizer, logits, 1000)
    assert len(found) == tokenizer.size - 4
    total = 5 + tokenizer.size - 6
    assert [each.word for each in found[:2]] == labels(tokenizer, [5, 7])
    assert found[0].probability == pytest.approx(3 / total)
    assert sum(each.probability for each in found) == pytest.approx(1)
    assert logits[0, 0] == 9  # it is left as it was


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("the [MASK] is [MASK].", ["key", "old"], "the key is old."),
        ("[MASK]", ["key"], "key"),
        ("it is sing [MASK] now", ["·ing"], "it is singing now"),
        ("a [MASK] b", ["·"], "a · b"),
        ("a[MASK]b", ["␣"], "a b"),
    ],
)
def test_filled_in_texts_are_otherwise_unchanged(text, words, expected):
    assert filled_in(text, [[Guess(word, 0.5)] for word in words]) == expected
