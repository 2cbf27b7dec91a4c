"""Words linked to their translations, and the sentence pairs made from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

_CLINGING = frozenset(",.?")


class Link:
    """A link that a word and its translation share."""

    __slots__ = ()


class Word(NamedTuple):
    """A word or punctuation mark, and its links."""

    text: str
    links: tuple[Link, ...] = ()


class Both(NamedTuple):
    """The same phrase in both languages."""

    english: list[Word]
    german: list[Word]
    # a German relative clause, between commas, which may be moved after the verbs
    tail: Sequence[Word] = ()


class Translation(NamedTuple):
    """A sentence in both languages."""

    english: str
    german: str
    links: list[tuple[int, int]]  # pairs of positions, English word and German word, in order


COMMA = Word(",")


def paired(english: str, german: str) -> Both:
    """Link a word and its translation."""
    link = (Link(),)
    return Both([Word(english, link)], [Word(german, link)])


def fixed(english: str, german: str, links: str | None = None) -> Both:
    """Link a phrase and its translation; `links` are pairs of positions, by default 0-0 1-1 ..."""
    sides, count = _parse(english, german, links)
    new = [Link() for _ in range(count)]
    one, other = (
        [Word(text, tuple([new[at] for at in own])) for text, own in side] for side in sides
    )
    return Both(one, other)


def joined(*parts: Both) -> Both:
    """Concatenate parts; the tail is that of the last part."""
    english = [word for part in parts for word in part.english]
    german = [word for part in parts for word in part.german]
    return Both(english, german, parts[-1].tail)


@cache
def _parse(
    english: str, german: str, links: str | None
) -> tuple[list[list[tuple[str, list[int]]]], int]:
    """Return the words of each side with the numbers of their links, and the number of links."""
    sides = english.split(), german.split()
    pairs = links.split() if links else [f"{at}-{at}" for at in range(len(sides[0]))]
    words = []
    for side, *ends in zip(sides, *(pair.split("-") for pair in pairs), strict=True):
        owned = [[n for n, end in enumerate(ends) if int(end) == at] for at in range(len(side))]
        words.append(list(zip(side, owned, strict=True)))
    return words, len(pairs)


def finish(english: list[Word], german: list[Word], mark: str) -> Translation:
    """Add the mark, remove surplus commas, capitalise, and number the links."""
    end = Word(mark, (Link(),))
    english, german = _one_comma([*english, end]), _one_comma([*german, end])
    places: dict[Link, list[int]] = {}
    for at, word in enumerate(german):
        for link in word.links:
            places.setdefault(link, []).append(at)
    links = {
        (at, there)
        for at, word in enumerate(english)
        for link in word.links
        for there in places.get(link, ())
    }
    return Translation(_text(english), _text(german), sorted(links))


def _one_comma(words: list[Word]) -> list[Word]:
    """Remove commas before another mark; of two commas the one with a link stays."""
    if "," not in [word.text for word in words]:
        return words
    kept: list[Word] = []
    for word in words:
        if word.text in _CLINGING and kept and kept[-1].text == ",":
            comma = kept.pop()
            word = comma if word == COMMA else word
        kept.append(word)
    return kept


def _text(words: list[Word]) -> str:
    text = " ".join([word.text for word in words]).replace(" ,", ",")
    return text[0].upper() + text[1:-2] + text[-1]  # the mark at the end has a space before it
