"""What `attnlab data` says of the corpora of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attnlab.commands.data import corpus_catalog
from attnlab.tasks.answering.corpora.corpus import Corpus


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": "questions"}


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
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
        yield f"asks {name}", *counts


CATALOG = corpus_catalog(
    Corpus,
    about=_about,
    what="about texts",
    describe="attnlab.tasks.answering.corpora.corpus_statistics:describe",
    lines=_lines,
)
