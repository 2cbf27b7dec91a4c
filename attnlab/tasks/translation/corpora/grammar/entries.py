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
    """A noun."""

    english: str  # its singular; the only form of a mass noun
    german: str  # its nominative singular
    gender: str  # "m", "f" or "n"
    kind: str  # "person", "animal", "thing", "drink" or "place"
    plural: str = ""  # English plural, empty where none is used
    german_plural: str = ""  # German plural
    oblique: str = ""  # German accusative and dative singular, where it is not the nominative
    genitive: str = ""  # German genitive singular, for nouns that own something
    adjectives: tuple[Adjective, ...] = ()  # English adjectives that suit it
    predicates: tuple[Adjective, ...] = ()  # English adjectives that "is" may give it
    mine: bool = True  # whether "my" suits it

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
    """A verb with what it needs around it."""

    english: str  # base form
    third: str  # English third person singular
    past: str  # English participle
    german: str  # infinitive without its separable prefix
    er: str  # German third person singular without the prefix
    ge: str  # German participle
    prefix: str = ""  # separable prefix
    # English particle ("up", "back"), linked to the prefix, or to the verb where there is none
    particle: str = ""
    ich: str = ""  # German first person singular, where "I" is used
    be: bool = False  # whether the perfect is built with "sein"
    subjects: str = "person"  # English nouns that can do it
    objects: str = ""  # English nouns that it can be done to; empty for none
    case: str = "acc"  # German case of its object
    receivers: str = ""  # English nouns that can get the object
    preposition: Preposition | None = None  # what leads its prepositional phrase
    places: str = ""  # English nouns in that phrase
    needs_place: bool = False  # whether the phrase can't be left out
    always: bool = False  # whether it is a state: present tense without adverbs

    @property
    def finite(self) -> Auxiliary:
        """Its forms in the present tense, German without the prefix."""
        english = Forms(self.english, self.third, self.english)
        return Auxiliary(english, Forms(self.ich, self.er, self.german))
