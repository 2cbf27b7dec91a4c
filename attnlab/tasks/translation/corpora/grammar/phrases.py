"""Noun phrases and the other parts of a clause, written in both languages at once.

Cases are "nom", "acc", "dat" and "gen"; genders "m", "f", "n", and "p" for any plural. A phrase's
`person` is the form of the verb after it, a field of `lexicon.Forms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from attnlab.tasks.translation.corpora.grammar.lexicon import NUMBERS, Adjective, Noun, Preposition
from attnlab.tasks.translation.corpora.grammar.linked import Both, Link, Word, fixed, joined, paired

# --- declension ----------------------------------------------------------------------------------

GENDERS = ("m", "f", "n", "p")
Forms = dict[tuple[str, str], str]  # (case, gender) -> a form or an ending


def _table(**cases: str) -> Forms:
    """Return a table from rows of forms in the order of `GENDERS`; "-" stands for no ending."""
    return {
        (case, gender): form.strip("-")
        for case, row in cases.items()
        for gender, form in zip(GENDERS, row.split(), strict=True)
    }


# Endings of adjectives: after der-words, after ein-words, and after no word that shows the case.
WEAK = _table(nom="e e e en", acc="en e e en", dat="en en en en", gen="en en en en")
MIXED = _table(nom="er e es en", acc="en e es en", dat="en en en en", gen="en en en en")
STRONG = _table(nom="er e es e", acc="en e es e", dat="em er em en", gen="en er en er")

DEFINITE = _table(
    nom="der die das die", acc="den die das die", dat="dem der dem den", gen="des der des der"
)
RELATIVE = _table(nom="der die das die", acc="den die das die", dat="dem der dem denen")
_DER_WORD = _table(nom="er e es e", acc="en e es e", dat="em er em en", gen="es er es er")
_EIN_WORD = _table(nom="- e - e", acc="en e - e", dat="em er em en", gen="es er es er")


def _inflect(stem: str, endings: Forms) -> Forms:
    return {key: stem + ending for key, ending in endings.items()}


class Determiner(NamedTuple):
    """An article or another word before adjectives and noun."""

    singular: str  # English with a singular noun
    plural: str  # English with a plural noun
    german: Forms  # German forms; empty strings for no word
    adjectives: Forms  # endings of the adjectives after it
    # whether the phrase names something known, which determines the place of "nicht"
    definite: bool = False


_MANY = _inflect("viel", _DER_WORD)

THE = Determiner("the", "the", DEFINITE, WEAK, definite=True)
THIS = Determiner("this", "these", _inflect("dies", _DER_WORD), WEAK, definite=True)
MY = Determiner("my", "my", _inflect("mein", _EIN_WORD), MIXED, definite=True)
A = Determiner("a", "", _inflect("ein", _EIN_WORD), MIXED)
BARE = Determiner("", "", dict.fromkeys(DEFINITE, ""), STRONG)
MANY = Determiner("", "many", _MANY, STRONG)
WHICH = Determiner("which", "which", _inflect("welch", _DER_WORD), WEAK)
HOW_MANY = Determiner("", "how many", {key: f"wie {form}" for key, form in _MANY.items()}, STRONG)
NO = _inflect("kein", _EIN_WORD)  # what "a" and a missing article become with "not"


# --- phrases -------------------------------------------------------------------------------------


@dataclass
class NounPhrase:
    """A noun with determiner, number, adjectives, owner and relative clause."""

    noun: Noun
    determiner: Determiner = THE
    adjectives: tuple[Adjective, ...] = ()  # in English order
    plural: bool = False
    number: str = ""  # an English number from 2 to 5; needs `plural`
    owner: NounPhrase | None = None  # a phrase in the genitive ("of the king")
    relative: Any = None  # a `Clause`, one of whose parts is a `RelativePronoun`

    @property
    def gender(self) -> str:
        """The column in the German tables."""
        return "p" if self.plural else self.noun.gender

    @property
    def person(self) -> str:
        """The form of the verb after it."""
        return "plural" if self.plural else "third"

    @property
    def takes_no(self) -> bool:
        """Whether a negation before it becomes "kein"."""
        return (self.determiner is A or self.determiner is BARE) and not self.number

    def render(self, case: str, denial: Link | None = None) -> Both:
        """Write both languages, German in this case; `denial` is the link of a "not" before it."""
        first, endings = self._determiner(case, denial)
        parts = [first]
        if self.number:
            parts.append(paired(self.number, NUMBERS[self.number]))
        ending = endings[case, self.gender]
        parts += [paired(each.english, each.german + ending) for each in self.adjectives]
        noun = self.noun.plural if self.plural else self.noun.english
        parts.append(paired(noun, self.noun.form(case, self.plural)))
        english, german, _ = joined(*parts)
        if english[0].text == "a" and english[1].text[0] in "aeiou":
            english[0] = english[0]._replace(text="an")
        if self.owner:
            owner, of = self.owner.render("gen"), Link()  # German has a genitive article for "of"
            article = owner.german[0]
            english += [Word("of", (of,)), *owner.english]
            german += [Word(article.text, (*article.links, of)), *owner.german[1:]]
        if self.relative is None:
            return Both(english, german)
        relative = self.relative.dependent()
        return Both(english + relative.english, german, relative.german)

    def _determiner(self, case: str, denial: Link | None) -> tuple[Both, Forms]:
        """Return the determiner, and the endings of the adjectives after it."""
        determiner, key = self.determiner, (case, self.gender)
        text = determiner.plural if self.plural else determiner.singular
        if denial is None or not self.takes_no:
            return fixed(text, determiner.german[key]), determiner.adjectives
        link = Link()
        return Both([Word(text or "any", (link,))], [Word(NO[key], (link, denial))]), MIXED


@dataclass
class Pronoun:
    """A personal pronoun; forms that are not used are left out."""

    english: str  # nominative and the other form
    german: str  # nominative, accusative and dative
    person: str = "third"

    def render(self, case: str, denial: Link | None = None) -> Both:
        """Write both languages; see `NounPhrase.render`."""
        german = self.german.split()[("nom", "acc", "dat").index(case)]
        return paired(self.english.split()[case != "nom"], german)


PRONOUNS = {
    "I": Pronoun("I me", "ich mich mir", "first"),
    "he": Pronoun("he him", "er ihn ihm"),
    "she": Pronoun("she", "sie"),
    "we": Pronoun("we us", "wir uns uns", "plural"),
    "they": Pronoun("they", "sie", "plural"),
    "who": Pronoun("who whom", "wer wen wem"),
    "what": Pronoun("what what", "was was"),
}


@dataclass
class RelativePronoun:
    """The pronoun for `head` inside its relative clause."""

    head: NounPhrase

    @property
    def person(self) -> str:
        """The person of the head."""
        return self.head.person

    def render(self, case: str, denial: Link | None = None) -> Both:
        """Write both languages; see `NounPhrase.render`."""
        personal = "who" if case == "nom" else "whom"
        english = personal if self.head.noun.kind == "person" else "that"
        return paired(english, RELATIVE[case, self.head.gender])


@dataclass
class Together:
    """Two definite phrases, joined by "and"."""

    parts: tuple[NounPhrase, NounPhrase]
    person: str = "plural"

    def render(self, case: str, denial: Link | None = None) -> Both:
        """Write both languages; see `NounPhrase.render`."""
        one, other = (part.render(case) for part in self.parts)
        return joined(one, paired("and", "und"), other)


Phrase = NounPhrase | Pronoun | RelativePronoun | Together  # what can be subject or object
_SHORT = {("in", DEFINITE["dat", "m"]): "im", ("in", DEFINITE["acc", "n"]): "ins"}


@dataclass
class Prepositional:
    """A preposition with its phrase; "in dem" and "in das" become one word."""

    preposition: Preposition
    phrase: Phrase

    def render(self) -> Both:
        """Write both languages."""
        before = self.preposition
        sign = fixed(before.english, before.german, before.links)
        both = joined(sign, self.phrase.render(before.case))
        one, other = both.german[:2]
        short = _SHORT.get((one.text, other.text))
        if short and isinstance(self.phrase, NounPhrase) and self.phrase.determiner is THE:
            both.german[:2] = [Word(short, one.links + other.links)]
        return both
