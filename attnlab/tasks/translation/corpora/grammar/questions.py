"""Chance: kinds of questions to learn from."""

from __future__ import annotations

from attnlab.tasks.translation.corpora.grammar.choices import SINGULAR, Choices, pool
from attnlab.tasks.translation.corpora.grammar.clauses import Clause
from attnlab.tasks.translation.corpora.grammar.declension import HOW_MANY, WHICH
from attnlab.tasks.translation.corpora.grammar.lexicon import ASKED_FIRST, VERBS, WHEN, WHERE, WHY
from attnlab.tasks.translation.corpora.grammar.phrases import PRONOUNS, Phrase, Prepositional
from attnlab.tasks.translation.corpora.grammar.subordinates import ACTIONS, ALL_VERBS, asking

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


def yes_or_no(choices: Choices) -> Clause | None:
    """Does he ...? Has she ...? Can they ...? Is it ...?"""
    if choices.chance(0.15):
        clause = choices.being(pronouns=0.2)
        return None if clause is None or clause.subject is _I else clause
    if choices.chance(0.5):
        verb = VERBS[choices.one(ASKED_FIRST)]
        subject = choices.subject(verb, "present", SINGULAR, pronouns=0.0)
        if subject.person == "plural":
            return None
        return choices.clause(verb, subject, tense="present", deny=0.08)
    tense = choices.one(("perfect", "perfect", "can", "must", "want", "will"))
    deny = 0.0 if tense == "can" else 0.08  # "cannot he" is nobody's English
    clause = choices.clause(choices.one(ACTIONS), tense=tense, deny=deny)
    return None if clause.subject is _I else clause


def why(choices: Choices) -> Clause:
    """Why, where and when."""
    return asking(choices, choices.one((WHY, WHY, WHERE, WHEN)))


def who(choices: Choices) -> Clause:
    """Who, whom, what, to whom, with whom."""
    role = choices.one(("subject", "object", "object", "receiver", "place"))
    verb = choices.one(_ASKED[role])
    person: Phrase = PRONOUNS["who"]
    if role == "subject":
        return _fronted(choices.clause(verb, person, deny=0.0), role)
    clause = choices.clause(verb, without=f"{role} place", deny=0.0, pronouns=0.2)
    if role == "place":
        assert verb.preposition is not None
        clause.place = Prepositional(verb.preposition, person)
    elif role == "object":
        things = pool(verb.objects)[0].kind != "person"
        clause.object = PRONOUNS["what"] if things else person
    else:
        clause.receiver = person
    return _fronted(clause, role)


def which(choices: Choices) -> Clause:
    """Which one, and how many."""
    if choices.chance(0.35):
        verb = choices.one(_ASKED["subject"])
        nouns = [noun for noun in pool(verb.subjects) if noun.plural]  # there are several of them
        subject = choices.noun_phrase(nouns, ((WHICH, False, False),))
        return _fronted(choices.clause(verb, subject, deny=0.0), "subject")
    verb = choices.one(_THINGS)
    style = (HOW_MANY, True, False) if choices.chance(0.5) else (WHICH, False, False)
    nouns = [noun for noun in pool(verb.objects) if noun.plural]
    clause = choices.clause(verb, without="object place", deny=0.0, pronouns=0.2)
    clause.object = choices.noun_phrase(nouns, (style,))
    return _fronted(clause, "object")


def _fronted(clause: Clause, role: str) -> Clause:
    clause.front = role
    return clause
