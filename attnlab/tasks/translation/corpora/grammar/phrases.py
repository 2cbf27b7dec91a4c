"""Noun phrases and the other parts of a clause, each written in both languages at once.

Cases are "nom", "acc", "dat" and "gen"; genders "m", "f", "n", and "p" for any plural. A phrase's
`person` is the form of the verb that it takes, a field of `lexicon.Forms`; `definite` says whether
it names something known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attnlab.tasks.translation.corpora.grammar.lexicon import NUMBERS, Adjective, Noun, Preposition
from attnlab.tasks.translation.corpora.grammar.linked import COMMA, Both, NewLink, Word, fixed

# --- declension ----------------------------------------------------------------------------------

GENDERS = ("m", "f", "n", "p")
Forms = dict[tuple[str, str], str]  # (case, gender) -> a form or an ending


def _table(**cases: str) -> Forms:
    """A table from rows of forms in the order of `GENDERS`; "-" stands for no ending."""
    return {
        (case, gender): form.strip("-")
        for case, row in cases.items()
        for gender, form in zip(GENDERS, row.split(), strict=True)
    }


# Endings of adjectives: after der-words, after ein-words, and with no word before that shows case.
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
    """What stands before adjectives and noun."""

    singular: str  # English with a singular noun
    plural: str  # English with a plural noun
    german: Forms  # German forms; empty words where there is none
    adjectives: Forms  # endings of the adjectives that follow
    # whether the phrase names something known, which decides where "nicht" stands
    definite: bool = False


_NOTHING = dict.fromkeys(DEFINITE, "")
_MANY = _inflect("viel", _DER_WORD)

THE = Determiner("the", "the", DEFINITE, WEAK, definite=True)
THIS = Determiner("this", "these", _inflect("dies", _DER_WORD), WEAK, definite=True)
MY = Determiner("my", "my", _inflect("mein", _EIN_WORD), MIXED, definite=True)
A = Determiner("a", "", _inflect("ein", _EIN_WORD), MIXED)
BARE = Determiner("", "", _NOTHING, STRONG)
MANY = Determiner("", "many", _MANY, STRONG)
WHICH = Determiner("which", "which", _inflect("welch", _DER_WORD), WEAK)
HOW_MANY = Determiner("", "how many", {key: f"wie {form}" for key, form in _MANY.items()}, STRONG)
NO = _inflect("kein", _EIN_WORD)  # what "a" and a missing article become with "not"


# --- phrases -------------------------------------------------------------------------------------


@dataclass
class NounPhrase:
    """A noun with what belongs to it."""

    noun: Noun  # its head
    determiner: Determiner = THE  # article or the like
    adjectives: tuple[Adjective, ...] = ()  # in English order
    plural: bool = False  # whether there are several
    number: str = ""  # an English number from 2 to 5; goes with `plural`
    owner: NounPhrase | None = None  # a phrase in the genitive ("of the king")
    relative: Any = None  # a `Clause` that has a `RelativePronoun` for one of its parts

    @property
    def gender(self) -> str:
        """Column of the German tables."""
        return "p" if self.plural else self.noun.gender

    @property
    def person(self) -> str:
        """Which form of the verb it takes."""
        return "plural" if self.plural else "third"

    @property
    def definite(self) -> bool:
        """Whether it names something known."""
        return self.determiner.definite

    @property
    def takes_no(self) -> bool:
        """Whether a negation before it becomes "kein"."""
        return (self.determiner is A or self.determiner is BARE) and not self.number

    def render(self, case: str, new: NewLink, not_link: int | None = None) -> Both:
        """Both sides, German in this case; `not_link` turns "a" into "kein" for that "not"."""
        english: list[Word] = []
        german: list[Word] = []
        endings = self._determiner(case, new, not_link, english, german)
        if self.number:
            _append(english, german, self.number, NUMBERS[self.number], new())
        for adjective in self.adjectives:
            ending = endings[case, self.gender]
            _append(english, german, adjective.english, adjective.german + ending, new())
        noun = self.noun.plural if self.plural else self.noun.english
        _append(english, german, noun, self.noun.form(case, self.plural), new())
        if english[0].text == "a" and english[1].text[0] in "aeiou":
            english[0] = english[0]._replace(text="an")
        if self.owner:
            owner = _of(self.owner.render("gen", new), new())
            english, german = english + owner.english, german + owner.german
        if self.relative is None:
            return Both(english, german)
        relative = self.relative.dependent(new)
        return Both(english + relative.english, german, (COMMA, *relative.german))

    def _determiner(
        self, case: str, new: NewLink, not_link: int | None, english: list[Word], german: list[Word]
    ) -> Forms:
        """Write the determiner to both sides; returns the endings that it asks for."""
        determiner, key = self.determiner, (case, self.gender)
        text = determiner.plural if self.plural else determiner.singular
        if not_link is not None and self.takes_no:
            link = new()
            english.append(Word(text or "any", (link,)))
            german.append(Word(NO[key], (link, not_link)))
            return MIXED
        words = zip(text.split(), determiner.german[key].split(), strict=True)
        for one, other in words:
            _append(english, german, one, other, new())
        return determiner.adjectives


def _append(english: list[Word], german: list[Word], one: str, other: str, link: int) -> None:
    english.append(Word(one, (link,)))
    german.append(Word(other, (link,)))


def _of(owner: Both, link: int) -> Both:
    """The owner behind "of", which German puts into the form of the article."""
    article = owner.german[0]
    article = article._replace(links=(*article.links, link))
    return Both([Word("of", (link,)), *owner.english], [article, *owner.german[1:]])


@dataclass
class Pronoun:
    """A personal pronoun."""

    english: tuple[str, str]  # nominative and the other form, which is empty where it is not used
    german: dict[str, str]  # forms by case
    person: str = "third"
    definite: bool = True

    def render(self, case: str, new: NewLink, not_link: int | None = None) -> Both:
        """Both sides, as `NounPhrase.render`."""
        link = (new(),)
        english = self.english[case != "nom"]
        return Both([Word(english, link)], [Word(self.german[case], link)])


def _pronoun(
    english: str, nom: str, acc: str = "", dat: str = "", person: str = "third"
) -> Pronoun:
    one, _, other = english.partition(" ")
    return Pronoun((one, other), {"nom": nom, "acc": acc, "dat": dat}, person)


PRONOUNS = {
    "I": _pronoun("I me", "ich", "mich", "mir", "first"),
    "he": _pronoun("he him", "er", "ihn", "ihm"),
    "she": _pronoun("she", "sie"),
    "we": _pronoun("we us", "wir", "uns", "uns", "plural"),
    "they": _pronoun("they", "sie", person="plural"),
    "who": _pronoun("who whom", "wer", "wen", "wem"),
    "what": _pronoun("what what", "was", "was"),
}


@dataclass
class RelativePronoun:
    """The pronoun that stands for `head` inside its relative clause."""

    head: NounPhrase
    definite: bool = True

    @property
    def person(self) -> str:
        """That of the head."""
        return self.head.person

    def render(self, case: str, new: NewLink, not_link: int | None = None) -> Both:
        """Both sides, as `NounPhrase.render`."""
        link = (new(),)
        english = "who" if case == "nom" else "whom"
        if self.head.noun.kind != "person":
            english = "that"
        return Both([Word(english, link)], [Word(RELATIVE[case, self.head.gender], link)])


@dataclass
class Together:
    """Phrases joined by "and", with commas before the last but one and earlier ones."""

    parts: tuple[NounPhrase, ...]
    person: str = field(default="plural", init=False)

    @property
    def definite(self) -> bool:
        """Whether all of it is known."""
        return all(part.definite for part in self.parts)

    def render(self, case: str, new: NewLink, not_link: int | None = None) -> Both:
        """Both sides, as `NounPhrase.render`."""
        both = self.parts[0].render(case, new)
        for part in self.parts[1:]:
            sign = fixed(*(("and", "und") if part is self.parts[-1] else (",", ",")), new)
            next_one = part.render(case, new)
            both = Both(
                both.english + sign.english + next_one.english,
                both.german + sign.german + next_one.german,
            )
        return both


Phrase = NounPhrase | Pronoun | RelativePronoun | Together  # what can be subject or object


@dataclass
class Prepositional:
    """A preposition with its phrase; "in dem" and "in das" become one word."""

    preposition: Preposition
    phrase: Phrase

    def render(self, new: NewLink) -> Both:
        """Both sides."""
        preposition = self.preposition
        before = fixed(preposition.english, preposition.german, new, preposition.links)
        after = self.phrase.render(preposition.case, new)
        german = before.german + after.german
        short = _SHORT.get((german[0].text, german[1].text))
        if short and isinstance(self.phrase, NounPhrase) and self.phrase.determiner is THE:
            german[:2] = [Word(short, german[0].links + german[1].links)]
        return Both(before.english + after.english, german, after.tail)


_SHORT = {("in", DEFINITE["dat", "m"]): "im", ("in", DEFINITE["acc", "n"]): "ins"}
