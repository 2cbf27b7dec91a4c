"""Unknown words: the nearest known ones, the warning."""

from attnlab.text.vocabulary import nearest, unknown_warning

KNOWN = ["the", "dog", "dogs", "king", "King", "keys"]


def test_the_nearest_words_are_similar_in_any_case():
    for word, expected in [
        ("Dog", ["dog", "dogs"]),
        ("kign", ["king"]),
        ("Kings", ["king"]),
        ("astronaut", []),
    ]:
        assert nearest(word, KNOWN) == expected


def test_each_unknown_word_is_warned_about_once_with_the_nearest_known_one():
    warned: set[str] = set()
    text = unknown_warning(["Dog", "xyz", "Dog"], warned, KNOWN)
    assert text.endswith("read as unknown: Dog (nearest known word: dog), xyz")
    assert unknown_warning(["xyz", "Dog"], warned, KNOWN) is None
    many = unknown_warning(map(str, range(13)), set())
    assert many.endswith("10, 11, ...")
