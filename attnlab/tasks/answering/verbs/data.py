"""What `attnlab data` says of the corpora of questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.commands.data import corpora, counted, headed, make_corpus
from attnlab.tasks.answering.corpora.corpus import Corpus
from attnlab.tasks.base import Shelf
from attnlab.terminal.console import plain_table


def _about(corpus: Corpus) -> dict[str, str]:
    return {"items": "questions"}


def _counted(corpus: Corpus, cache: Path, seed: int) -> dict[str, Any]:
    from attnlab.tasks.answering.corpora.corpus_statistics import describe

    return counted(corpus, cache, seed, describe)


def _print(row: Mapping[str, Any]) -> None:
    console = headed(row, f"{row['items']} about texts")
    if "parts" not in row:
        return
    # A column for each part, a row for each number.
    parts = [*row["parts"].values()]
    table = plain_table(["", *row["parts"]], [""])
    table.add_row("questions", *(f"{part['questions']:,}" for part in parts))
    table.add_row("without an answer", *(f"{part['unanswerable']:,}" for part in parts))
    table.add_row("texts", *(f"{part['texts']:,}" for part in parts))
    table.add_row("words of a text, mean", *(f"{part['words']:,.2f}" for part in parts))
    table.add_row("words of a text, most", *(f"{part['longest']:,}" for part in parts))
    table.add_row("words of a question", *(f"{part['question_words']:,.2f}" for part in parts))
    table.add_row("words of an answer", *(f"{part['answer_words']:,.2f}" for part in parts))
    for name in dict.fromkeys(name for part in parts for name in part["groups"]):
        counts = (f"{part['groups'].get(name, 0):,}" for part in parts)
        table.add_row(f"asks {name}", *counts)
    console.print(table)


SHELF = Shelf(
    group="data",
    names=lambda: corpora(Corpus),
    make=make_corpus,
    about=_about,
    count=_counted,
    show=_print,
)
