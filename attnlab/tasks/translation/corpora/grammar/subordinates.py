"""Draw clauses inside clauses."""

from __future__ import annotations

from attnlab.tasks.translation.corpora.grammar.choices import KNOWN, Choices, pool, verbs_for
from attnlab.tasks.translation.corpora.grammar.clauses import Clause, Subordinate
from attnlab.tasks.translation.corpora.grammar.lexicon import (
    BE,
    HOPE,
    KNOW,
    NOUNS,
    PERSONS,
    SAY,
    THINK,
    VERBS,
    WHERE,
    WHY,
    Adverb,
    Verb,
)
from attnlab.tasks.translation.corpora.grammar.phrases import (
    PRONOUNS,
    THE,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    RelativePronoun,
)

ALL_VERBS = tuple(VERBS.values())
ACTIONS = tuple(verb for verb in ALL_VERBS if not verb.always)
_SPEAKERS = ("I", "I", "we", "he", "she", "they")


def relative(choices: Choices, head: NounPhrase) -> Clause | None:
    """Draw a relative clause for a head; None if its German form would be ambiguous."""
    pronoun = RelativePronoun(head)
    name, active = head.noun.english, choices.chance(0.5)
    subjects = verbs_for("subjects", name)
    if head.noun.predicates and choices.chance(0.15):
        described = NounPhrase(head.noun, THE, head.adjectives, head.plural)
        clause = choices.being(described)
        if clause is not None:
            clause.subject, clause.front = pronoun, "subject"
        return clause
    if active and subjects:
        verb = choices.one(subjects)
        return choices.clause(verb, pronoun, deny=0.1, without="time", front="subject")
    places = verbs_for("places", name) if head.noun.kind == "person" else ()
    verbs = verbs_for("objects", name) + places
    return _object_relative(choices, choices.one(verbs), pronoun) if verbs else None


def _object_relative(choices: Choices, verb: Verb, pronoun: RelativePronoun) -> Clause | None:
    """Draw a clause whose object, or prepositional phrase, is the pronoun."""
    role = "object" if verb.objects else "place"
    without = f"{role} place time"
    clause = choices.clause(verb, without=without, front=role, deny=0.1, pronouns=0.35)
    if verb.objects:
        clause.object = pronoun
        is_clear = verb.case == "dat" or _tells_apart(pronoun.head, clause.subject)
        return clause if is_clear else None
    clause.place = Prepositional(verb.preposition, pronoun)
    return clause


def _tells_apart(head: NounPhrase, subject: Phrase) -> bool:
    """Whether the German forms show which of the two is the subject."""
    if isinstance(subject, Pronoun) or head.gender == "m" or head.person != subject.person:
        return True
    return isinstance(subject, NounPhrase) and subject.gender == "m"


def reason(choices: Choices, main: Clause, conjunctions: tuple[str, ...]) -> Subordinate:
    """Draw a clause that gives the reason or the time of the main clause."""
    conjunction = choices.one(conjunctions)
    if main.tense == "perfect" and conjunction in ("when", "before"):
        conjunction = "because"
    subordinate = None
    if conjunction != "before" and main.verb is not BE and choices.chance(0.3):
        subordinate = choices.being(states=True)
    if subordinate is None:
        subordinate = _event(choices, conjunction, main.verb)
    same = _pronoun_for(main.subject)
    if same and choices.chance(0.5) and _can_be(subordinate, main.subject):
        subordinate.subject = same
    return Subordinate(conjunction, subordinate)


def _event(choices: Choices, conjunction: str, other_than: Verb) -> Clause:
    verb = choices.one([verb for verb in ACTIONS if verb is not other_than])
    tense = "present" if conjunction in ("when", "before") else None
    clause = choices.clause(
        verb, tense=tense, plain=conjunction == "before", without="place", pronouns=0.0
    )
    if verb.needs_place:
        clause.place = choices.place(verb, clause.subject)
    return clause


def _pronoun_for(subject: Phrase) -> Pronoun | None:
    """Return the pronoun for a subject; None for German neuters, such as "das Mädchen"."""
    if isinstance(subject, Pronoun):
        return subject
    if subject.person == "plural":
        return PRONOUNS["they"]
    gender = subject.noun.gender if isinstance(subject, NounPhrase) else ""
    return {"m": PRONOUNS["he"], "f": PRONOUNS["she"]}.get(gender)


def _can_be(clause: Clause, subject: Phrase) -> bool:
    """Whether a clause still makes sense with the subject of another clause."""
    place = clause.place and clause.place.phrase
    if any(isinstance(part, Pronoun) for part in (clause.object, clause.receiver, place)):
        return False
    if subject is PRONOUNS["I"] and clause.tense == "present" and clause.verb is not BE:
        return False
    if not isinstance(subject, NounPhrase):
        return clause.verb is not BE or clause.predicate in NOUNS["man"].predicates
    if clause.verb is BE:
        return clause.predicate in subject.noun.predicates
    return subject.noun in pool(clause.verb.subjects)


def stated(choices: Choices) -> Clause:
    """Draw a clause that somebody knows or says."""
    clause = choices.being() if choices.chance(0.12) else None
    return clause or choices.clause(choices.one(ALL_VERBS))


def stating(choices: Choices, inner: Clause) -> Clause:
    """Draw a clause in which somebody knows, thinks, hopes or says `inner`."""
    verb = choices.one((KNOW, KNOW, THINK, THINK, HOPE, HOPE, SAY, SAY))
    tense = "perfect" if verb is SAY and choices.chance(0.4) else "present"
    negated = verb is THINK and choices.chance(0.3)
    subject = _speaker(choices, _SPEAKERS if verb is not SAY else ("he", "she", "they"))
    return Clause(verb, subject, tense=tense, negated=negated, last=Subordinate("that", inner))


def wondering(choices: Choices) -> Clause:
    """Draw a clause in which somebody knows, or not, whether, why or where."""
    word = choices.one(("whether", "whether", "why", "where"))
    if word == "whether":
        last = Subordinate(word, stated(choices))
    else:
        last = Subordinate("", asking(choices, {"why": WHY, "where": WHERE}[word]))
    kind = choices.one(("not", "not", "want", "present"))
    subject = _speaker(choices, _SPEAKERS)
    tense = "present" if kind == "not" else kind
    return Clause(KNOW, subject, tense=tense, negated=kind == "not", last=last)


def _speaker(choices: Choices, pronouns: tuple[str, ...]) -> Phrase:
    if choices.chance(0.55):
        return PRONOUNS[choices.one(pronouns)]
    return choices.noun_phrase(PERSONS, KNOWN)


def asking(choices: Choices, word: Adverb) -> Clause:
    """Draw a clause that asks why, where or when."""
    without = {"where": "place", "when": "time"}.get(word.english, "")
    fitting = [verb for verb in ACTIONS if not (without == "place" and verb.needs_place)]
    deny = 0.2 if word is WHY else 0.0
    clause = choices.clause(choices.one(fitting), without=without, deny=deny)
    clause.asks = word
    if without == "time":
        clause.frequency = None
    return clause
