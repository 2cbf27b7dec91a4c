"""What `attnlab data` shows: texts without labels, and generated tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnlab.tasks.catalog import Catalog, Row, Sheet, corpora, make_corpus
from attnlab.tasks.declaration import Progress
from attnlab.tasks.language.corpora import Text
from attnlab.tasks.language.generated import GeneratedRows


def _count(corpus: Any, cache: Path, seed: int, progress: Progress) -> Row:
    if corpus.fetchable and corpus.location(cache) is None:
        return {}
    corpus.open(cache, progress)
    return {"notes": list(corpus.notes), "parts": corpus.count(seed)}


def _sheet(row: Row) -> Sheet:
    what = "rows of symbols" if row["items"] == "rows" else "texts without labels"
    if "parts" not in row:
        return Sheet(what)
    return Sheet(what, ["", *row["parts"]], [*_lines(row)])


def _lines(row: Row) -> Iterator[list[str]]:
    parts = [*row["parts"].values()]
    for name in parts[0]:
        yield [name, *(f"{part[name]:,}" for part in parts)]


CATALOG = Catalog(
    group="data",
    names=lambda: sorted([*corpora(Text), *corpora(GeneratedRows)]),
    make=make_corpus,
    about=lambda corpus: {"items": f"{corpus.noun}s"},
    count=_count,
    sheet=_sheet,
)
