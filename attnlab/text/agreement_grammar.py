"""A small grammar of English in which a verb agrees with a noun that may stand far before it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SINGULAR, PLURAL = 0, 1
Noun = tuple[str, str]

# Singular and plural; no singular ends in s, and every regular plural does.
_HOLLOW = [
    *(("cabinet", "cabinets"), ("box", "boxes"), ("shelf", "shelves")),
    *(("cup", "cups"), ("basket", "baskets"), ("house", "houses"), ("garden", "gardens")),
    *(("tower", "towers"), ("car", "cars"), ("street", "streets")),
    *(("city", "cities"), ("school", "schools")),
]
_THINGS = [
    *_HOLLOW,
    *(("key", "keys"), ("door", "doors"), ("table", "tables"), ("chair", "chairs")),
    *(("book", "books"), ("letter", "letters"), ("picture", "pictures"), ("lamp", "lamps")),
    *(("window", "windows"), ("wall", "walls"), ("bridge", "bridges")),
    *(("road", "roads"), ("tree", "trees"), ("flower", "flowers"), ("apple", "apples")),
]
_LIVING = [
    *(("man", "men"), ("woman", "women"), ("child", "children"), ("doctor", "doctors")),
    *(("teacher", "teachers"), ("farmer", "farmers"), ("student", "students"), ("girl", "girls")),
    ("boy", "boys"),
    *(("king", "kings"), ("queen", "queens"), ("friend", "friends")),
    *(("mother", "mothers"), ("father", "fathers"), ("person", "people")),
    *(("dog", "dogs"), ("cat", "cats"), ("horse", "horses"), ("bird", "birds")),
]
_NOUNS = _THINGS + _LIVING
_PLACES = {
    "in": _HOLLOW,
    **dict.fromkeys(("on", "at", "under", "above"), _THINGS),
    **dict.fromkeys(("near", "behind", "beside", "by", "opposite", "with"), _NOUNS),
}
_BELONGINGS = {**_PLACES, **dict.fromkeys(("to", "of", "from", "for"), _NOUNS)}  # behind a noun
# Verbs of relative clauses stand in the past, which has no number: they say nothing of the subject.
_DONE_TO = ("touched", "hid", "faced", "moved", "covered", "held")
_DONE_BY = ("lost", "saw", "found", "sold", "painted", "remembered")
_ALONE = ("fell", "vanished", "remained", "moved")
_LINKING = [
    *(("is", "are"), ("was", "were"), ("looks", "look"), ("seems", "seem")),
    *(("appears", "appear"), ("stays", "stay"), ("remains", "remain"), ("becomes", "become")),
]
_STANDING = [("is", "are"), ("was", "were"), ("stands", "stand"), ("waits", "wait")]
_ACTING = [
    *(("sleeps", "sleep"), ("sits", "sit"), ("runs", "run"), ("lives", "live")),
    *(("plays", "play"), ("works", "work")),
]
_STATES = [
    *("old", "new", "small", "large", "dirty", "clean", "dark", "quiet", "strange", "famous"),
    *("pretty", "heavy", "cold", "plain", "important", "beautiful", "big", "red", "good"),
]
_FEELINGS = ("happy", "tired", "young", "hungry")


class Twins(NamedTuple):
    """A sentence, and the same with the other number of its verb."""

    right: str
    wrong: str


def twins(draw: random.Random, number: int, between: Sequence[int]) -> Twins:
    """A sentence about a subject, and its broken twin.

    Args:
        draw: chooses words and clauses.
        number: of the subject, `SINGULAR` or `PLURAL`.
        between: the numbers of the nouns that stand between subject and verb, in their order.
    """
    # The first noun of a sentence need not be its subject.
    opening = f"{_place(draw)}, " if draw.random() < 0.2 else ""
    living = draw.random() < 0.25
    noun = draw.choice(_LIVING if living else _THINGS)[number]
    subject = f"{opening}the {noun}{_modifiers(draw, between)}"
    verb, rest = _predicate(draw, living)
    right, wrong = (f"{subject} {verb[form]}{rest}." for form in (number, 1 - number))
    return Twins(right[0].upper() + right[1:], wrong[0].upper() + wrong[1:])


def _modifiers(draw: random.Random, numbers: Sequence[int]) -> str:
    """What stands between subject and verb: phrases of place, and one relative clause at most."""
    if not numbers:
        return f" that {draw.choice(_ALONE)}" if draw.random() < 0.25 else ""
    clause = draw.randrange(2 * len(numbers))  # beyond the last noun: none
    words = []
    for at, number in enumerate(numbers):
        if at != clause:
            words.append(_phrase(draw, _BELONGINGS, number))
        elif draw.random() < 0.5:
            noun = draw.choice(_NOUNS)[number]
            words.append(f"that {draw.choice(_DONE_TO)} the {noun}")
        else:
            words.append(f"that the {draw.choice(_LIVING)[number]} {draw.choice(_DONE_BY)}")
    return " " + " ".join(words)


def _place(draw: random.Random) -> str:
    """A phrase of place, such as `near the doors`."""
    return _phrase(draw, _PLACES, draw.randrange(2))


def _phrase(draw: random.Random, nouns: Mapping[str, Sequence[Noun]], number: int) -> str:
    """One of the prepositions, and one of its nouns, in this number."""
    preposition = draw.choice([*nouns])
    return f"{preposition} the {draw.choice(nouns[preposition])[number]}"


def _predicate(draw: random.Random, living: bool) -> tuple[tuple[str, str], str]:
    """A verb, singular and plural, and what follows it; some verbs are for living subjects."""
    if draw.random() < 0.5:
        return draw.choice(_LINKING), f" {draw.choice([*_STATES, *_FEELINGS * living])}"
    if living and draw.random() < 0.2:
        return draw.choice(_ACTING), f" {_place(draw)}" if draw.random() < 0.5 else ""
    return draw.choice(_STANDING), f" {_place(draw)}"
