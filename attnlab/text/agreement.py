"""Sentences of a grammar, each with its broken twin: drawn by a seed, and always the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator

from attnlab.text.agreement_grammar import PLURAL, SINGULAR, Twins, twins

VERSION = 2  # of the grammar; another one may write other sentences
HELD_OUT = 1000  # texts, half of them right
MOST_ATTRACTORS = 3
_MOST_BETWEEN = 5  # nouns between subject and verb
_MOST_ALIKE = 2  # nouns of the subject's number beside attractors
_SIMPLE = 0.5  # share of the sentences without attractors that have no other noun there, either


def held_out(seed: int) -> list[tuple[int, Twins]]:
    """The twins that nobody learns from, those to validate on first, then those to test on."""
    return list(itertools.islice(drawn(seed, "held out"), HELD_OUT))


def drawn(seed: int, what: str, not_these: Collection[Twins] = ()) -> Iterator[tuple[int, Twins]]:
    """Different twins without end, each with its number of attractors.

    Args:
        seed: which sentences.
        what: they are for; other words give others.
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
    """Different twins without end, of which most are simple, as sentences of texts are.

    Half of them have no noun between subject and verb, a quarter has one, and so on, each of either
    number.
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
    """The numbers of the nouns between subject and verb.

    With 1 to 3 attractors and, equally often, 0 to 2 other nouns, as many sentences with a nouns of
    one number and b of the other have a subject of the one number as of the other. A third has
    attractors alone; of the others three quarters end in a noun of the subject's number: in all a
    half.
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
