"""What the grammar has to know of a word in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Adjective:
    """An adjective; `rank` orders several before a noun: opinion, size, age, colour."""

    english: str
    german: str
    rank: int


@dataclass(frozen=True)
class Noun:
    """A noun.

    Attributes:
        english: its singular; the only form of a mass noun.
        german: its nominative singular.
        gender: "m", "f" or "n".
        kind: "person", "animal", "thing", "drink" or "place".
        plural: English plural, empty where none is used.
        german_plural: German plural.
        oblique: German accusative and dative singular, where it is not the nominative.
        genitive: German genitive singular, for nouns that own something.
        adjectives: English adjectives that suit it.
        predicates: English adjectives that "is" may give it.
        mine: whether "my" suits it.
    """

    english: str
    german: str
    gender: str
    kind: str
    plural: str = ""
    german_plural: str = ""
    oblique: str = ""
    genitive: str = ""
    adjectives: tuple[Adjective, ...] = ()
    predicates: tuple[Adjective, ...] = ()
    mine: bool = True

    def form(self, case: str, plural: bool) -> str:
        """The German form."""
        if plural:
            takes_n = case == "dat" and self.german_plural[-1] not in "ns"
            return self.german_plural + "n" * takes_n
        if case == "gen":
            return self.genitive or self.german
        return self.oblique if self.oblique and case != "nom" else self.german


@dataclass(frozen=True)
class Preposition:
    """A preposition and the case that its German noun takes."""

    english: str
    german: str
    case: str
    links: str | None = None


@dataclass(frozen=True)
class Adverb:
    """A word or phrase of time, frequency or reason that never changes."""

    english: str
    german: str
    tenses: frozenset[str] = frozenset()
    links: str | None = None


class Forms(NamedTuple):
    """A finite verb: with "I", with "he", and with any plural."""

    first: str
    third: str
    plural: str


class Auxiliary(NamedTuple):
    """A verb that leads another one."""

    english: Forms
    german: Forms


@dataclass(frozen=True)
class Verb:
    """A verb with what it needs around it.

    Attributes:
        english: base form.
        third: English third person singular.
        past: English participle.
        german: infinitive without its separable prefix.
        er: German third person singular without the prefix.
        ge: German participle.
        prefix: separable prefix.
        particle: English particle ("up", "back"), linked to the prefix, or to the verb where
            there is none.
        ich: German first person singular, where "I" is used.
        be: whether the perfect is built with "sein".
        subjects: English nouns that can do it.
        objects: English nouns that it can be done to; empty for none.
        case: German case of its object.
        receivers: English nouns that can get the object.
        preposition: what leads its prepositional phrase.
        places: English nouns in that phrase.
        needs_place: whether the phrase can't be left out.
        always: whether it is a state: present tense without adverbs.
    """

    english: str
    third: str
    past: str
    german: str
    er: str
    ge: str
    prefix: str = ""
    particle: str = ""
    ich: str = ""
    be: bool = False
    subjects: str = "person"
    objects: str = ""
    case: str = "acc"
    receivers: str = ""
    preposition: Preposition | None = None
    places: str = ""
    needs_place: bool = False
    always: bool = False

    @property
    def finite(self) -> Auxiliary:
        """Its forms in the present tense, German without the prefix."""
        english = Forms(self.english, self.third, self.english)
        return Auxiliary(english, Forms(self.ich, self.er, self.german))
