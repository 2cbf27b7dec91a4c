"""Test items with each run's predictions, confusion tables, and results by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    accuracy_by_group,
    items_table,
    mean_of,
    of_same_items,
    read_items,
    which_items,
    worst_first,
)
from attnlab.text.cleaning import shortened
from attnlab.views.records import Record, Table, tabs

_MOST_CHARACTERS = 400
_MOST_CLASSES = 12  # of a confusion table; the figure of a run has up to 100


def item_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of items and predictions, then confusion tables, then results by group."""
    tables, texts = of_same_items(
        runs,
        lambda run: read_items(run, KIND, ("label", "prediction", "likelihood")),
        lambda columns: (noun_of(columns), "label"),
    )
    nouns = f"{noun_of(next(iter(tables.values())))}s" if tables else "items"
    matrices = {run.label: run.metrics.get("confusion") for run in runs}
    confused = {
        label: [_confusion(matrix, nouns)]
        for label, matrix in matrices.items()
        if matrix and len(matrix["classes"]) <= _MOST_CLASSES
    }
    return [
        *([_table(tables)] if tables else []),
        *texts,
        *tabs(confused, named=len(runs) > 1),
        *accuracy_by_group(runs, nouns),
    ]


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the items with the smallest probability of their class, and some up to the largest."""
    first = next(iter(tables.values()))
    noun = noun_of(first)
    order = np.argsort(mean_of(tables, "likelihood"), kind="stable")
    rows = worst_first(order)
    what = f"{noun}s, by the probability p of their class"

    def cell(name: str) -> Callable[[Columns, int], str]:
        return lambda own, row: shortened(str(own[name][row]), _MOST_CHARACTERS)

    def predicted(own: Columns, row: int) -> str:
        return (
            f"{own['prediction'][row]}{'' if own['prediction'][row] == own['label'][row] else ' ✗'}"
        )

    shared = [Cells(noun, cell(noun)), Cells("class", cell("label"))]
    shared += [Cells("group", cell("group"))] if "group" in first else []
    per_run = [
        Cells("prediction", predicted, "says {label}"),
        Cells("p", lambda own, row: f"{own['likelihood'][row]:.3f}"),
    ]
    title = which_items(len(rows), len(order), what, len(tables))
    return items_table(title, tables, rows, shared, per_run)


def _confusion(confusion: Mapping[str, Any], nouns: str) -> Table:
    """Return a table of classes by predicted class."""
    classes, counts = confusion["classes"], np.array(confusion["counts"])
    rows = []
    for number, (name, row) in enumerate(zip(classes, counts, strict=True)):
        share = f"{row[number] / row.sum():.1%}" if row.any() else "-"
        rows.append([name, *map(str, row), str(row.sum()), share])
    title = f"{nouns} of each class (rows) by predicted class (columns)"
    return Table(title, ["class", *classes, nouns, "right"], rows)
