"""Test words with what each run says in their place, and how good it is at which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.page.by_item import (
    Columns,
    accuracy_by_group,
    of_same_items,
    require_columns,
    which_items,
    worst_first,
)
from attnlab.page.parts import Part, Table
from attnlab.tasks.base import Shown
from attnlab.tasks.masked_words.kind import KIND

_COLUMNS = ("text", "place", "word", "p_word", "prediction", "right", "probability")


def word_parts(shown: Sequence[Shown]) -> list[Part]:
    """Words side by side with what each run says; then accuracy by what stood in their place."""
    tables, parts = of_same_items(shown, _read, lambda _: ("text", "place", "word"))
    return [*([_table(tables)] if tables else []), *parts, *accuracy_by_group(shown, "words")]


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    require_columns(run.run.path / "predictions.csv", columns, _COLUMNS)
    return columns


def _table(tables: Mapping[str, Columns]) -> Table:
    """The words that runs know least of, and some at equal distances up to the best known ones."""
    first = next(iter(tables.values()))
    order = np.argsort(np.mean([own["p_word"] for own in tables.values()], axis=0), kind="stable")
    rows = worst_first(order)
    cells = [
        [
            str(first["text"][row]),
            str(first["word"][row]),
            *(_said(own, row) for own in tables.values()),
            *(f"{own['p_word'][row]:.3f}" for own in tables.values()),
        ]
        for row in rows
    ]
    several = len(tables) > 1
    said = [f"says {label}" for label in tables] if several else ["prediction"]
    sure = [f"p, {label}" for label in tables] if several else ["p"]
    what = "words, by the probability p of the right one"
    title = which_items(len(rows), len(order), what, len(tables))
    header = ["text", "word", *said, *sure]
    return Table(title, header, cells, words=2 + len(tables), prose=True)


def _said(columns: Columns, row: int) -> str:
    """What is said in a word's place; where that is wrong, with its probability."""
    said = str(columns["prediction"][row])
    return said if columns["right"][row] else f"{said} ✗ ({columns['probability'][row]:.2f})"
