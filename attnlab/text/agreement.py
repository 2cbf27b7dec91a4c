"""Pairs of sentences that differ in the number of the verb, one right and one wrong.

A small grammar of English writes them. In it a verb agrees with a noun that may be far before it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

VERSION = 2  # of the grammar; part of digests, because other versions write other sentences
HELD_OUT = 1000  # texts, half of them right
MOST_ATTRACTORS = 3
_MOST_BETWEEN = 5  # nouns between subject and verb
_MOST_ALIKE = 2  # nouns of the subject's number, in sentences with attractors
_SIMPLE = 0.5  # share of the sentences without attractors that have no nouns between at all

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
_BELONGINGS = {**_PLACES, **dict.fromkeys(("to", "of", "from", "for"), _NOUNS)}  # after a noun
# Verbs of relative clauses are in the past tense, whose form doesn't depend on the number.
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
    """A sentence, and the same sentence with the wrong number of its verb."""

    right: str
    wrong: str


def twins(draw: random.Random, number: int, between: Sequence[int]) -> Twins:
    """Draw a sentence and its wrong twin.

    Args:
        draw: draws words and clauses.
        number: the subject's number, `SINGULAR` or `PLURAL`.
        between: the numbers of the nouns between subject and verb, in their order.
    """
    # With an opening, the first noun isn't the subject.
    opening = f"{_place(draw)}, " if draw.random() < 0.2 else ""
    living = draw.random() < 0.25
    noun = draw.choice(_LIVING if living else _THINGS)[number]
    subject = f"{opening}the {noun}{_modifiers(draw, between)}"
    verb, rest = _predicate(draw, living)
    right, wrong = (f"{subject} {verb[form]}{rest}." for form in (number, 1 - number))
    return Twins(right[0].upper() + right[1:], wrong[0].upper() + wrong[1:])


def _modifiers(draw: random.Random, numbers: Sequence[int]) -> str:
    """Draw the words between subject and verb: phrases of place, sometimes a relative clause."""
    if not numbers:
        return f" that {draw.choice(_ALONE)}" if draw.random() < 0.25 else ""
    clause = draw.randrange(2 * len(numbers))  # in half of the cases no noun has this number
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
    """Draw a phrase of place, such as `near the doors`."""
    return _phrase(draw, _PLACES, draw.randrange(2))


def _phrase(draw: random.Random, nouns: Mapping[str, Sequence[Noun]], number: int) -> str:
    """Draw a preposition and one of its nouns, in this number."""
    preposition = draw.choice([*nouns])
    return f"{preposition} the {draw.choice(nouns[preposition])[number]}"


def _predicate(draw: random.Random, living: bool) -> tuple[tuple[str, str], str]:
    """Draw a verb, singular and plural, and the words after it; some verbs need living subjects."""
    if draw.random() < 0.5:
        return draw.choice(_LINKING), f" {draw.choice([*_STATES, *_FEELINGS * living])}"
    if living and draw.random() < 0.2:
        return draw.choice(_ACTING), f" {_place(draw)}" if draw.random() < 0.5 else ""
    return draw.choice(_STANDING), f" {_place(draw)}"


def held_out(seed: int) -> list[tuple[int, Twins]]:
    """Return the twins of validation, then those of the test; train doesn't contain them."""
    return list(itertools.islice(drawn(seed, "held out"), HELD_OUT))


def drawn(seed: int, what: str, not_these: Collection[Twins] = ()) -> Iterator[tuple[int, Twins]]:
    """Draw different twins without end, each with its number of attractors.

    Args:
        seed: the seed.
        what: the purpose of the sentences; each purpose has its own random numbers.
        not_these: twins that are left out.
    """
    draw, seen = random.Random(f"{seed} {what}"), {*not_these}
    balanced = itertools.product((SINGULAR, PLURAL), range(MOST_ATTRACTORS + 1))
    for number, attractors in itertools.cycle(balanced):
        between = _between(draw, number, attractors)
        found = twins(draw, number, between)
        while found in seen:
            found = twins(draw, number, between)
        seen.add(found)
        yield attractors, found


def natural(seed: int, not_these: Collection[Twins] = ()) -> Iterator[Twins]:
    """Draw different twins without end, most of them simple, as in natural texts.

    Half of them have no noun between subject and verb, a quarter has one, and so on. Each noun is
    singular or plural with equal probability.
    """
    draw, seen = random.Random(f"{seed} natural"), {*not_these}
    while True:
        count = next(n for n in itertools.count() if n == _MOST_BETWEEN or draw.random() < 0.5)
        between = [draw.randrange(2) for _ in range(count)]
        found = twins(draw, draw.randrange(2), between)
        if found not in seen:
            seen.add(found)
            yield found


def _between(draw: random.Random, number: int, attractors: int) -> list[int]:
    """Draw the numbers (singular, plural) of the nouns between subject and verb.

    With attractors, 1 to 3 of them and 0 to 2 other nouns are equally probable, so that the counts
    of singular and plural nouns don't reveal the subject's number. A third of these sentences has
    only attractors; three quarters of the others end in a noun of the subject's number, which makes
    half of all.
    """
    if not attractors and draw.random() < _SIMPLE:
        return []
    alike = draw.randint(0, _MOST_ALIKE if attractors else MOST_ATTRACTORS)
    nouns = [number] * alike + [1 - number] * attractors
    last = number if alike and draw.random() < 0.75 else 1 - number
    if last not in nouns:
        return nouns
    nouns.remove(last)
    draw.shuffle(nouns)
    return [*nouns, last]
