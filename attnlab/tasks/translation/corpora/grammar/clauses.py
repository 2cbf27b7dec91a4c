"""Clauses: the words of a verb, and the order of words, where English and German part."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.tasks.translation.corpora.grammar.lexicon import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DO,
    HAVE,
    HAVE_WITH_BE,
    TO_BE,
    Adjective,
    Adverb,
    Auxiliary,
    Verb,
)
from attnlab.tasks.translation.corpora.grammar.linked import (
    COMMA,
    Both,
    NewLink,
    Translation,
    Word,
    finish,
    fixed,
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
    """A clause behind a conjunction, or an indirect question."""

    conjunction: str  # an English conjunction; empty for a question that brings its own word
    clause: Clause  # what it leads

    def render(self, new: NewLink) -> Both:
        """Both sides: English in plain order, German with the verb at the end."""
        clause = self.clause.dependent(new)
        if not self.conjunction:
            return clause
        sign = fixed(self.conjunction, CONJUNCTIONS[self.conjunction], new)
        return Both(sign.english + clause.english, sign.german + clause.german)


@dataclass
class Clause:
    """A verb and its parts, with no order yet."""

    verb: Verb  # what is done
    subject: Phrase  # who does it
    object: Phrase | None = None  # whom or what it is done to, in the verb's case
    receiver: Phrase | None = None  # who gets the object: "to" in English, a dative in German
    place: Prepositional | None = None  # the prepositional phrase
    predicate: Adjective | None = None  # the adjective after "is", with "very" where `very` is set
    very: bool = False
    tense: str = "present"  # or "perfect", or one of `AUXILIARIES`
    # whether it is denied: "nicht", or "kein" with an object that is not definite
    negated: bool = False
    frequency: Adverb | None = None  # "often", "never", "already" or "always"
    time: Adverb | None = None  # when
    time_first: bool = False  # whether the time opens the sentence
    asks: Adverb | None = None  # "why", "where" or "when", of a question
    # the part that a question or a relative clause begins with: "subject", "object", "receiver" or
    # "place"
    front: str = ""
    first: Subordinate | None = None  # a subordinate clause before this one
    last: Subordinate | None = None  # a subordinate clause behind it

    def statement(self, new: NewLink) -> Translation:
        """The clause as a sentence with a full stop."""
        parts = _Parts(self, new, inverted=False)
        english, german = parts.english(), parts.main()
        return finish(english, german, new, ".")

    def question(self, new: NewLink) -> Translation:
        """The clause as a direct question."""
        parts = _Parts(self, new, inverted=self.front != "subject")
        return finish(parts.english(), parts.main(), new, "?")

    def dependent(self, new: NewLink) -> Both:
        """The clause as it stands inside another one, with commas to the right of each part."""
        parts = _Parts(self, new, inverted=False)
        return Both(parts.english(), parts.verb_final())


class _Parts:
    """A clause's parts in both languages, ready to be put in order."""

    def __init__(self, clause: Clause, new: NewLink, inverted: bool) -> None:
        self.clause, self.inverted = clause, inverted
        self.not_link = new() if clause.negated else None
        self.verb: VerbWords = verb_words(
            clause.verb, clause.tense, clause.subject.person, new, self.not_link,
            helped=inverted and clause.verb is not BE,
        )  # fmt: skip
        denied = clause.object
        self.kein = clause.negated and isinstance(denied, NounPhrase) and denied.takes_no
        self.subject = clause.subject.render("nom", new)
        self.object = _NONE
        if denied is not None:
            kein_link = self.not_link if self.kein else None
            self.object = denied.render(clause.verb.case, new, kein_link)
        self.receiver, self.to = _NONE, []
        if clause.receiver is not None:
            self.receiver = clause.receiver.render("dat", new)
            self.to = [Word("to", self.receiver.german[0].links)]
        self.place = clause.place.render(new) if clause.place else _NONE
        self.frequency = _adverb(clause.frequency, new)
        self.time = _adverb(clause.time, new)
        self.asks = _adverb(clause.asks, new)
        self.predicate = _predicate(clause, new)
        self.first = clause.first.render(new) if clause.first else _NONE
        self.comma = Word(",", (new(),)) if clause.first else COMMA
        self.last = clause.last.render(new) if clause.last else _NONE

    def english(self) -> list[Word]:
        """English order."""
        clause, verb = self.clause, self.verb
        middle = [*verb.english_not, *self.frequency.english]
        if self.inverted:
            core = [*verb.english_finite, *self._subject_english(), *middle]
        else:
            core = [*self._subject_english(), *verb.english_finite, *middle]
        thing = self._unless_front("object", self.object.english)
        behind = isinstance(clause.object, Pronoun) and clause.verb.prefix
        around = [*thing, *verb.particle] if behind else [*verb.particle, *thing]
        words = [
            *self._front_english(),
            *core,
            *verb.english_rest,
            *around,
            *self._unless_front("receiver", [*self.to, *self.receiver.english]),
            *self.predicate.english,
            *self._unless_front("place", self.place.english),
            *([] if clause.time_first else self.time.english),
            *self.last.english,
        ]
        return [*self.first.english, self.comma, *words] if clause.first else words

    def main(self) -> list[Word]:
        """German with the finite verb second, or first in a question that has nothing before it."""
        clause = self.clause
        subject = _closed(self.subject)
        opening = self._front_german()
        if clause.first:
            opening = [*self.first.german, self.comma]
        if not opening and not self.inverted:
            opening, subject = subject, []
        if clause.front == "subject":
            subject = []
        verb = self.verb
        return [*opening, *verb.second, *subject, *self._middle(), *verb.end, *self._after()]

    def verb_final(self) -> list[Word]:
        """German with all verbs at the end."""
        subject = [] if self.clause.front == "subject" else _closed(self.subject)
        opening = self._front_german()
        return [*opening, *subject, *self._middle(), *self.verb.final, *self._after(), COMMA]

    def _subject_english(self) -> list[Word]:
        return self._unless_front("subject", self.subject.english)

    def _front_english(self) -> list[Word]:
        clause = self.clause
        if clause.time_first:
            return self.time.english
        if clause.front == "receiver":
            return [*self.to, *self.receiver.english]
        return getattr(self, clause.front).english if clause.front else self.asks.english

    def _front_german(self) -> list[Word]:
        clause = self.clause
        if clause.time_first:
            return self.time.german
        return _closed(getattr(self, clause.front)) if clause.front else self.asks.german

    def _unless_front(self, role: str, words: list[Word]) -> list[Word]:
        return [] if self.clause.front == role else words

    def _middle(self) -> list[Word]:
        """The German middle field: pronouns, time, dative, known object, "nicht", the rest."""
        clause = self.clause
        objects = [] if clause.front == "object" else self.object.german
        receiver = [] if clause.front == "receiver" else self.receiver.german
        pronouns: list[Word] = []
        if isinstance(clause.object, Pronoun):
            pronouns, objects = [*pronouns, *objects], []
        if isinstance(clause.receiver, Pronoun):
            pronouns, receiver = [*pronouns, *receiver], []
        known = clause.object is not None and (clause.object.definite or clause.verb.case == "dat")
        not_words = [] if self.kein else self.verb.german_not
        return [
            *pronouns,
            *([] if clause.time_first else self.time.german),
            *receiver,
            *(objects if known else []),
            *not_words,
            *self.frequency.german,
            *([] if known else objects),
            *self._unless_front("place", self.place.german),
            *self.predicate.german,
        ]

    def _after(self) -> list[Word]:
        """German behind the verbs: relative clauses of the last parts, a subordinate clause."""
        words: list[Word] = []
        for role in ("object", "receiver", "place"):
            tail = getattr(self, role).tail
            if tail and self.clause.front != role:
                words += [*tail, COMMA]
        return [*words, COMMA, *self.last.german] if self.clause.last else words


