"""Draw sentences: the kinds in the training part, and kinds with more clauses or adjectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from attnlab.tasks.translation.corpora.grammar import lexicon
from attnlab.tasks.translation.corpora.grammar.choices import SINGULAR, Choices, pool
from attnlab.tasks.translation.corpora.grammar.clauses import Clause
from attnlab.tasks.translation.corpora.grammar.linked import Translation
from attnlab.tasks.translation.corpora.grammar.phrases import (
    HOW_MANY,
    PRONOUNS,
    THE,
    WHICH,
    NounPhrase,
    Prepositional,
    Pronoun,
)
from attnlab.tasks.translation.corpora.grammar.subordinates import (
    ACTIONS,
    ALL_VERBS,
    asking,
    reason,
    relative,
    stated,
    stating,
    wondering,
)

_KIN = pool("sister mother father teacher doctor")
_I = PRONOUNS["I"]
_ASKED = {
    "subject": tuple(verb for verb in ALL_VERBS if pool(verb.subjects)[0].kind == "person"),
    "object": tuple(verb for verb in ALL_VERBS if verb.objects),
    "receiver": tuple(verb for verb in ALL_VERBS if verb.receivers),
    "place": tuple(
        verb for verb in ALL_VERBS if verb.places and pool(verb.places)[0].kind == "person"
    ),
}
_THINGS = tuple(
    verb for verb in ALL_VERBS if verb.objects and pool(verb.objects)[0].kind == "thing"
)


# --- statements -----------------------------------------------------------------------------------


def simple(choices: Choices) -> Clause:
    """One clause."""
    clause = choices.clause(choices.one(ALL_VERBS))
    clause.time_first = clause.time is not None and choices.chance(0.5)
    return clause


def describing(choices: Choices) -> Clause | None:
    """A clause with "is": something is good, somebody is or has been tired."""
    perfect = choices.chance(0.15)
    choices.adjectives = 0.6
    clause = choices.being(states=perfect, pronouns=0.5)
    if clause is not None and perfect:
        clause.tense = "perfect"
        clause.frequency = clause.frequency and lexicon.FREQUENCIES[choices.one((0, 1, 2))]
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
    """A clause and a subordinate clause after it."""
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
    """A clause and a subordinate clause before it."""
    choices.adjectives = 0.25
    clause = choices.clause(choices.one(ACTIONS), without="time")
    clause.first = reason(choices, clause, ("when", "when", "because", "although"))
    return clause


def that(choices: Choices) -> Clause:
    """I know that ..."""
    choices.adjectives = 0.3
    return stating(choices, stated(choices))


def whether(choices: Choices) -> Clause:
    """I do not know whether ..."""
    choices.adjectives = 0.3
    return wondering(choices)


# --- questions ------------------------------------------------------------------------------------


def yes_or_no(choices: Choices) -> Clause | None:
    """Does he ...? Has she ...? Can they ...? Is it ...?"""
    if choices.chance(0.15):
        clause = choices.being(pronouns=0.2)
        return None if clause is None or clause.subject is _I else clause
    if choices.chance(0.5):
        verb = lexicon.VERBS[choices.one(lexicon.ASKED_FIRST)]
        subject = choices.subject(verb, "present", SINGULAR, pronouns=0.0)
        if subject.person == "plural":
            return None
        return choices.clause(verb, subject, tense="present", deny=0.08)
    tense = choices.one(("perfect", "perfect", "can", "must", "want", "will"))
    deny = 0.0 if tense == "can" else 0.08  # "cannot he" isn't English
    clause = choices.clause(choices.one(ACTIONS), tense=tense, deny=deny)
    return None if clause.subject is _I else clause


def why(choices: Choices) -> Clause | None:
    """Why, where and when."""
    asked = choices.one((lexicon.WHY, lexicon.WHY, lexicon.WHERE, lexicon.WHEN))
    clause = asking(choices, asked)
    return None if clause.negated and clause.tense == "can" else clause  # as in `yes_or_no`


def who(choices: Choices) -> Clause:
    """Who, whom, what, to whom, with whom."""
    role = choices.one(("subject", "object", "object", "receiver", "place"))
    verb = choices.one(_ASKED[role])
    person = PRONOUNS["who"]
    if role == "subject":
        return choices.clause(verb, person, front=role, deny=0.0)
    clause = choices.clause(verb, without=f"{role} place", front=role, deny=0.0, pronouns=0.2)
    if role == "place":
        clause.place = Prepositional(verb.preposition, person)
    elif role == "object":
        things = pool(verb.objects)[0].kind != "person"
        clause.object = PRONOUNS["what"] if things else person
    else:
        clause.receiver = person
    return clause


def which(choices: Choices) -> Clause:
    """Which one, and how many."""
    if choices.chance(0.35):
        verb = choices.one(_ASKED["subject"])
        nouns = [noun for noun in pool(verb.subjects) if noun.plural]  # there are several of them
        subject = choices.noun_phrase(nouns, ((WHICH, False, False),))
        return choices.clause(verb, subject, front="subject", deny=0.0)
    verb = choices.one(_THINGS)
    style = (HOW_MANY, True, False) if choices.chance(0.5) else (WHICH, False, False)
    nouns = [noun for noun in pool(verb.objects) if noun.plural]
    without = "object place"
    clause = choices.clause(verb, without=without, front="object", deny=0.0, pronouns=0.2)
    clause.object = choices.noun_phrase(nouns, (style,))
    return clause


# --- kinds that train doesn't have ----------------------------------------------------------------


def that_with_reason(choices: Choices) -> Clause:
    """Three clauses: I know that ... because ..."""
    choices.adjectives = 0.2
    inner = choices.clause(choices.one(ACTIONS), without="time")
    inner.last = reason(choices, inner, ("because", "although", "when"))
    return stating(choices, inner)


def that_with_relative(choices: Choices) -> Clause | None:
    """Three clauses: I know that the man who ..."""
    inner = with_relative(choices)
    return inner and stating(choices, inner)


def that_that(choices: Choices) -> Clause | None:
    """Three clauses: I think that the teacher knows whether ..."""
    choices.adjectives = 0.2
    if choices.chance(0.5):
        inner = wondering(choices)
    else:
        inner = stating(choices, stated(choices))
    outer = stating(choices, inner)
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
    """A noun phrase with one adjective more than any in train."""
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


# --- streams --------------------------------------------------------------------------------------

# How often each kind of sentence comes, compared with the others.
KINDS: dict[Callable[[Choices], Clause | None], int] = {
    simple: 32,
    describing: 9,
    with_relative: 18,
    with_reason: 12,
    after_reason: 6,
    that: 7,
    whether: 5,
    yes_or_no: 10,
    why: 4,
    who: 4,
    which: 3,
}
BEYOND: dict[Callable[[Choices], Clause | None], int] = {
    that_with_reason: 3,
    that_with_relative: 3,
    that_that: 2,
    relative_and_reason: 3,
    two_relatives: 3,
    three_adjectives: 3,
    owners_owner: 3,
}
_QUESTIONS = (yes_or_no, why, who, which)


def sentences(
    kinds: Mapping[Callable[[Choices], Clause | None], int], seed: int | str
) -> Iterator[Translation]:
    """Yield sentences without end, the same on every machine; a sentence may come again."""
    choices = Choices(Random(seed).random)
    urn = [kind for kind, weight in kinds.items() for _ in range(weight)]
    while True:
        kind = choices.one(urn)
        clause = None
        while clause is None:
            choices.begin()
            clause = kind(choices)
        yield clause.sentence(kind in _QUESTIONS)
