"""Streams of sentences: those to learn from, and those that go beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import NamedTuple

from attnlab.tasks.translation.corpora.grammar import compositions, questions, statements
from attnlab.tasks.translation.corpora.grammar.choices import Choices
from attnlab.tasks.translation.corpora.grammar.clauses import Clause
from attnlab.tasks.translation.corpora.grammar.linked import Translation

_ADJECTIVES = 0.45  # chance of an adjective, where a kind of sentence does not say otherwise


class Kind(NamedTuple):
    """A kind of sentence: how often it comes, what makes it, and whether it is a question."""

    weight: int
    make: Callable[[Choices], Clause | None]
    asks: bool = False


KINDS = (
    Kind(32, statements.simple),
    Kind(9, statements.describing),
    Kind(18, statements.with_relative),
    Kind(12, statements.with_reason),
    Kind(6, statements.after_reason),
    Kind(7, statements.that),
    Kind(5, statements.whether),
    Kind(10, questions.yes_or_no, asks=True),
    Kind(4, questions.why, asks=True),
    Kind(4, questions.who, asks=True),
    Kind(3, questions.which, asks=True),
)
BEYOND = (
    Kind(3, compositions.that_with_reason),
    Kind(3, compositions.that_with_relative),
    Kind(2, compositions.that_that),
    Kind(3, compositions.relative_and_reason),
    Kind(3, compositions.two_relatives),
    Kind(3, compositions.three_adjectives),
    Kind(3, compositions.owners_owner),
)


def sentences(kinds: tuple[Kind, ...], seed: int | str) -> Iterator[Translation]:
    """An endless stream, the same on every machine; a sentence may come again.

    Args:
        kinds: what it is made of.
        seed: of all chance in it.
    """
    choices = Choices(Random(seed).random)
    urn = [kind for kind in kinds for _ in range(kind.weight)]
    while True:
        kind = choices.one(urn)
        clause = None
        while clause is None:
            choices.begin(_ADJECTIVES)
            clause = kind.make(choices)
        yield write(clause, kind.asks)


def write(clause: Clause, asks: bool = False) -> Translation:
    """The sentence in both languages, as a statement or a question."""
    new = count().__next__
    return clause.question(new) if asks else clause.statement(new)
