"""The statistics of `attnlab data`: counts and lengths of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Asked, Corpus, divided
from attnlab.tasks.catalog import Row, corpus_catalog
from attnlab.text.words import split_words


def describe(corpus: Corpus, seed: int) -> dict[str, dict[str, Any]]:
    """Return the numbers of each part of an opened corpus, as a run with this seed divides it.

    Raises:
        RequestError: the corpus can't be read or divided.
    """
    return {part: _counts(questions) for part, questions in divided(corpus, seed).items()}


def _counts(questions: Sequence[Asked]) -> dict[str, Any]:
    texts = [len(split_words(text)) for text in {each.text for each in questions}]
    answers = [len(split_words(each.answers[0].text)) for each in questions if each.answers]
    groups = Counter(each.group for each in questions)
    return {
        "questions": len(questions),
        "texts": len(texts),
        "unanswerable": len(questions) - len(answers),
        "words": fmean(texts),  # mean per text; words are those of `split_words`
        "longest": max(texts),
        "question_words": fmean(len(split_words(each.question)) for each in questions),
        "answer_words": fmean(answers) if answers else 0.0,
        "groups": dict(sorted(groups.items(), key=lambda each: (-each[1], each[0]))),
    }


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    parts = [*row["parts"].values()]
    yield "questions", *(f"{part['questions']:,}" for part in parts)
    yield "without an answer", *(f"{part['unanswerable']:,}" for part in parts)
    yield "texts", *(f"{part['texts']:,}" for part in parts)
    yield "words of a text, mean", *(f"{part['words']:,.2f}" for part in parts)
    yield "words of a text, most", *(f"{part['longest']:,}" for part in parts)
    yield "words of a question", *(f"{part['question_words']:,.2f}" for part in parts)
    yield "words of an answer", *(f"{part['answer_words']:,.2f}" for part in parts)
    for name in dict.fromkeys(name for part in parts for name in part["groups"]):
        counts = (f"{part['groups'].get(name, 0):,}" for part in parts)
        yield f"question word: {name}", *counts


CATALOG = corpus_catalog(Corpus, "about texts", describe, _lines)
