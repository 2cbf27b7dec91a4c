"""What `attnlab data` shows: texts without labels, and generated tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnlab.tasks.catalog import Catalog, Row, Sheet, corpora, make_corpus
from attnlab.tasks.declaration import Progress
from attnlab.tasks.language.data import PADDING
from attnlab.tasks.language.generated import GeneratedRows
from attnlab.tasks.texts.corpus_statistics import TEXTS

_ROWS = "rows"


def _about(corpus: Any) -> Any:
    return {"items": _ROWS} if isinstance(corpus, GeneratedRows) else TEXTS.about(corpus)


def _count(corpus: Any, cache: Path, seed: int, progress: Progress) -> Row:
    if not isinstance(corpus, GeneratedRows):
        return TEXTS.count(corpus, cache, seed, progress)
    corpus.open(cache, progress)
    return {
        "notes": list(corpus.notes),
        "symbols": len(corpus.token_names),
        "parts": {
            part: {
                "rows": len(rows.tokens),
                "tokens of a row": rows.tokens.shape[1],
                "answers": int((rows.targets != PADDING).sum()),
            }
            for part, rows in corpus.parts.items()
        },
    }


def _sheet(row: Row) -> Sheet:
    if row["items"] != _ROWS:
        return TEXTS.sheet(row)
    if "parts" not in row:
        return Sheet("rows of symbols")
    what = f"rows of {row['symbols']:,} symbols"
    return Sheet(what, ["", *row["parts"]], [*_lines(row)])


def _lines(row: Row) -> Iterator[list[str]]:
    parts = [*row["parts"].values()]
    for name in parts[0]:
        yield [name, *(f"{part[name]:,}" for part in parts)]


CATALOG = Catalog(
    group="data",
    names=lambda: sorted([*TEXTS.names(), *corpora(GeneratedRows)]),
    make=make_corpus,
    about=_about,
    count=_count,
    sheet=_sheet,
)
