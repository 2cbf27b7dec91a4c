"""German articles, pronouns and adjective endings by case and gender.

Cases are "nom", "acc", "dat" and "gen"; genders "m", "f", "n", and "p" for any plural.
"""

from __future__ import annotations

from typing import NamedTuple

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
