"""What `attnlab data` says of the corpora of texts without labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.commands.data import TABLE_WIDTH, corpora, home, make_corpus
from attnlab.tasks.base import Shelf
from attnlab.tasks.masked_words.corpora.corpus import Corpus
from attnlab.terminal.console import plain_console, plain_table


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": "texts"}


def _counted(corpus: Corpus, cache: Path, seed: int) -> dict[str, Any]:
    """What is in a corpus, where it is at hand."""
    from attnlab.run.screen import screen
    from attnlab.tasks.masked_words.corpora.corpus_statistics import describe

    if corpus.fetchable and corpus.location(cache) is None:
        return {}
    with screen() as shown:
        corpus.open(cache, shown.working)
        return {"parts": describe(corpus, seed)}


def _print(row: Mapping[str, Any]) -> None:
    console = plain_console(width=TABLE_WIDTH)
    console.print(f"{row['name']}, {row['items']} without labels: {row['origin']}")
    console.print(f"licence: {row['license']}")
    console.print(f"where: {home(row['where'])}", soft_wrap=True)
    if "parts" not in row:
        return
    # A column for each part, a row for each number.
    parts = [*row["parts"].values()]
    table = plain_table(["", *row["parts"]], [""])
    table.add_row("documents", *(f"{part['documents']:,}" for part in parts))
    table.add_row("sentences", *(f"{part['sentences']:,}" for part in parts))
    table.add_row("words", *(f"{part['words']:,}" for part in parts))
    table.add_row("words of a sentence, most", *(f"{part['longest']:,}" for part in parts))
    table.add_row("words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts))
    console.print(table)


SHELF = Shelf(
    group="data",
    names=lambda: corpora(Corpus),
    make=make_corpus,
    about=_about,
    count=_counted,
    show=_print,
)
