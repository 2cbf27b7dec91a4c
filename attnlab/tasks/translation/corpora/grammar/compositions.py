"""Chance: sentences that go beyond those to learn from, made of the same parts."""

from __future__ import annotations

from attnlab.tasks.translation.corpora.grammar.choices import Choices, pool
from attnlab.tasks.translation.corpora.grammar.clauses import Clause, Subordinate
from attnlab.tasks.translation.corpora.grammar.declension import THE
from attnlab.tasks.translation.corpora.grammar.phrases import NounPhrase, Pronoun
from attnlab.tasks.translation.corpora.grammar.statements import with_relative
from attnlab.tasks.translation.corpora.grammar.subordinates import (
    ACTIONS,
    ALL_VERBS,
    reason,
    relative,
    stated,
    stating,
    wondering,
)

_KIN = pool("sister mother father teacher doctor")


def that_with_reason(choices: Choices) -> Clause:
    """Three clauses: I know that ... because ..."""
    choices.adjectives = 0.2
    inner = choices.clause(choices.one(ACTIONS), without="time")
    inner.last = reason(choices, inner, ("because", "although", "when"))
    return stating(choices, Subordinate("that", inner))


def that_with_relative(choices: Choices) -> Clause | None:
    """Three clauses: I know that the man who ..."""
    inner = with_relative(choices)
    return inner and stating(choices, Subordinate("that", inner))


def that_that(choices: Choices) -> Clause | None:
    """Three clauses: I think that the teacher knows whether ..."""
    choices.adjectives = 0.2
    if choices.chance(0.5):
        inner = wondering(choices)
    else:
        inner = stating(choices, Subordinate("that", stated(choices)))
    outer = stating(choices, Subordinate("that", inner))
    dull = outer.verb is inner.verb or isinstance(inner.subject, Pronoun)
    return None if dull else outer


def relative_and_reason(choices: Choices) -> Clause | None:
    """Three clauses: the man who ... because ...; or because ..., the man who ..."""
    clause = with_relative(choices)
    if clause is None or clause.verb.always:
        return None
    if choices.chance(0.5):
        clause.last = reason(choices, clause, ("because", "although"))
    else:
        clause.first = reason(choices, clause, ("when", "because", "although"))
    return clause


def two_relatives(choices: Choices) -> Clause | None:
    """Three clauses: the man who ... sees the dog that ..."""
    clause = with_relative(choices)
    if clause is None or clause.receiver:
        return None
    for part in (clause.subject, clause.object):
        if not isinstance(part, NounPhrase) or part.owner or part.noun.kind == "drink":
            return None
        part.relative = part.relative or relative(choices, part)
        if part.relative is None:
            return None
    clause.place = None
    return clause


def three_adjectives(choices: Choices) -> Clause | None:
    """A noun phrase with an adjective more than any to learn from."""
    clause = choices.clause(choices.one(ALL_VERBS), pronouns=0.0)
    for part in (clause.object, clause.subject):
        if isinstance(part, NounPhrase) and not part.owner and choices.add_adjectives(part, 3):
            return clause
    return None


def owners_owner(choices: Choices) -> Clause | None:
    """The dog of the sister of the king."""
    clause = choices.clause(choices.one(ALL_VERBS), pronouns=0.0)
    for part in (clause.subject, clause.object):
        if isinstance(part, NounPhrase) and part.owner and part.owner.determiner is THE:
            part.owner = NounPhrase(choices.noun(_KIN), THE, owner=part.owner)
            return clause
    return None
