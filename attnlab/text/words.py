"""Split texts into words, which gold alignments number and which tokens never cross."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

# All combining marks are in these ranges.
_MARK_RANGES = ((0x300, 0x20000), (0xE0100, 0xE01F0))
# Letters of scripts without spaces between words: line break classes SA, ID, CJ, AK and AS of
# Unicode's UAX #14. Tibetan isn't one of them, since it marks the end of each syllable.
_UNSPACED_BLOCKS = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai, Lao; Burmese; Khmer
    *((0x1950, 0x19DF), (0x1A20, 0x1AAF), (0x1B00, 0x1B7F)),  # Tai Le, Tai Lue; Tham; Balinese
    *((0x3000, 0x30FF), (0x3105, 0x312F), (0x31A0, 0x31BF)),  # kana and iteration marks; Bopomofo
    *((0x31F0, 0x31FF), (0xA980, 0xA9FF), (0xAA60, 0xAADF)),  # kana; Javanese; Burmese, Tai Viet
    *((0xFF66, 0xFF9D), (0x11700, 0x1174F)),  # narrow kana; Ahom
)
# Ideographs, Yi and Tangut syllables, old kana: all letters, some only in later Unicode versions.
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\ua48c\uf900-\ufaff\U00017000-\U00018d7f\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003fffd"
)
# Letters that belong to the character before them, as the combining marks do: vowels AM of Thai and
# Lao, voicing of narrow kana; joiners, which spaced scripts have, too.
_ATTACHED_UNSPACED = "\u0e33\u0eb3\uff9e\uff9f"
_ATTACHED = f"{_ATTACHED_UNSPACED}\u200c\u200d"
# Marks that put the next consonant below: Burmese, Khmer, Tai Tham, Balinese, Javanese.
_STACKING = "\u1039\u17d2\u1a60\u1b44\ua9c0"


def split_words(text: str) -> list[str]:
    """Split a text into words and single punctuation marks, without white space.

    Apostrophes and hyphens between letters, and points, commas and colons between digits, belong
    to the word: "don't", "geht's", "E-Mail", "3.50", "10:30". Combining marks belong to the
    character before them.

    In scripts without spaces between words, each character is a word, together with its combining
    marks and subscripts: Chinese, Japanese, Thai, Lao, Burmese, Khmer, Javanese and others.
    """
    return _pattern(text).findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) in `text` of each of `split_words(text)`."""
    return [match.span() for match in _pattern(text).finditer(text)]


def is_unspaced(text: str) -> bool:
    """Whether a text contains a letter of a script without spaces between words."""
    return not text.isascii() and _any_unspaced().search(text) is not None


def word_pattern(letter: str, digit: str, combining: str) -> str:
    """Return the regular expression of a word or mark, from an engine's character classes.

    `letter` matches any character of a word except those of `unspaced`; `combining` matches
    combining marks.
    """
    marks = f"(?:{combining}|[{_ATTACHED}])"
    alone = f"[{unspaced()}]"
    character = rf"{alone}(?:[{_STACKING}]{marks}*{alone}|{marks})*"
    return rf"{character}|{_spaced_word(letter, digit, combining)}"


@functools.cache
def unspaced() -> str:
    """Return the letters of scripts without spaces between words, for the inside of [ ]."""

    def is_letter(at: int) -> bool:
        kind = unicodedata.category(chr(at))
        return (kind[0] == "L" or kind == "Nl") and chr(at) not in _ATTACHED

    blocks = ((first, last + 1) for first, last in _UNSPACED_BLOCKS)
    return "".join(_ranges(blocks, is_letter)) + _IDEOGRAPHS


@functools.cache
def all_unspaced() -> str:
    """Return the letters for which `is_unspaced` is true, for the inside of [ ]."""
    return unspaced() + _ATTACHED_UNSPACED


def _spaced_word(letter: str, digit: str, combining: str) -> str:
    inside = rf"['’-]{letter}+|(?<={digit})[.,:](?={digit}){letter}+"
    return rf"{letter}+(?:{inside})*|\S{combining}*"


def _pattern(text: str) -> re.Pattern[str]:
    """Return the fastest pattern that finds all words of a text."""
    if is_unspaced(text):
        return _full_pattern()
    # ASCII has no combining marks, so a class of one such mark is enough and faster.
    return _spaced_pattern("\u0300" if text.isascii() else _marks())


@functools.cache
def _full_pattern() -> re.Pattern[str]:
    return re.compile(word_pattern(rf"(?:[^\W{unspaced()}]|[{_marks()}])", r"\d", f"[{_marks()}]"))


@functools.cache
def _spaced_pattern(marks: str) -> re.Pattern[str]:
    return re.compile(_spaced_word(rf"[\w{marks}]", r"\d", f"[{marks}]"))


@functools.cache
def _marks() -> str:
    return "".join(_ranges(_MARK_RANGES, lambda at: unicodedata.category(chr(at))[0] == "M"))


@functools.cache
def _any_unspaced() -> re.Pattern[str]:
    return re.compile(f"[{all_unspaced()}]")


def _ranges(blocks: Iterable[tuple[int, int]], wanted: Callable[[int], bool]) -> Iterator[str]:
    """Yield the wanted characters of some blocks (first, end) as ranges of a character class."""
    for first, end in blocks:
        points = enumerate(filter(wanted, range(first, end)))
        for _, run in itertools.groupby(points, lambda point: point[1] - point[0]):
            numbers = [number for _, number in run]
            yield f"{chr(numbers[0])}-{chr(numbers[-1])}"
