"""Draw noun phrases and single clauses that make sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from attnlab.tasks.translation.corpora.grammar.clauses import Clause
from attnlab.tasks.translation.corpora.grammar.lexicon import (
    BE,
    FREQUENCIES,
    NOUNS,
    NUMBERS,
    PERSONS,
    STATE,
    TIMES,
    VERBS,
    WITH,
    Noun,
    Verb,
)
from attnlab.tasks.translation.corpora.grammar.phrases import (
    BARE,
    MANY,
    MY,
    PRONOUNS,
    THE,
    THIS,
    A,
    Determiner,
    NounPhrase,
    Phrase,
    Prepositional,
    Together,
)

T = TypeVar("T")
Style = tuple[Determiner, bool, bool]  # determiner, plural, with a number

SINGULAR = ((THE, False, False),) * 12 + ((MY, False, False),) * 3 + ((THIS, False, False),) * 2
KNOWN = SINGULAR + ((THE, True, False),) * 3 + ((THE, True, True), (THIS, True, False))
_NEW = ((A, False, False),) * 5 + ((BARE, True, True),) * 3 + ((MANY, True, False),)
_SUBJECTS = KNOWN + _NEW
_ANY = _SUBJECTS + ((BARE, True, False),) * 2
_DENIED = (
    ((THE, False, False),) * 5
    + ((THE, True, False), (MY, False, False), (THIS, False, False))
    + ((A, False, False),) * 4
    + ((BARE, True, False),) * 3
)
_PLACES = SINGULAR + ((A, False, False),) * 2
_JOINED = SINGULAR[:14]
_WATER = ((BARE, False, False),)
_TENSES = (*("present",) * 10, *("perfect",) * 7, *("can", "must", "want", "will") * 2)
_FAMILY = frozenset({"father", "mother", "sister"})
_OWNED = _FAMILY | {"doctor", "teacher", "dog", "cat", "horse"}
# Things are rarely subjects otherwise, and only as subjects do masculine ones have adjectives in
# -er.
_DESCRIBED = tuple(
    noun
    for noun in NOUNS.values()
    for _ in range(1 if noun.kind in ("person", "animal") else 4 if noun.gender == "m" else 2)
    if noun.predicates
)
_DESCRIBABLE = KNOWN + ((MY, False, False),) * 10
_LIVING = tuple(noun for noun in _DESCRIBED if noun.kind in ("person", "animal"))
_PRONOUN_SUBJECTS = ("he", "she", "they", "we", "I")


@cache
def pool(names: str) -> tuple[Noun, ...]:
    """Return the nouns of these names, which spaces separate."""
    return tuple(NOUNS[name] for name in names.split())


@cache
def verbs_for(role: str, name: str) -> tuple[Verb, ...]:
    """Return the verbs with this noun in their `role`: "subjects", "objects" or "places"."""
    return tuple(verb for verb in VERBS.values() if name in getattr(verb, role).split())


class Choices:
    """Draws the parts of sentences."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self.begin()

    def begin(self) -> None:
        """Start a new sentence, in which no noun is used twice."""
        self._used: set[str] = set()
        self.adjectives = 0.45  # chance of adjectives before a noun; in 30 % of cases two of them

    def one(self, options: Sequence[T]) -> T:
        """Draw one of the options uniformly."""
        return options[int(self._random() * len(options))]

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def noun(self, nouns: Sequence[Noun]) -> Noun:
        """Draw a noun, if possible one that the sentence doesn't contain yet."""
        for _ in range(8):
            noun = self.one(nouns)
            if noun.english not in self._used:
                break
        self._used.add(noun.english)
        return noun

    def noun_phrase(self, nouns: Sequence[Noun], styles: Sequence[Style]) -> NounPhrase:
        """Draw a noun with determiner, and sometimes adjectives or an owner."""
        noun = self.noun(nouns)
        determiner, plural, counted = self.one(styles)
        if noun.kind == "drink":
            determiner = THE if determiner is THE and self.chance(0.3) else BARE
            plural = counted = False
        elif plural and not noun.plural:
            determiner, plural, counted = (THE if determiner.definite else A), False, False
        if determiner is MY and not noun.mine:
            determiner = THE
        elif (determiner is A or determiner is THIS) and noun.english in _FAMILY:
            determiner = MY
        phrase = NounPhrase(noun, determiner, (), plural)
        if counted:
            phrase.number = self.one(tuple(NUMBERS))
        if self.chance(self.adjectives + 0.3 * (noun.kind == "drink")):
            self.add_adjectives(phrase, 2 if self.chance(0.3) else 1)
        elif noun.english in _OWNED and determiner is THE and self.chance(0.3):
            phrase.owner = self._owner()
        return phrase

    def _owner(self) -> NounPhrase:
        noun = self.noun(PERSONS)
        mine = noun.english in _FAMILY or (noun.mine and self.chance(0.2))
        owner = NounPhrase(noun, MY if mine else THE)
        if self.chance(self.adjectives / 2):
            self.add_adjectives(owner, 1)
        return owner

    def add_adjectives(self, phrase: NounPhrase, count: int) -> bool:
        """Add `count` adjectives in their order; return False if too few suit the noun."""
        ranks = sorted({adjective.rank for adjective in phrase.noun.adjectives})
        if len(ranks) < count:
            return False
        while len(ranks) > count:
            ranks.remove(self.one(ranks))
        phrase.adjectives = tuple(
            self.one([word for word in phrase.noun.adjectives if word.rank == rank])
            for rank in ranks
        )
        return True

    def subject(self, verb: Verb, tense: str, styles: Sequence[Style], pronouns=0.15) -> Phrase:
        """Draw the subject: a pronoun, a phrase, or two phrases with "and"."""
        if self.chance(pronouns) and pool(verb.subjects)[0].kind == "person":
            name = self.one(_PRONOUN_SUBJECTS)
            if name != "I" or tense != "present" or verb.ich:
                return PRONOUNS[name]
        return self._one_or_two(pool(verb.subjects), styles, 0.06)

    def _object(self, nouns: Sequence[Noun], styles: Sequence[Style], subject: Phrase) -> Phrase:
        """Draw an object: a pronoun, a phrase, or two phrases with "and"."""
        if nouns[0].kind == "person" and self.chance(0.12):
            name = self.one(("he", "he", "I", "we"))
            if name == "he" or subject not in (PRONOUNS["I"], PRONOUNS["we"]):
                return PRONOUNS[name]
        return self._one_or_two(nouns, styles, 0.05)

    def _one_or_two(
        self, nouns: Sequence[Noun], styles: Sequence[Style], two: float
    ) -> NounPhrase | Together:
        """Draw a phrase, or with probability `two` two phrases of one kind, joined by "and".

        If the kind has only one noun, the result is a single phrase.
        """
        if not self.chance(two):
            return self.noun_phrase(nouns, styles)
        first = self.noun_phrase(nouns, _JOINED)
        alike = [noun for noun in nouns if noun.kind == first.noun.kind]
        parts = first, self.noun_phrase(alike, _JOINED)
        for part in parts:
            part.determiner = THE if part.determiner is BARE else part.determiner
        return first if parts[1].noun is first.noun else Together(parts)

    def clause(
        self,
        verb: Verb,
        subject: Phrase | None = None,
        *,
        tense: str | None = None,
        without: str = "",
        front: str = "",
        plain: bool = False,
        deny: float = 0.17,
        pronouns: float = 0.15,
    ) -> Clause:
        """Draw a clause with a verb; subject and tense are drawn unless given.

        `without` names parts that the caller fills or leaves out, such as "object place". `front`
        is the first part, as in `Clause`. `plain` leaves out time, frequency and negation. `deny`
        and `pronouns` are the probabilities of a negation and of a pronoun as subject.
        """
        tense = tense or ("present" if verb.always else self.one(_TENSES))
        negated = not plain and tense != "must" and self.chance(deny)
        often = not (plain or negated or verb.always or verb.receivers) and self.chance(0.2)
        frequency = self.one(FREQUENCIES) if often else None
        if frequency and tense not in frequency.tenses:
            frequency = None
        marked = negated or frequency is not None
        if subject is None:
            subject = self.subject(verb, tense, KNOWN if marked else _SUBJECTS, pronouns)
        clause = Clause(
            verb, subject, tense=tense, negated=negated, frequency=frequency, front=front
        )
        self._fill(clause, without.split(), marked)
        if not plain and not verb.always and "time" not in without and self.chance(0.35):
            # "often every day", "already today" and "not every day" are contradictory or ambiguous.
            times = [time for time in (TIMES[:-1] if negated else TIMES) if tense in time.tenses]
            clause.time = self.one(times) if times and frequency is None else None
        return clause

    def _fill(self, clause: Clause, without: list[str], marked: bool) -> None:
        verb = clause.verb
        if verb.objects and "object" not in without:
            styles: Sequence[Style] = KNOWN if marked and verb.case == "dat" else _ANY
            if clause.negated and verb.case == "acc":
                styles = _DENIED
            clause.object = self._object(pool(verb.objects), styles, clause.subject)
        if verb.receivers and "receiver" not in without:
            styles = KNOWN if marked else _SUBJECTS
            clause.receiver = self._object(pool(verb.receivers), styles, clause.subject)
            if isinstance(clause.object, NounPhrase):
                clause.object.owner = None
        if verb.places and "place" not in without:
            often = 0.5 if verb.preposition is WITH else 0.15 if verb.objects else 0.35
            if verb.needs_place or self.chance(often):
                clause.place = self.place(verb, clause.subject)

    def place(self, verb: Verb, subject: Phrase) -> Prepositional:
        """Draw the verb's prepositional phrase."""
        nouns = pool(verb.places)
        if nouns[-1].kind == "thing" and self.chance(0.3):
            return Prepositional(verb.preposition, self.noun_phrase(nouns[-1:], _PLACES))
        nouns = tuple(noun for noun in nouns if noun.kind != "thing")
        if nouns[0].kind == "person":
            return Prepositional(verb.preposition, self._object(nouns, _SUBJECTS, subject))
        styles = _WATER if nouns[0].kind == "drink" else _PLACES
        return Prepositional(verb.preposition, self.noun_phrase(nouns, styles))

    def being(
        self, subject: NounPhrase | None = None, *, states: bool = False, pronouns: float = 0.0
    ) -> Clause | None:
        """Draw a clause with "is" and an adjective.

        With `states` it is about a person or an animal that is, for example, tired or sick. None if
        the noun already has all adjectives that suit it.
        """
        if subject is None:
            subject = self.noun_phrase(_LIVING if states else _DESCRIBED, _DESCRIBABLE)
        if subject.noun.kind == "drink":
            subject.determiner = THE
        said = {adjective.rank for adjective in subject.adjectives}
        fitting = [word for word in subject.noun.predicates if word.rank not in said]
        if states:
            fitting = [word for word in fitting if word.rank == STATE]
        if not fitting:
            return None
        predicate = self.one(fitting)
        clause = Clause(BE, subject, predicate=predicate)
        if subject.noun.kind == "person" and self.chance(pronouns):
            clause.subject = PRONOUNS[self.one((*_PRONOUN_SUBJECTS, "I"))]
        kind = self._random()
        clause.very, clause.negated = kind < 0.3, 0.3 <= kind < 0.5
        if 0.5 <= kind < 0.65 and predicate.rank == STATE:
            clause.frequency = FREQUENCIES[self.one((0, 1, 3))]
        return clause
