"""Unknown words: the nearest known ones, the warning, the column."""

import pytest

from attnlab.text.unknown import (
    name_unknown,
    nearest,
    unknown_column,
    unknown_notes,
    unknown_warning,
)

KNOWN = ["the", "dog", "dogs", "king", "King", "keys"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Dog", ["dog", "dogs"]), ("kign", ["king"]), ("Kings", ["king"]), ("astronaut", [])],
)
def test_the_nearest_words_are_similar_in_any_case(word, expected):
    assert nearest(word, KNOWN) == expected


def test_each_unknown_word_is_warned_about_once_with_the_nearest_known_one():
    warned: set[str] = set()
    text = unknown_warning(["Dog", "xyz", "Dog"], warned, KNOWN)
    assert text.endswith("read as unknown: Dog (nearest known word: dog), xyz")
    assert unknown_warning(["xyz", "Dog"], warned, KNOWN) is None
    many = unknown_warning(map(str, range(13)), set())
    assert many.endswith("10, 11, ...")


def test_a_column_names_unknown_words_once():
    assert unknown_column([]) == ""
    assert unknown_column(["to", "of", "to"]) == "\tunknown: to, of"


def test_unknown_tokens_are_named_in_their_order_as_far_as_names_are_known():
    assert name_unknown(["the", "⁇", "⁇", "."], ["Dog", "ate"]) == ["the", "Dog", "ate", "."]
    assert name_unknown(["⁇", "the", "⁇"], ["Dog"]) == ["Dog", "the", "⁇"]


def test_a_note_has_the_nearest_known_word_if_there_is_one():
    assert unknown_notes(["Dog", "xyz", "Dog"], KNOWN) == {
        "⁇": "a word that is not in the vocabulary",
        "Dog": "not in the vocabulary; nearest known word: dog",
        "xyz": "not in the vocabulary",
    }
