"""What `attnlab data` says of the corpora to classify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attnlab.commands.data import corpus_catalog
from attnlab.tasks.classification.corpora.corpus import Corpus

_LISTED = 30  # classes, and groups


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": f"{corpus.noun}s"}


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    parts = [*row["parts"].values()]
    yield row["items"], *(f"{part[row['items']]:,}" for part in parts)
    if row["items"] == "texts":
        yield "words, mean", *(f"{part['words']:,.2f}" for part in parts)
        yield "words, most", *(f"{part['longest']:,}" for part in parts)
        yield "words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts)
    else:
        yield "pixels", *(part["pixels"] for part in parts)
    for title, word in (("classes", "class"), ("groups", "group")):
        names = [*dict.fromkeys(name for part in parts for name in part[title])]
        for name in names[:_LISTED]:
            label = f"{word} {name}"
            yield label, *(f"{part[title].get(name, 0):,}" for part in parts)
        if len(names) > _LISTED:
            yield f"and {len(names) - _LISTED:,} more {title}", *("" for _ in parts)


CATALOG = corpus_catalog(
    Corpus,
    about=_about,
    what="with classes",
    describe="attnlab.tasks.classification.corpora.corpus_statistics:describe",
    lines=_lines,
)
