"""What `attnlab data` says of the corpora to classify."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.commands.data import corpora, counted, headed, make_corpus
from attnlab.tasks.base import Shelf
from attnlab.tasks.classification.corpora.corpus import Corpus
from attnlab.terminal.console import plain_table

_LISTED = 30  # classes, and groups


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": f"{corpus.noun}s"}


def _counted(corpus: Corpus, cache: Path, seed: int) -> dict[str, Any]:
    from attnlab.tasks.classification.corpora.corpus_statistics import describe

    return counted(corpus, cache, seed, describe)


def _print(row: Mapping[str, Any]) -> None:
    console = headed(row, f"{row['items']} with classes")
    if "parts" not in row:
        return
    # A column for each part, a row for each number.
    parts = [*row["parts"].values()]
    table = plain_table(["", *row["parts"]], [""])
    table.add_row(row["items"], *(f"{part[row['items']]:,}" for part in parts))
    if row["items"] == "texts":
        table.add_row("words, mean", *(f"{part['words']:,.2f}" for part in parts))
        table.add_row("words, most", *(f"{part['longest']:,}" for part in parts))
        table.add_row("words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts))
    else:
        table.add_row("pixels", *(part["pixels"] for part in parts))
    for title, word in (("classes", "class"), ("groups", "group")):
        names = [*dict.fromkeys(name for part in parts for name in part[title])]
        for name in names[:_LISTED]:
            label = f"{word} {name}"
            table.add_row(label, *(f"{part[title].get(name, 0):,}" for part in parts))
        if len(names) > _LISTED:
            table.add_row(f"and {len(names) - _LISTED:,} more {title}", *("" for _ in parts))
    console.print(table)


SHELF = Shelf(
    group="data",
    names=lambda: corpora(Corpus),
    make=make_corpus,
    about=_about,
    count=_counted,
    show=_print,
)
