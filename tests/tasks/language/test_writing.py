"""Tokens become text one by one, in whole characters and without stops."""

from __future__ import annotations

import numpy as np
import pytest
from language_models import tokens_of, vocabulary_of

from attnlab.tasks.language.predictor import Writer
from attnlab.tasks.language.text.vocabulary import Symbols

TEXT = "der Bär läuft,\nund läuft 🙂 fort.\n" * 3


def vocabulary(kind):
    return vocabulary_of(kind, TEXT)


def written(writer, tokens):
    return [*map(writer.add, tokens), writer.end()]


@pytest.mark.parametrize("kind", ["bytes", "char", "bpe", "word"])
def test_pieces_make_the_text_that_follows_the_prompt(kind):
    words = vocabulary(kind)
    tokens = tokens_of(words, TEXT.encode() if kind == "bytes" else TEXT).tolist()
    whole = words.decode(tokens)
    for cut in (0, 1, 3, 7):
        writer = Writer(words, tokens[:cut])
        pieces = written(writer, tokens[cut:])
        if "\ufffd" not in words.decode(tokens[:cut]):
            assert words.decode(tokens[:cut]) + "".join(pieces) == whole
        assert not any("\ufffd" in piece for piece in pieces)
        assert writer.text == "".join(pieces) and writer.tokens == tokens[cut:]


def test_symbols_are_divided_by_spaces():
    writer = Writer(Symbols(["k1", "v1", "?"]), [0])
    assert written(writer, [1, 2, 0]) == [" v1", " ?", " k1", ""]


def test_bytes_that_are_no_character_are_written_in_the_end():
    words = vocabulary("bytes")
    smile = words.encode("🙂")
    pieces = written(Writer(words, []), [*smile[:2], *words.encode("a")])
    assert "".join(pieces) == "\ufffda"
    assert written(Writer(words, []), smile) == ["", "", "", "🙂", ""]
    assert written(Writer(words, []), smile[:3])[-1] == "\ufffd"


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        (["läuft"], "der Bär "),
        (["\n"], "der Bär läuft,"),
        (["und", "Bär l"], "der "),
        (["Bär f", "nie"], "der Bär läuft,\nund"),
        (["nie"], "der Bär läuft,\nund"),
        ([",\nund"], "der Bär läuft"),
    ],
)
def test_a_stop_ends_the_text_and_is_never_written(stops, expected):
    words = vocabulary("char")
    tokens = words.encode("der Bär läuft,\nund")
    writer = Writer(words, [], stops)
    so_far = ""
    for token in tokens:
        so_far += writer.add(token)
        assert expected.startswith(so_far)
    assert writer.stopped == (expected != "der Bär läuft,\nund")
    assert so_far + writer.end() == expected == writer.text
    assert writer.add(tokens[0]) == ("" if writer.stopped else "d")


def test_what_might_begin_a_stop_is_held_back():
    words = vocabulary("char")
    writer = Writer(words, [], ["uft 🙂"])
    assert written(writer, words.encode("läuft, u")) == [*"lä", "", "", "", "uft,", " ", "", "u"]


def test_a_long_text_costs_the_same_per_token():
    """Only a window of tokens is decoded for each one."""

    class Counting(Symbols):
        most = 0

        def decode(self, tokens):
            tokens = [*tokens]
            self.most = max(self.most, len(tokens))
            return super().decode(tokens)

    words = Counting(["a", "b"])
    writer = Writer(words, [0] * 100)
    written(writer, np.random.default_rng(0).integers(2, size=500).tolist())
    assert words.most <= 40 and len(writer.text) == 1000
