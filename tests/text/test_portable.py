"""Tokenizers in the format of the library `tokenizers`: the same tokens and the same texts."""

from __future__ import annotations

import pytest
import tokenizers
from command_line import some_pairs

from attnlab.tasks.language.text.vocabulary import token_ids
from attnlab.text.cleaning import cleaner
from attnlab.text.portable import portable
from attnlab.text.tokenizers import Tokenizer

KINDS = ("word", "char", "bpe")
UNSPACED = "\u0e33\u0eb3\uff9e\uff9fกー日"  # letters of scripts without spaces between words
ODD = [
    *("The  old\tdog — “sleeps” don't!", "", "日本語 Text", "ÄÖ Straße 3.50€", "(dog)", " a"),
    *("unknown words (old)", "[ END ] x [ PAD ]", "Don't stop… l'été 42 a1b"),
    *(f"{letter} b" for letter in UNSPACED),
]


def texts() -> list[str]:
    return [pair.source for pair in some_pairs(100)]


def fitted(kind: str, lowercase: bool = False) -> Tokenizer:
    sentences = [*texts(), "(dog) Straße", *(f"x {letter}" for letter in UNSPACED), *UNSPACED]
    size = 500 if kind == "bpe" else None
    return Tokenizer.fit(sentences, kind=kind, size=size, lowercase=lowercase)


def read_again(made):
    """The same after a file was written and read."""
    return made._replace(tokenizer=tokenizers.Tokenizer.from_str(made.text()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clean", ["none", "book"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_tokens_and_texts_are_the_same(kind, clean, lowercase):
    tokenizer, some = fitted(kind, lowercase), [*texts(), *ODD]
    made = read_again(portable(tokenizer, clean=clean, lowercase=not lowercase))
    clean_text = cleaner(clean, not lowercase)
    rows = tokenizer.encode([clean_text(text) for text in some])
    assert made.rows(some) == rows
    decoded = [made.tokenizer.decode(row, skip_special_tokens=False) for row in rows]
    assert decoded == tokenizer.decode(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_has_the_tokens_of_the_language_model(kind):
    tokenizer, some = fitted(kind), ["\n".join(texts()[:3]), "a\n\n  b \n", *ODD]
    made = read_again(portable(tokenizer, clean=None))
    assert made.rows(some) == [token_ids(tokenizer, text).tolist() for text in some]


def test_a_frame_and_a_length():
    tokenizer = fitted("word")
    made = portable(tokenizer, frame=(True, True), most=5, width=6)
    the, dog = tokenizer.encode(["The dog"])[0]
    rows = read_again(made).rows(["The dog", "The dog The dog"])
    assert rows == [[2, the, dog, 3, 0, 0], [2, the, dog, the, 3, 0]]
