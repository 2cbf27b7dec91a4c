"""Clauses: a verb's parts, such as auxiliaries and particles, and each language's word order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attnlab.tasks.translation.corpora.grammar.lexicon import (
    CONJUNCTIONS,
    DO,
    Adjective,
    Adverb,
    Verb,
)
from attnlab.tasks.translation.corpora.grammar.linked import (
    COMMA,
    Both,
    Link,
    Translation,
    Word,
    finish,
    fixed,
    joined,
)
from attnlab.tasks.translation.corpora.grammar.phrases import (
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
)

_NONE = Both([], [])


@dataclass
class Subordinate:
    """A subordinate clause with its conjunction, or an indirect question."""

    conjunction: str  # in English; empty for a question with a question word
    clause: Clause

    def render(self) -> Both:
        """Write both languages, German with the verb at the end."""
        clause = self.clause.dependent()
        if not self.conjunction:
            return clause
        return joined(fixed(self.conjunction, CONJUNCTIONS[self.conjunction]), clause)


@dataclass
class Clause:
    """A verb and the other parts of its clause, without their order."""

    verb: Verb
    subject: Phrase
    object: Phrase | None = None  # in the verb's case
    receiver: Phrase | None = None  # who gets the object: "to" in English, a dative in German
    place: Prepositional | None = None  # the prepositional phrase
    predicate: Adjective | None = None  # the adjective after "is", with "very" if `very` is set
    very: bool = False
    tense: str = "present"  # or "perfect", or one of `AUXILIARIES`
    # whether it is negated: "nicht", or "kein" with an object that isn't definite
    negated: bool = False
    frequency: Adverb | None = None  # "often", "never", "already" or "always"
    time: Adverb | None = None
    time_first: bool = False  # whether the time is at the start of the sentence
    asks: Adverb | None = None  # the question word "why", "where" or "when"
    # the first part of a question or relative clause: subject, object, receiver or place
    front: str = ""
    first: Subordinate | None = None  # a subordinate clause before this one
    last: Subordinate | None = None  # a subordinate clause after this one

    def sentence(self, asks: bool = False) -> Translation:
        """Write the clause as a sentence: a statement, or a direct question."""
        parts = _Parts(self, inverted=asks and self.front != "subject")
        return finish(parts.english(), parts.main(), "?" if asks else ".")

    def dependent(self) -> Both:
        """Write the clause inside another one, with a comma after each part that needs one."""
        parts = _Parts(self, inverted=False)
        return Both(parts.english(), parts.verb_final())


class _Parts:
    """The parts of a clause in both languages, which its methods put in order."""

    def __init__(self, clause: Clause, inverted: bool) -> None:
        self.clause, self.inverted = clause, inverted
        denial = Link() if clause.negated else None
        self.verb = verb_words(clause.verb, clause.tense, clause.subject.person, denial, inverted)
        self.phrases = {
            "subject": clause.subject.render("nom"),
            "object": clause.object.render(clause.verb.case, denial) if clause.object else _NONE,
            "receiver": _to(clause.receiver.render("dat")) if clause.receiver else _NONE,
            "place": clause.place.render() if clause.place else _NONE,
            "time": _adverb(clause.time),
        }
        self.frequency = _adverb(clause.frequency)
        self.predicate = _predicate(clause)
        self.last = clause.last.render() if clause.last else _NONE
        self.front = self._take_front()

    def _take_front(self) -> Both:
        """Return the start of the clause, and remove it from its usual place."""
        clause = self.clause
        if clause.first:
            comma = [Word(",", (Link(),))]
            return joined(clause.first.render(), Both(comma, comma))
        role = "time" if clause.time_first else clause.front
        if not role:
            return _adverb(clause.asks)
        phrase, self.phrases[role] = self.phrases[role], _NONE
        return Both(phrase.english, _closed(phrase))

    def english(self) -> list[Word]:
        """Return the English words in order."""
        clause, verb = self.clause, self.verb
        subject, thing, receiver, place, time = (each.english for each in self.phrases.values())
        core = [*verb.finite, *subject] if self.inverted else [*subject, *verb.finite]
        pronoun_first = isinstance(clause.object, Pronoun) and clause.verb.prefix
        around = [*thing, *verb.particle] if pronoun_first else [*verb.particle, *thing]
        return [
            *self.front.english,
            *core,
            *verb.negation.english,
            *self.frequency.english,
            *verb.rest,
            *around,
            *receiver,
            *self.predicate.english,
            *place,
            *time,
            *self.last.english,
        ]

    def main(self) -> list[Word]:
        """Return the German words with the finite verb second, or first in a yes-no question."""
        opening, subject = self.front.german, _closed(self.phrases["subject"])
        if not opening and not self.inverted:
            opening, subject = subject, []
        verb = self.verb
        return [*opening, *verb.second, *subject, *self._middle(), *verb.end, *self._after()]

    def verb_final(self) -> list[Word]:
        """Return the German words with all verbs at the end."""
        opening = [*self.front.german, *_closed(self.phrases["subject"])]
        return [*opening, *self._middle(), *self.verb.final, *self._after(), COMMA]

    def _middle(self) -> list[Word]:
        """Return the German middle field: pronouns, time, dative, known object, "nicht", rest."""
        clause = self.clause
        _, thing, receiver, place, time = (each.german for each in self.phrases.values())
        pronouns: list[Word] = []
        if isinstance(clause.object, Pronoun):
            pronouns, thing = thing, []
        if isinstance(clause.receiver, Pronoun):
            pronouns, receiver = [*pronouns, *receiver], []
        noun = clause.object if isinstance(clause.object, NounPhrase) else None
        known = noun is None or noun.determiner.definite or clause.verb.case == "dat"
        return [
            *pronouns,
            *time,
            *receiver,
            *(thing if known else []),
            *([] if noun and noun.takes_no else self.verb.negation.german),
            *self.frequency.german,
            *([] if known else thing),
            *place,
            *self.predicate.german,
        ]

    def _after(self) -> list[Word]:
        """Return the German words after the verbs: relative clauses and a subordinate clause."""
        words: list[Word] = []
        for role in ("object", "receiver", "place"):
            tail = self.phrases[role].tail
            if tail:
                words += [COMMA, *tail, COMMA]
        return [*words, COMMA, *self.last.german] if self.clause.last else words


def _closed(part: Both) -> list[Word]:
    """Return the German words with the relative clause after them, between commas."""
    return [*part.german, COMMA, *part.tail, COMMA] if part.tail else part.german


def _to(receiver: Both) -> Both:
    """Put "to" before a receiver, linked to the word that shows the German dative."""
    return receiver._replace(english=[Word("to", receiver.german[0].links), *receiver.english])


def _adverb(adverb: Adverb | None) -> Both:
    return fixed(adverb.english, adverb.german, adverb.links) if adverb else _NONE


def _predicate(clause: Clause) -> Both:
    if clause.predicate is None:
        return _NONE
    very = fixed("very", "sehr") if clause.very else _NONE
    return joined(very, fixed(clause.predicate.english, clause.predicate.german))


@dataclass
class VerbWords:
    """The words of a verb in both languages."""

    finite: list[Word]  # English words that a question moves before the subject; or none
    rest: list[Word]  # English verbs after "not" and frequency
    particle: list[Word]  # "up", "back", "for"
    negation: Both  # "not", if it is a word of its own, and "nicht"
    second: list[Word]  # the German finite verb of a main clause
    end: list[Word]  # the verbs or the prefix at the end of a German main clause
    final: list[Word]  # the verbs at the end of a German subordinate clause


class _Links(NamedTuple):
    """The links between the English and the German words of a verb."""

    main: Link  # the verb itself
    extra: Link  # its particle and prefix
    lead: Link  # the finite verb
    do: Link  # "do", if English needs it


def verb_words(
    verb: Verb, tense: str, person: str, denial: Link | None, inverted: bool
) -> VerbWords:
    """Conjugate a verb in a tense of `Clause` for a `person`, which is a field of `Forms`.

    `denial` is the link of a negation, None without one. `inverted` says whether the English finite
    verb is before the subject.
    """
    main = Link()
    extra = Link() if verb.particle and verb.prefix else main
    links = _Links(main, extra, main if tense == "present" else Link(), Link())
    finite, rest = _english_verb(verb, tense, person, links, bool(inverted or denial))
    negation = _NONE
    if denial:
        negation = Both([Word("not", (denial,))], [Word("nicht", (denial,))])
        if tense == "can":
            finite, negation = [Word("cannot", (links.lead, denial))], Both([], negation.german)
    particle = [Word(verb.particle, (extra,))] if verb.particle else []
    return VerbWords(finite, rest, particle, negation, *_german_verb(verb, tense, person, links))


def _english_verb(
    verb: Verb, tense: str, person: str, links: _Links, moved: bool
) -> tuple[list[Word], list[Word]]:
    """Return `finite` and `rest` of `VerbWords`; a full verb that must be `moved` takes "do"."""
    leader = verb.finite(tense)
    finite = [Word(getattr(leader.english, person), (links.lead,))]
    rest = [Word("to", (links.main,))] if tense == "want" else []
    if tense != "present":
        rest.append(Word(verb.past if tense == "perfect" else verb.english, (links.main,)))
    if not leader.plain:
        return finite, rest
    if not moved:
        return [], [*finite, *rest]
    base = Word(leader.english.first, (links.lead,))
    return [Word(getattr(DO, person), (links.do,))], [base, *rest]


def _german_verb(
    verb: Verb, tense: str, person: str, links: _Links
) -> tuple[list[Word], list[Word], list[Word]]:
    """Return `second`, `end` and `final` of `VerbWords`."""
    main, extra, lead, do = links
    finite = getattr(verb.finite(tense).german, person)
    second = [Word(finite, (lead, do))]
    if tense == "present":
        prefix = [Word(verb.prefix, (extra,))] if verb.prefix else []
        return second, prefix, [Word(verb.prefix + finite, (main, extra, do))]
    text = verb.ge if tense == "perfect" else verb.prefix + verb.german
    end = [Word(text, (main, extra))]
    return second, end, [*end, *second]