def _closed(part: Both) -> list[Word]:
    """German words with the relative clause in its place, between commas."""
    return [*part.german, *part.tail, COMMA] if part.tail else part.german


def _adverb(adverb: Adverb | None, new: NewLink) -> Both:
    return fixed(adverb.english, adverb.german, new, adverb.links) if adverb else _NONE


def _predicate(clause: Clause, new: NewLink) -> Both:
    if clause.predicate is None:
        return _NONE
    very = "very " * clause.very, "sehr " * clause.very
    return fixed(very[0] + clause.predicate.english, very[1] + clause.predicate.german, new)


@dataclass
class VerbWords:
    """What a verb puts into a clause."""

    english_finite: list[Word]  # what a question moves before the subject; empty for a plain verb
    english_not: list[Word]  # "not", where it is a word of its own
    # what follows "not" and frequency: the plain verb, or what an auxiliary leads
    english_rest: list[Word]
    particle: list[Word]  # "up", "back", "for"
    second: list[Word]  # the German finite verb of a main clause
    end: list[Word]  # what stands at the end of a German main clause
    final: list[Word]  # the verbs at the end of a German subordinate clause
    german_not: list[Word]  # "nicht"


def verb_words(
    verb: Verb, tense: str, person: str, new: NewLink, not_link: int | None, *, helped: bool
) -> VerbWords:
    """Conjugate a verb in a tense of `Clause` for a `person`, which is a field of `Forms`.

    `not_link` is the number of a negation's link, None where nothing is denied. `helped` says
    whether English needs "does" where it has no auxiliary: in a question.
    """
    main = new()
    extra = new() if verb.particle and verb.prefix else main
    particle = [Word(verb.particle, (extra,))] if verb.particle else []
    negative = not_link is not None
    cannot = tense == "can" and negative
    not_word = [Word("not", (not_link,))] if not_link is not None and not cannot else []
    not_german = [Word("nicht", (not_link,))] if not_link is not None else []
    helped = (helped or negative) and verb is not BE or (helped and tense != "present")
    if tense == "present":
        english, german = _present(verb, person, main, extra, new() if helped else None)
    else:
        english, german = _led(verb, tense, person, (main, extra), new(), helped)
    if cannot and not_link is not None:
        can = english[0][0]
        english = ([Word("cannot", (*can.links, not_link))], english[1])
    return VerbWords(english[0], not_word, english[1], particle, *german, not_german)


