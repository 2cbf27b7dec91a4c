"""Noun phrases in every case, gender and kind of determiner, written by hand."""

from __future__ import annotations

import pytest

from attnlab.tasks.translation.corpora.grammar.lexicon import ADJECTIVES, NOUNS
from attnlab.tasks.translation.corpora.grammar.linked import Link, Word, finish
from attnlab.tasks.translation.corpora.grammar.phrases import (
    BARE,
    HOW_MANY,
    MANY,
    MY,
    THE,
    THIS,
    WHICH,
    A,
    NounPhrase,
)

CASES = ("nom", "acc", "dat", "gen")
# Determiner, noun, adjective, plural -> nominative, accusative, dative, genitive.
PARADIGMS = [
    (THE, "king", "old", False, "der alte König", "den alten König", "dem alten König",
     "des alten Königs"),
    (THE, "boy", "small", False, "der kleine Junge", "den kleinen Jungen", "dem kleinen Jungen",
     "des kleinen Jungen"),
    (THE, "woman", "old", False, "die alte Frau", "die alte Frau", "der alten Frau",
     "der alten Frau"),
    (THE, "child", "small", False, "das kleine Kind", "das kleine Kind", "dem kleinen Kind",
     "des kleinen Kindes"),
    (THE, "man", "old", True, "die alten Männer", "die alten Männer", "den alten Männern",
     "der alten Männer"),
    (THIS, "doctor", "new", False, "dieser neue Arzt", "diesen neuen Arzt", "diesem neuen Arzt",
     "dieses neuen Arztes"),
    (THIS, "cat", "big", False, "diese große Katze", "diese große Katze", "dieser großen Katze",
     "dieser großen Katze"),
    (THIS, "girl", "young", False, "dieses junge Mädchen", "dieses junge Mädchen",
     "diesem jungen Mädchen", "dieses jungen Mädchens"),
    (THIS, "child", "good", True, "diese guten Kinder", "diese guten Kinder",
     "diesen guten Kindern", "dieser guten Kinder"),
    (MY, "teacher", "friendly", False, "mein freundlicher Lehrer", "meinen freundlichen Lehrer",
     "meinem freundlichen Lehrer", "meines freundlichen Lehrers"),
    (MY, "sister", "clever", False, "meine kluge Schwester", "meine kluge Schwester",
     "meiner klugen Schwester", "meiner klugen Schwester"),
    (MY, "child", "good", False, "mein gutes Kind", "mein gutes Kind", "meinem guten Kind",
     "meines guten Kindes"),
    (MY, "dog", "old", True, "meine alten Hunde", "meine alten Hunde", "meinen alten Hunden",
     "meiner alten Hunde"),
    (A, "father", "good", False, "ein guter Vater", "einen guten Vater", "einem guten Vater",
     "eines guten Vaters"),
    (A, "queen", "young", False, "eine junge Königin", "eine junge Königin",
     "einer jungen Königin", "einer jungen Königin"),
    (A, "girl", "clever", False, "ein kluges Mädchen", "ein kluges Mädchen",
     "einem klugen Mädchen", "eines klugen Mädchens"),
    (WHICH, "man", "old", False, "welcher alte Mann", "welchen alten Mann", "welchem alten Mann",
     "welches alten Mannes"),
    (WHICH, "woman", "old", False, "welche alte Frau", "welche alte Frau", "welcher alten Frau",
     "welcher alten Frau"),
    (WHICH, "child", "good", False, "welches gute Kind", "welches gute Kind",
     "welchem guten Kind", "welches guten Kindes"),
    (MANY, "horse", "beautiful", True, "viele schöne Pferde",
     "viele schöne Pferde", "vielen schönen Pferden", "vieler schöner Pferde"),
    (HOW_MANY, "apple", "red", True, "wie viele rote Äpfel", "wie viele rote Äpfel",
     "wie vielen roten Äpfeln", "wie vieler roter Äpfel"),
    (BARE, "car", "new", True, "neue Autos", "neue Autos", "neuen Autos", "neuer Autos"),
]  # fmt: skip
MASS = [
    ("coffee", "heißer Kaffee", "heißen Kaffee", "heißem Kaffee"),
    ("milk", "heiße Milch", "heiße Milch", "heißer Milch"),
    ("water", "heißes Wasser", "heißes Wasser", "heißem Wasser"),
]
DENIED = [
    (A, "doctor", "old", False, "kein alter Arzt", "keinen alten Arzt", "keinem alten Arzt"),
    (A, "flower", "red", False, "keine rote Blume", "keine rote Blume", "keiner roten Blume"),
    (A, "book", "new", False, "kein neues Buch", "kein neues Buch", "keinem neuen Buch"),
    (BARE, "egg", "big", True, "keine großen Eier", "keine großen Eier", "keinen großen Eiern"),
    (BARE, "coffee", "cold", False, "kein kalter Kaffee", "keinen kalten Kaffee",
     "keinem kalten Kaffee"),
    (BARE, "milk", "cold", False, "keine kalte Milch", "keine kalte Milch", "keiner kalten Milch"),
]  # fmt: skip


def german(phrase, case, denial=None):
    return " ".join(word.text for word in phrase.render(case, denial).german)


def phrase_of(determiner, noun, adjective, plural=False, **more):
    return NounPhrase(NOUNS[noun], determiner, (ADJECTIVES[adjective],), plural, **more)


@pytest.mark.parametrize("row", PARADIGMS, ids=lambda row: row[4])
def test_paradigm(row):
    phrase = phrase_of(*row[:4])
    assert tuple(german(phrase, case) for case in CASES) == row[4:]


@pytest.mark.parametrize("row", MASS, ids=lambda row: row[0])
def test_nouns_without_an_article_have_strong_adjectives(row):
    phrase = phrase_of(BARE, row[0], "hot")
    assert tuple(german(phrase, case) for case in CASES[:3]) == row[1:]


@pytest.mark.parametrize("row", DENIED, ids=lambda row: row[4])
def test_kein(row):
    phrase = phrase_of(*row[:4])
    assert tuple(german(phrase, case, denial=Link()) for case in CASES[:3]) == row[4:]


@pytest.mark.parametrize(
    ("determiner", "expected"),
    [
        (BARE, ("drei kluge Kinder", "drei kluge Kinder", "drei klugen Kindern")),
        (THE, ("die drei klugen Kinder", "die drei klugen Kinder", "den drei klugen Kindern")),
    ],
)
def test_numbers_leave_the_ending_to_the_article(determiner, expected):
    phrase = phrase_of(determiner, "child", "clever", plural=True, number="three")
    assert tuple(german(phrase, case) for case in CASES[:3]) == expected


def test_an_before_a_vowel():
    for words, article in (("old", "an"), ("small", "a")):
        english = phrase_of(A, "egg", words).render("acc").english
        assert english[0].text == article
    assert NounPhrase(NOUNS["apple"], A).render("acc").english[0].text == "an"


def test_the_comma_with_a_link_stays():
    link = Link()

    def words(*commas):
        return [Word("ja"), *(Word(",", links) for links in commas), Word("nein")]

    for commas in ([(link,), ()], [(), (link,)]):
        made = finish([Word("yes"), Word(",", (link,)), Word("no")], words(*commas), ".")
        assert made.german == "Ja, nein."
        assert made.links == [(1, 1), (3, 3)]
