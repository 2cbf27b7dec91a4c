"""The statistics of `attnlab data`: counts of each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attnlab.tasks.catalog import Row, corpora, corpus_catalog
from attnlab.tasks.texts.corpus import Corpus, divided
from attnlab.text.words import split_words


def describe(corpus: Corpus, seed: int) -> dict[str, dict[str, Any]]:
    """Return the numbers of each part of an opened corpus, as a run with this seed divides it.

    Raises:
        RequestError: the corpus can't be read or divided.
    """
    parts = divided(corpus, seed)
    known = {word for document in parts["train"] for text in document for word in split_words(text)}
    return {part: _counts(documents, known) for part, documents in parts.items()}


def _counts(documents: Sequence[Sequence[str]], known: set[str]) -> dict[str, Any]:
    sentences = [split_words(text) for document in documents for text in document]
    total = sum(map(len, sentences))
    unknown = sum(word not in known for sentence in sentences for word in sentence)
    return {
        "documents": len(documents),
        "sentences": len(sentences),
        "words": total,  # words are those of `split_words`
        "longest": max(map(len, sentences), default=0),  # words of the longest sentence
        "unknown": unknown / max(total, 1),  # share of words that aren't in train
    }


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    parts = [*row["parts"].values()]
    yield "documents", *(f"{part['documents']:,}" for part in parts)
    yield "sentences", *(f"{part['sentences']:,}" for part in parts)
    yield "words", *(f"{part['words']:,}" for part in parts)
    yield "words of a sentence, most", *(f"{part['longest']:,}" for part in parts)
    yield "words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts)


TEXTS = corpus_catalog(Corpus, "without labels", describe, _lines, items="texts")
CATALOG = replace(TEXTS, names=lambda: corpora(Corpus, has_sentences=True))
