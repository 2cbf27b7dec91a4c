"""The start and the end of sentences: not every point ends one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attnlab.text.words import sentence_spans


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


def test_sentences_are_found():
    for text, expected in [
        (
            "Dr. Smith paid $3.50 for it. He left at 5 p.m. on Friday.",
            ["Dr. Smith paid $3.50 for it.", "He left at 5 p.m. on Friday."],
        ),
        (
            '"Is that so?" asked Mrs. Jones. It is J. R. R. Tolkien\'s book!',
            ['"Is that so?" asked Mrs. Jones.', "It is J. R. R. Tolkien's book!"],
        ),
        ("A line that\ngoes on. Größe – ja!", ["A line that\ngoes on.", "Größe – ja!"]),
        ("We took plan B\u00a0. It\u2028went.", ["We took plan B\u00a0.", "It\u2028went."]),
        ("A heading\n\nA text without an end", ["A heading", "A text without an end"]),
        ("  *** \n\n One.  ", ["One."]),
        ("", []),
    ]:
        assert sentences(text) == expected


def test_another_language_has_other_abbreviations():
    text = "Er kam z.B. am Montag. Das war gut."
    assert sentences(text, "de") == ["Er kam z.B. am Montag.", "Das war gut."]


@given(st.text(max_size=200))
def test_all_that_can_be_read_is_in_a_sentence(text):
    spans = sentence_spans(text)
    assert spans == sorted(spans) and all(
        first[1] <= then[0] for first, then in zip(spans, spans[1:], strict=False)
    )
    inside = {place for start, end in spans for place in range(start, end)}
    assert all(place in inside for place, item in enumerate(text) if item.isalnum())
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
