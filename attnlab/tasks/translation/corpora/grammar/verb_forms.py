"""The words of a verb: finite part, "not", infinitive or participle, particle."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.tasks.translation.corpora.grammar.lexicon import (
    AUXILIARIES,
    BE,
    DO,
    HAVE,
    HAVE_WITH_BE,
    TO_BE,
    Auxiliary,
    Verb,
)
from attnlab.tasks.translation.corpora.grammar.linked import NewLink, Word


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
    """Conjugate a verb in one of `TENSES` for a `person`, which is a field of `Forms`.

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
