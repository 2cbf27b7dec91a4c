"""What counts as a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.text.words import split_words, word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n\u00a0", []),
        ("Hello, world!", ["Hello", ",", "world", "!"]),
        ("I don't know.", ["I", "don't", "know", "."]),
        ("Wie geht’s?", ["Wie", "geht’s", "?"]),
        ("'Nein', sagte sie.", ["'", "Nein", "'", ",", "sagte", "sie", "."]),
        ("E-Mail - ja", ["E-Mail", "-", "ja"]),
        ("It's 10:30, 3.50 or 1,000.", ["It's", "10:30", ",", "3.50", "or", "1,000", "."]),
        ("z.B. a:b", ["z", ".", "B", ".", "a", ":", "b"]),
        ("what?!", ["what", "?", "!"]),
        ("„Grüße“", ["„", "Grüße", "“"]),
        ("nai\u0308ve e\u0301te\u0301", ["nai\u0308ve", "e\u0301te\u0301"]),
        ("हिन्दी है", ["हिन्दी", "है"]),
        ("a_b <pad> ▁", ["a_b", "<", "pad", ">", "▁"]),
    ],
)
def test_words_and_marks(text, words):
    assert split_words(text) == words


@given(st.text())
def test_nothing_but_white_space_is_lost(text):
    assert "".join(split_words(text)) == "".join(text.split())


@given(st.text(st.sampled_from("ab1'’-.,: \"\u0301é\n")))
def test_spans_are_where_the_words_stand(text):
    assert [text[start:end] for start, end in word_spans(text)] == split_words(text)


@given(st.lists(st.sampled_from(["don't", "E-Mail", "3.50", ",", "."]), min_size=1))
def test_spaced_words_stay_as_they_are(words):
    assert split_words(" ".join(words)) == words
