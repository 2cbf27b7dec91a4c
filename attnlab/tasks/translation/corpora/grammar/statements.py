"""Chance: kinds of statements to learn from."""

from __future__ import annotations

from attnlab.tasks.translation.corpora.grammar.choices import Choices
from attnlab.tasks.translation.corpora.grammar.clauses import Clause, Subordinate
from attnlab.tasks.translation.corpora.grammar.lexicon import FREQUENCIES
from attnlab.tasks.translation.corpora.grammar.phrases import NounPhrase
from attnlab.tasks.translation.corpora.grammar.subordinates import (
    ACTIONS,
    ALL_VERBS,
    reason,
    relative,
    stated,
    stating,
    wondering,
)


def simple(choices: Choices) -> Clause:
    """One clause."""
    clause = choices.clause(choices.one(ALL_VERBS))
    clause.time_first = clause.time is not None and choices.chance(0.5)
    return clause


def describing(choices: Choices) -> Clause | None:
    """Something is good, somebody is or has been tired."""
    perfect = choices.chance(0.15)
    choices.adjectives = 0.6
    clause = choices.being(states=perfect, pronouns=0.5)
    if clause is not None and perfect:
        clause.tense = "perfect"
        clause.frequency = clause.frequency and FREQUENCIES[choices.one((0, 1, 2))]
    return clause


def with_relative(choices: Choices) -> Clause | None:
    """A clause whose subject or object has a relative clause."""
    choices.adjectives = 0.25
    clause = choices.being() if choices.chance(0.2) else None
    if clause is None:
        clause = choices.clause(choices.one(ALL_VERBS), without="time", pronouns=0.1)
    heads = [
        part
        for part in (clause.subject, None if clause.receiver else clause.object)
        if isinstance(part, NounPhrase) and not part.owner and part.noun.kind != "drink"
    ]
    if not heads:
        return None
    head = choices.one(heads)
    head.relative = relative(choices, head)
    if head.relative is None or head.relative.verb is clause.verb:
        return None
    if head is clause.object:
        clause.place = None
    return clause


def with_reason(choices: Choices) -> Clause:
    """A clause and a subordinate one behind it."""
    choices.adjectives = 0.25
    clause = choices.being(states=True, pronouns=0.5) if choices.chance(0.15) else None
    if clause is None:
        clause = choices.clause(choices.one(ACTIONS))
    clause.time_first = clause.time is not None and choices.chance(0.3)
    grounds = ("because", "because", "although")
    moments = () if clause.predicate else ("before", "when")
    clause.last = reason(choices, clause, (*grounds, *moments))
    return clause


def after_reason(choices: Choices) -> Clause:
    """A clause and a subordinate one before it."""
    choices.adjectives = 0.25
    clause = choices.clause(choices.one(ACTIONS), without="time")
    clause.first = reason(choices, clause, ("when", "when", "because", "although"))
    return clause


def that(choices: Choices) -> Clause:
    """I know that ..."""
    choices.adjectives = 0.3
    return stating(choices, Subordinate("that", stated(choices)))


def whether(choices: Choices) -> Clause:
    """I do not know whether ..."""
    choices.adjectives = 0.3
    return wondering(choices)
