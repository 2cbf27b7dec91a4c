"""Splitting texts into words."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from attnlab.text.words import split_words, word_spans


def test_words_and_marks():
    for text, words in [
        ("", []),
        ("Hello, world!", ["Hello", ",", "world", "!"]),
        ("I don't know.", ["I", "don't", "know", "."]),
        ("Wie geht’s?", ["Wie", "geht’s", "?"]),
        ("E-Mail - ja", ["E-Mail", "-", "ja"]),
        ("It's 10:30, 3.50 or 1,000.", ["It's", "10:30", ",", "3.50", "or", "1,000", "."]),
        ("z.B. a:b", ["z", ".", "B", ".", "a", ":", "b"]),
        ("„Grüße“", ["„", "Grüße", "“"]),
        ("nai\u0308ve e\u0301te\u0301", ["nai\u0308ve", "e\u0301te\u0301"]),
        ("हिन्दी है", ["हिन्दी", "है"]),
        ("a_b <pad> ▁", ["a_b", "<", "pad", ">", "▁"]),
    ]:
        assert split_words(text) == words


@given(st.text())
def test_only_white_space_is_lost(text):
    assert "".join(split_words(text)) == "".join(text.split())


@given(st.text(st.sampled_from("ab1'’-.,: \"\u0301é\n")))
def test_spans_are_the_positions_of_words(text):
    assert [text[start:end] for start, end in word_spans(text)] == split_words(text)


def test_characters_of_scripts_without_spaces_are_words():
    for text, words in [
        ("彼得于1900年在柏林。", [*"彼得于", "1900", *"年在柏林。"]),
        ("東京タワーは333メートル", [*"東京タワーは", "333", *"メートル"]),
        ("か\u3099き ｶﾞｷ", ["か\u3099", "き", "ｶﾞ", "ｷ"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
        ("น้ำดี ปี๒๕", ["น้ำ", "ดี", "ปี", "๒๕"]),
        ("ភាសាខ្មែរ", ["ភា", "សា", "ខ្មែ", "រ"]),
        ("မြန်မာ သင်္ဘော", ["မြ", "န်", "မာ", "သ", "င်္ဘော"]),
        ("བོད་སྐད།", ["བོད", "་", "སྐད", "།"]),
        ("E-メール don't", ["E", "-", *"メール", "don't"]),
        ("한국어는 1989년에", ["한국어는", "1989년에"]),
        ("Việt Nam हिन्दी עברית", ["Việt", "Nam", "हिन्दी", "עברית"]),
    ]:
        assert split_words(text) == words
        assert split_words(unicodedata.normalize("NFC", text)) == [
            unicodedata.normalize("NFC", word) for word in words
        ]
