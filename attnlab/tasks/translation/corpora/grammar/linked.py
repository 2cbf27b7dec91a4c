"""Words that know their translation: what the grammar's rules build, and pairs made from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

_CLINGING = frozenset(",.?")


class Link:
    """What words and their translations share."""

    __slots__ = ()


class Word(NamedTuple):
    """A word or punctuation mark, and its links."""

    text: str
    links: tuple[Link, ...] = ()


class Both(NamedTuple):
    """The same phrase in both languages."""

    english: list[Word]
    german: list[Word]
    # a German relative clause, between commas, that may stand after the verbs instead
    tail: Sequence[Word] = ()


class Translation(NamedTuple):
    """A finished sentence."""

    english: str
    german: str
    links: list[tuple[int, int]]  # pairs of positions, English word and German word, in order


COMMA = Word(",")


def paired(english: str, german: str) -> Both:
    """A word and its translation."""
    link = (Link(),)
    return Both([Word(english, link)], [Word(german, link)])


def fixed(english: str, german: str, links: str | None = None) -> Both:
    """A phrase that never changes; `links` are pairs of positions, by default word by word."""
    sides, count = _parse(english, german, links)
    new = [Link() for _ in range(count)]
    one, other = (
        [Word(text, tuple([new[at] for at in own])) for text, own in side] for side in sides
    )
    return Both(one, other)


def joined(*parts: Both) -> Both:
    """One part after the other; that of the last one is the tail."""
    english = [word for part in parts for word in part.english]
    german = [word for part in parts for word in part.german]
    return Both(english, german, parts[-1].tail)


@cache
def _parse(
    english: str, german: str, links: str | None
) -> tuple[list[list[tuple[str, list[int]]]], int]:
    """The words of each side with the numbers of their links, and how many links there are."""
    sides = english.split(), german.split()
    pairs = links.split() if links else [f"{at}-{at}" for at in range(len(sides[0]))]
    words = []
    for side, *ends in zip(sides, *(pair.split("-") for pair in pairs), strict=True):
        owned = [[n for n, end in enumerate(ends) if int(end) == at] for at in range(len(side))]
        words.append(list(zip(side, owned, strict=True)))
    return words, len(pairs)


def finish(english: list[Word], german: list[Word], mark: str) -> Translation:
    """Put the mark at the end, commas and capitals in their places, and links into numbers."""
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
    """The words without commas that stand before another mark; the comma with a link stays."""
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
