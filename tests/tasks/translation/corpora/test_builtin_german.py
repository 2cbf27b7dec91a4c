"""The corpus's German, checked by independent rules: no table of the grammar is used here."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from attnlab.text.words import split_words

# Genders of each noun form: m, f, n, and p for the plural.
NOUNS = {
    "m": "Mann Lehrer Arzt Vater König Junge Jungen Hund Brief Apfel Ball Kaffee Garten Mannes "
    "Lehrers Arztes Vaters Königs",
    "f": "Frau Mutter Schwester Königin Katze Zeitung Suppe Blume Tür Milch Küche Stadt",
    "n": "Kind Mädchen Pferd Buch Ei Auto Fenster Wasser Haus Kindes Mädchens",
    "p": "Männer Männern Lehrer Lehrern Ärzte Ärzten Jungen Frauen Kinder Kindern Mädchen Hunde "
    "Hunden Katzen Pferde Pferden Briefe Zeitungen Bücher Äpfel Eier Bälle Blumen Autos Türen "
    "Fenster Häuser",
}
GENDERS = {
    noun: [gender for gender, nouns in NOUNS.items() if noun in nouns.split()]
    for nouns in NOUNS.values()
    for noun in nouns.split()
}
CASES = ("nom", "acc", "dat", "gen")
# "der" may be a masculine nominative, and so on.
DER = {
    "der": "m nom, f dat, f gen, p gen",
    "die": "f nom, f acc, p nom, p acc",
    "das": "n nom, n acc",
    "den": "m acc, p dat",
    "dem": "m dat, n dat",
    "des": "m gen, n gen",
    "im": "m dat, n dat",
    "ins": "n acc",
}
ENDINGS = {
    "er": "m nom, f dat, f gen, p gen",
    "e": "f nom, f acc, p nom, p acc",
    "es": "n nom, n acc, m gen, n gen",
    "en": "m acc, p dat",
    "em": "m dat, n dat",
    "": "m nom, n nom, n acc",
}
ADJECTIVE = re.compile(
    "(freundlich|klug|gut|schön|klein|groß|alt|jung|neu|heiß|kalt|rot)(e|er|es|en|em)"
)
DER_WORD = re.compile("(dies|welch)(e|er|es|en|em)")
EIN_WORD = re.compile("(ein|mein|kein)(e|er|es|en|em|)")
MANY = re.compile("(viel)(e|en)")
NUMBERS = {"zwei", "drei", "vier", "fünf"}
PREPOSITIONS = {"mit": {"dat"}, "aus": {"dat"}, "auf": {"acc"}, "in": {"dat", "acc"}}


def readings(text):
    return {tuple(reading.split()) for reading in text.split(", ")}


def article(word):
    """The possible forms of an article, and the adjectives after it; None for another word."""
    if word in DER:
        return readings(DER[word]), "weak"
    for pattern, kind in ((DER_WORD, "weak"), (EIN_WORD, "mixed"), (MANY, "strong")):
        match = pattern.fullmatch(word)
        if match:
            return readings(ENDINGS[match[2]]), kind
    return None


def ending(kind, gender, case):
    """The ending of an adjective, by a simple rule."""
    if kind == "strong":
        if case == "gen" and gender in "mn":
            return "en"
        fitting = [each for each, text in ENDINGS.items() if (gender, case) in readings(text)]
        return next(each for each in fitting if each)
    plain = (case == "nom" and gender != "p") or (case == "acc" and gender in "fn")
    if not plain:
        return "en"
    return {"m": "er", "f": "e", "n": "es"}[gender] if kind == "mixed" else "e"


def noun_allows(noun, gender, case):
    if gender == "p":
        return (case == "dat") <= noun.endswith(("n", "s"))
    if noun == "Junge" or noun == "Jungen":
        return (noun == "Junge") == (case == "nom")
    genitive = noun.endswith(("es", "rs", "gs", "ns")) and gender in "mn"
    return genitive == (case == "gen" and gender in "mn")


def noun_phrases(words):
    """Each phrase as its possible cuts: (preposition, article, adjectives, noun).

    After a comma, an apparent article may be a relative pronoun.
    """
    for at, noun in enumerate(words):
        if noun not in GENDERS:
            continue
        start = at
        while start and (ADJECTIVE.fullmatch(words[start - 1]) or words[start - 1] in NUMBERS):
            start -= 1
        adjectives = [word for word in words[start:at] if word not in NUMBERS]
        before = ["", "", "", *words[:start]]
        bare = (before[-1] if before[-1] in PREPOSITIONS else "", "", adjectives, noun)
        if not article(before[-1]):
            yield [bare]
            continue
        led = (before[-2], before[-1], adjectives, noun)
        relative = before[-2] == "," or (before[-3] == "," and before[-2] in PREPOSITIONS)
        yield [led, bare] if relative else [led]


def fits(cuts):
    """The readings of a phrase that agree in gender, case and number."""
    return [reading for cut in cuts for reading in _fitting(*cut)]


def _fitting(preposition, before, adjectives, noun):
    possible, kind = article(before) or (
        {(gender, case) for gender in "mfnp" for case in CASES[:3]},
        "strong",
    )
    return [
        (gender, case)
        for gender, case in possible
        if gender in GENDERS[noun]
        and noun_allows(noun, gender, case)
        and case in PREPOSITIONS.get(preposition, CASES)
        and all(ADJECTIVE.fullmatch(word)[2] == ending(kind, gender, case) for word in adjectives)
    ]


@pytest.fixture(scope="module")
def sentences(builtin_parts):
    texts = [pair.target for part in builtin_parts.values() for pair in part]
    return [split_words(text[0].lower() + text[1:]) for text in texts]


@pytest.mark.parametrize(
    ("phrase", "right"),
    [
        ("der alte König", True),
        ("der alter König", False),
        ("den alten König", True),
        ("das alte König", False),
        ("ein kleines Kind", True),
        ("ein kleine Kind", False),
        ("mit dem kleinen Kind", True),
        ("mit das kleine Kind", False),
        ("den Männer", False),
        ("dem Junge", False),
        ("des Königs", True),
        ("des König", False),
        ("kalten Kaffee", True),
        ("kalte Kaffee", False),
        ("die drei klugen Frauen", True),
        ("drei klugen Frauen", True),
        ("auf drei klugen Frauen", False),
    ],
)
def test_the_checker_sees_mistakes(phrase, right):
    (found,) = noun_phrases(phrase.split())
    assert bool(fits(found)) == right


def test_articles_adjectives_and_nouns_agree(sentences):
    seen = Counter()
    for words in sentences:
        for phrase in noun_phrases(words):
            agreeing = fits(phrase)
            assert agreeing, (" ".join(words), phrase)
            if len(phrase) == 1 and phrase[0][1] and len(agreeing) == 1:
                seen[agreeing[0]] += 1
    singular = {(gender, case) for gender in "mn" for case in ("dat", "gen")}
    assert singular | {("m", "nom"), ("m", "acc"), ("p", "dat")} <= set(seen)


FINITE = re.compile(
    "(bin|ist|sind|habe|hat|haben|kann|können|muss|müssen|will|wollen|werde|wird|werden|weiß|"
    "wissen|glaube|glaubt|glauben|hoffe|hofft|hoffen|sagt|sagen|[a-zäöüß]+(t|en))"
)


def test_subordinate_clauses_end_with_a_finite_verb(sentences):
    conjunctions = {"dass", "ob", "weil", "obwohl", "wenn", "bevor"}
    clauses = 0
    for words in sentences:
        text = re.split(" (?=[,.?])| (?<=[,]) ", " ".join(words))
        for clause in (part.strip(" ,").split() for part in text):
            if clause and clause[0] in conjunctions:
                clauses += 1
                last = clause[-1]
                interrupted = "," in words[words.index(clause[0]) :] and not FINITE.fullmatch(last)
                assert FINITE.fullmatch(last) or interrupted, " ".join(words)
                assert not {"zu", "auf", "ab", "an", "ein", "zurück"} & {last}, " ".join(words)
    assert clauses > 4000


def test_the_finite_verb_comes_second(sentences):
    """After a time at the start of a sentence, where English keeps its order."""
    behind = 0
    for words in sentences:
        if words[0] in ("heute", "morgen"):
            assert FINITE.fullmatch(words[1]), " ".join(words)
            behind += 1
    assert behind > 400
