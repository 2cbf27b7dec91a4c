"""What counts as a word: what gold alignments number and what tokenizers never cross."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator

# No combining marks are assigned outside of these.
_MARK_RANGES = ((0x300, 0x20000), (0xE0100, 0xE01F0))


def split_words(text: str) -> list[str]:
    """Words and single punctuation marks, in their order, without the white space.

    Apostrophes and hyphens between letters, and points, commas and colons between digits, belong
    to the word: "don't", "geht's", "E-Mail", "3.50", "10:30". So do combining marks, as they do to
    a mark or symbol before them.
    """
    return _pattern(text.isascii()).findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) in `text` of each of `split_words(text)`."""
    return [match.span() for match in _pattern(text.isascii()).finditer(text)]


def word_pattern(letter: str, digit: str, combining: str) -> str:
    """The regular expression of one word or mark, for classes in some engine's own spelling.

    Letters are all that a word may be made of, `combining` those marks that combine.
    """
    inside = rf"['’-]{letter}+|(?<={digit})[.,:](?={digit}){letter}+"
    return rf"{letter}+(?:{inside})*|\S{combining}*"


@functools.cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    # ASCII has none: any of them will do, and is sooner looked for than all.
    marks = "\u0300" if ascii_only else "".join(_mark_ranges())
    return re.compile(word_pattern(rf"[\w{marks}]", r"\d", f"[{marks}]"))


def _mark_ranges() -> Iterator[str]:
    """The combining marks as ranges of a character class."""
    for first, end in _MARK_RANGES:
        marks = (at for at in range(first, end) if unicodedata.category(chr(at)).startswith("M"))
        for _, run in itertools.groupby(enumerate(marks), lambda each: each[1] - each[0]):
            numbers = [number for _, number in run]
            yield f"{chr(numbers[0])}-{chr(numbers[-1])}"
