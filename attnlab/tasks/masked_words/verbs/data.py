"""What `attnlab data` says of the corpora of texts without labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attnlab.commands.data import corpus_catalog
from attnlab.tasks.masked_words.corpora.corpus import Corpus


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": "texts"}


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    parts = [*row["parts"].values()]
    yield "documents", *(f"{part['documents']:,}" for part in parts)
    yield "sentences", *(f"{part['sentences']:,}" for part in parts)
    yield "words", *(f"{part['words']:,}" for part in parts)
    yield "words of a sentence, most", *(f"{part['longest']:,}" for part in parts)
    yield "words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts)


CATALOG = corpus_catalog(
    Corpus,
    about=_about,
    what="without labels",
    describe="attnlab.tasks.masked_words.corpora.corpus_statistics:describe",
    lines=_lines,
)
