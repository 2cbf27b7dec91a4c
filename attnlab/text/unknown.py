"""Warnings and notes on words that a vocabulary doesn't have, and on texts that are cut off."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Collection, Iterable

UNKNOWN_TEXT = "⁇"  # the text of an unknown token
# The note in a page on an unknown token whose word isn't known.
UNNAMED = {UNKNOWN_TEXT: "a word that is not in the vocabulary"}
_MOST_NAMED = 12
_SIMILAR = 0.75  # least similarity, from 0 to 1, of a known word that is suggested
_LONGEST_SHOWN = 60  # characters of a text in a warning


def nearest(word: str, known: Collection[str], most: int = 3) -> list[str]:
    """Return the known words most like a word, the best first; case makes no difference."""
    spelled: dict[str, str] = {}
    for spelling in known:
        spelled.setdefault(spelling.lower(), spelling)
    matches = difflib.get_close_matches(word.lower(), [*spelled], n=most, cutoff=_SIMILAR)
    return [spelled[match] for match in matches]


def unknown_warning(
    words: Iterable[str], warned: set[str], known: Collection[str] = ()
) -> str | None:
    """Return a warning about unknown words, or None if all were `warned` about before.

    Args:
        words: words that aren't in the vocabulary.
        warned: words of earlier warnings; the new words are added.
        known: the words of the vocabulary; the warning names the nearest one of each word.
    """
    new = [word for word in dict.fromkeys(words) if word not in warned]
    if not new:
        return None
    warned.update(new)
    shown = []
    for word in new[:_MOST_NAMED]:
        similar = nearest(word, known, 1)
        shown.append(f"{word} (nearest known word: {similar[0]})" if similar else word)
    more = ", ..." * (len(new) > _MOST_NAMED)
    return f"not in the model's vocabulary, and read as unknown: {', '.join(shown)}{more}"


def cut_warning(noun: str, most: int, text: str) -> str:
    """Return the warning that a model reads only the first `most` tokens of a text, a `noun`."""
    shown = textwrap.shorten(text, _LONGEST_SHOWN, placeholder=" ...")
    return (
        f"only the first {most} tokens of a {noun} are read, as in training; the end of {shown!r} "
        "is cut off."
    )


def unknown_column(words: Iterable[str]) -> str:
    """Return the last column of a line of output, with its unknown words; "" without any."""
    named = ", ".join(dict.fromkeys(words))
    return f"\tunknown: {named}" if named else ""
