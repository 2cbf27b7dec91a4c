"""A small grammar of English in which a verb agrees with a noun that may stand far before it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

SINGULAR, PLURAL = 0, 1

# Singular and plural; no singular ends in s, and every regular plural does.
_THINGS = [
    *(("key", "keys"), ("cabinet", "cabinets"), ("door", "doors"), ("box", "boxes")),
    *(("table", "tables"), ("chair", "chairs"), ("shelf", "shelves"), ("book", "books")),
    *(("letter", "letters"), ("picture", "pictures"), ("lamp", "lamps"), ("bottle", "bottles")),
    *(("knife", "knives"), ("cup", "cups"), ("basket", "baskets"), ("window", "windows")),
    *(("house", "houses"), ("garden", "gardens"), ("tower", "towers"), ("wall", "walls")),
    *(("bridge", "bridges"), ("road", "roads"), ("boat", "boats"), ("tree", "trees")),
]
_PEOPLE = [
    *(("man", "men"), ("woman", "women"), ("child", "children"), ("doctor", "doctors")),
    *(("teacher", "teachers"), ("farmer", "farmers"), ("student", "students"), ("girl", "girls")),
    *(("neighbor", "neighbors"), ("driver", "drivers"), ("painter", "painters"), ("boy", "boys")),
]
_PLACES = ("near", "behind", "beside", "by", "opposite", "under", "with", "above")
# Verbs of relative clauses stand in the past, which has no number: they say nothing of the subject.
_DONE_TO = ("touched", "hid", "faced", "moved", "covered", "held")
_DONE_BY = ("lost", "saw", "found", "sold", "painted", "remembered")
_ALONE = ("fell", "vanished", "remained", "moved")
_LINKING = [
    *(("is", "are"), ("was", "were"), ("looks", "look"), ("seems", "seem")),
    *(("appears", "appear"), ("stays", "stay"), ("remains", "remain"), ("becomes", "become")),
]
_STANDING = [("is", "are"), ("was", "were"), ("stands", "stand"), ("waits", "wait")]
_STATES = [
    *("old", "new", "small", "large", "dirty", "clean", "dark", "quiet", "strange", "famous"),
    *("pretty", "heavy", "cold", "plain", "important", "beautiful"),
]


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
    people = _PEOPLE if draw.random() < 0.25 else _THINGS
    subject = f"{opening}the {draw.choice(people)[number]}{_modifiers(draw, between)}"
    verb, rest = _predicate(draw)
    right, wrong = (f"{subject} {verb[form]} {rest}." for form in (number, 1 - number))
    return Twins(right[0].upper() + right[1:], wrong[0].upper() + wrong[1:])


def _modifiers(draw: random.Random, numbers: Sequence[int]) -> str:
    """What stands between subject and verb: phrases of place, and one relative clause at most."""
    if not numbers:
        return f" that {draw.choice(_ALONE)}" if draw.random() < 0.25 else ""
    clause = draw.randrange(2 * len(numbers))  # beyond the last noun: none
    words = []
    for at, number in enumerate(numbers):
        if at != clause:
            words.append(_place(draw, number))
        elif draw.random() < 0.5:
            noun = draw.choice(_THINGS + _PEOPLE)[number]
            words.append(f"that {draw.choice(_DONE_TO)} the {noun}")
        else:
            words.append(f"that the {draw.choice(_PEOPLE)[number]} {draw.choice(_DONE_BY)}")
    return " " + " ".join(words)


def _place(draw: random.Random, number: int | None = None) -> str:
    """A phrase of place, such as `near the doors`; the number is drawn unless it is given."""
    number = draw.randrange(2) if number is None else number
    return f"{draw.choice(_PLACES)} the {draw.choice(_THINGS)[number]}"


def _predicate(draw: random.Random) -> tuple[tuple[str, str], str]:
    """A verb, singular and plural, and what follows it."""
    if draw.random() < 0.5:
        return draw.choice(_LINKING), draw.choice(_STATES)
    return draw.choice(_STANDING), _place(draw)