_Words = list[Word]


def _present(
    verb: Verb, person: str, main: int, extra: int, do: int | None
) -> tuple[tuple[_Words, _Words], tuple[_Words, _Words, _Words]]:
    finite = TO_BE if verb is BE else verb.finite
    helper = [] if do is None else [do]
    german = getattr(finite.german, person)
    prefix = [Word(verb.prefix, (extra,))] if verb.prefix else []
    both = tuple(dict.fromkeys((main, extra))) if verb.prefix else (main,)
    second = [Word(german, (main, *helper))]
    final = [Word(verb.prefix + german, (*both, *helper))]
    if do is not None:
        english = [Word(getattr(DO, person), (do,))], [Word(verb.english, (main,))]
    elif verb is BE:
        english = [Word(getattr(finite.english, person), (main,))], []
    else:
        english = [], [Word(getattr(finite.english, person), (main,))]
    return english, (second, prefix, final)


def _led(
    verb: Verb, tense: str, person: str, links: tuple[int, int], lead: int, helped: bool
) -> tuple[tuple[_Words, _Words], tuple[_Words, _Words, _Words]]:
    """The words of a verb that an auxiliary leads."""
    main, extra = links
    auxiliary = _auxiliary(verb, tense)
    perfect = tense == "perfect"
    text = verb.ge if perfect else verb.prefix + verb.german
    both = (main, extra) if extra != main else (main,)
    second, end = [Word(getattr(auxiliary.german, person), (lead,))], [Word(text, both)]
    finite = [Word(getattr(auxiliary.english, person), (lead,))]
    rest = [Word(verb.past if perfect else verb.english, (main,))]
    if tense == "want":
        rest = [Word("to", (main,)), *rest]
        if helped:
            finite, rest = (
                [Word(getattr(DO, person), (lead,))],
                [Word(auxiliary.english.first, (lead,)), *rest],
            )
        else:
            finite, rest = [], [*finite, *rest]
    return (finite, rest), (second, end, [*end, *second])


def _auxiliary(verb: Verb, tense: str) -> Auxiliary:
    if tense != "perfect":
        return AUXILIARIES[tense]
    return HAVE_WITH_BE if verb.be else HAVE
