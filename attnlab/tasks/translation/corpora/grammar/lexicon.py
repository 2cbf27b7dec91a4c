"""The words of the grammar, and which of them make sense together.

`adjectives.csv`, `nouns.csv` and `verbs.csv` have the fields of `Adjective`, `Noun` and `Verb`;
spaces separate the items of a list. PERSONS, ANIMALS and GIFTS stand for several nouns.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Adjective:
    """An adjective; `rank` is its place among several before a noun: opinion, size, age, colour."""

    english: str
    german: str
    rank: int


@dataclass(frozen=True)
class Noun:
    """A noun."""

    english: str  # singular; the only form of a mass noun
    german: str  # nominative singular
    gender: str  # "m", "f" or "n"
    kind: str  # "person", "animal", "thing", "drink" or "place"
    plural: str = ""  # English plural; empty if not used
    german_plural: str = ""
    oblique: str = ""  # German accusative and dative singular, if it differs from the nominative
    genitive: str = ""  # German genitive singular, for nouns that own something
    adjectives: tuple[Adjective, ...] = ()  # those that may be before it
    predicates: tuple[Adjective, ...] = ()  # those that may be after "is"
    mine: bool = True  # whether "my" suits it

    def form(self, case: str, plural: bool) -> str:
        """Return the German form."""
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
    """The forms of a finite verb: with "I", with "he", and with any plural."""

    first: str
    third: str
    plural: str


class Finite(NamedTuple):
    """The forms of a finite verb in both languages."""

    english: Forms
    german: Forms  # without the separable prefix
    plain: bool = False  # whether English needs "do" in questions and negations


@dataclass(frozen=True)
class Verb:
    """A verb, its forms, and the nouns that suit it."""

    english: str  # base form
    third: str  # English third person singular
    past: str  # English participle
    german: str  # infinitive without its separable prefix
    er: str  # German third person singular without the prefix
    ge: str  # German participle
    prefix: str = ""  # separable prefix
    # English particle ("up", "back"), linked to the prefix, or to the verb if there is no prefix
    particle: str = ""
    ich: str = ""  # German first person singular, if "I" is used
    be: bool = False  # whether the perfect is built with "sein"
    subjects: str = "person"  # English nouns that can be its subject
    objects: str = ""  # English nouns that can be its object; empty for none
    case: str = "acc"  # German case of its object
    receivers: str = ""  # English nouns that can get the object
    preposition: Preposition = Preposition("", "", "")  # of its prepositional phrase
    places: str = ""  # English nouns in that phrase; empty for no phrase
    needs_place: bool = False  # whether the phrase can't be left out
    always: bool = False  # whether it is a state: present tense without adverbs

    def finite(self, tense: str) -> Finite:
        """Return the finite verb of a tense: the verb itself in the present, else an auxiliary."""
        if tense == "perfect":
            return _HAVE_WITH_BE if self.be else _HAVE
        if tense != "present":
            return AUXILIARIES[tense]
        english = Forms(self.english, self.third, self.english)
        plain = Finite(english, Forms(self.ich, self.er, self.german), plain=True)
        return _TO_BE if self is BE else plain


STATE = 4  # the rank of temporary states, such as "tired", which are only used after "is"


def _table(name: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file in this folder, by column name."""
    with open(Path(__file__).with_name(name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ADJECTIVES = {
    row["english"]: Adjective(row["english"], row["german"], int(row["rank"]))
    for row in _table("adjectives.csv")
}


def _noun(row: dict[str, Any]) -> Noun:
    for key in ("adjectives", "predicates"):
        row[key] = tuple(ADJECTIVES[word] for word in row[key].split())
    return Noun(**{**row, "mine": bool(row["mine"])})


NOUNS = {row["english"]: _noun(row) for row in _table("nouns.csv")}
PERSONS = tuple(noun for noun in NOUNS.values() if noun.kind == "person")
_GROUPS = {
    "PERSONS": " ".join(noun.english for noun in PERSONS),
    "ANIMALS": " ".join(noun.english for noun in NOUNS.values() if noun.kind == "animal"),
    "GIFTS": "letter newspaper book apple egg ball flower",
}

IN = Preposition("in", "in", "dat")
INTO = Preposition("into", "in", "acc")
OUT_OF = Preposition("out of", "aus", "dat", "0-0 1-0")
WITH = Preposition("with", "mit", "dat")
WAITING_FOR = Preposition("for", "auf", "acc")
_PREPOSITIONS = {each.english: each for each in (IN, INTO, OUT_OF, WITH, WAITING_FOR)}


def _verb(row: dict[str, Any]) -> Verb:
    for key in ("subjects", "objects", "receivers", "places"):
        row[key] = " ".join(_GROUPS.get(word, word) for word in row[key].split())
    for key in ("be", "always", "needs_place"):
        row[key] = bool(row[key])
    return Verb(**{**row, "preposition": _PREPOSITIONS.get(row["preposition"], Verb.preposition)})


VERBS = {f"{row['english']} {row['particle']}".strip(): _verb(row) for row in _table("verbs.csv")}

BE = Verb("be", "is", "been", "sein", "ist", "gewesen", be=True)
KNOW = Verb("know", "knows", "known", "wissen", "weiß", "gewusst", ich="weiß")
THINK = Verb("think", "thinks", "thought", "glauben", "glaubt", "geglaubt", ich="glaube")
HOPE = Verb("hope", "hopes", "hoped", "hoffen", "hofft", "gehofft", ich="hoffe")
SAY = Verb("say", "says", "said", "sagen", "sagt", "gesagt", ich="sage")

_TO_BE = Finite(Forms("am", "is", "are"), Forms("bin", "ist", "sind"))
_HAVE = Finite(Forms("have", "has", "have"), Forms("habe", "hat", "haben"))
_HAVE_WITH_BE = Finite(_HAVE.english, _TO_BE.german)
DO = Forms("do", "does", "do")
AUXILIARIES = {
    "can": Finite(Forms("can", "can", "can"), Forms("kann", "kann", "können")),
    "must": Finite(Forms("must", "must", "must"), Forms("muss", "muss", "müssen")),
    "want": Finite(Forms("want", "wants", "want"), Forms("will", "will", "wollen"), plain=True),
    "will": Finite(Forms("will", "will", "will"), Forms("werde", "wird", "werden")),
}
_LATER = frozenset(AUXILIARIES)

TIMES = (
    Adverb("today", "heute", _LATER | {"perfect"}),
    Adverb("tomorrow", "morgen", _LATER),
    Adverb("on Sunday", "am Sonntag", _LATER),
    Adverb("in the evening", "am Abend", _LATER | {"present"}, "0-0 1-0 2-1"),
    Adverb("every day", "jeden Tag", frozenset({"present"})),
)
FREQUENCIES = (
    Adverb("often", "oft", frozenset({"present", "perfect"})),
    Adverb("never", "nie", frozenset({"present", "perfect"})),
    Adverb("already", "schon", frozenset({"perfect"})),
    Adverb("always", "immer", frozenset({"present"})),
)
WHY, WHERE, WHEN = Adverb("why", "warum"), Adverb("where", "wo"), Adverb("when", "wann")
CONJUNCTIONS = dict(
    that="dass", whether="ob", because="weil", although="obwohl", when="wenn", before="bevor"
)
NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
# Only few verbs start a question, because each capitalised form is another word of the vocabulary.
ASKED_FIRST = ("sleep", "work", "sing", "play", "come back", "call", "see", "know", "love", "help",
               "look for", "read", "belong to")  # fmt: skip
