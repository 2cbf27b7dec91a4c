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
_MOST_CLASSES, _MOST_MISTAKES = 12, 20


def item_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of items and predictions, then confusion tables, then results by group."""
    tables, texts = of_same_items(
        runs,
        lambda run: read_items(run, KIND, ("label", "prediction", "probability")),
        lambda columns: (noun_of(columns), "label"),
    )
    nouns = f"{noun_of(next(iter(tables.values())))}s" if tables else "items"
    confused = {run.label: [_confusion(run.metrics["confusion"], nouns)] for run in runs
                if run.metrics.get("confusion")}  # fmt: skip
    return [
        *([_table(tables)] if tables else []),
        *texts,
        *tabs(confused, named=len(runs) > 1),
        *accuracy_by_group(runs, nouns),
    ]


def likelihood(columns: Columns) -> np.ndarray:
    """Return the probability of each item's class, (N,), or an upper bound of it.

    With more than 20 classes, a run stores only the probability of its prediction. If that is not
    the item's class, the bound is 1 minus that probability.
    """
    largest = np.asarray(columns["probability"], np.float64)
    found = np.where(_is_right(columns), largest, 1.0 - largest)
    for name in np.unique(columns["label"]):
        if f"p_{name}" in columns:
            rows = columns["label"] == name
            found[rows] = columns[f"p_{name}"][rows]
    return found


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the items with the smallest probability of their class, and some up to the largest."""
    first = next(iter(tables.values()))
    noun = noun_of(first)
    likely = {label: {**own, "likelihood": likelihood(own)} for label, own in tables.items()}
    order = np.argsort(mean_of(likely, "likelihood"), kind="stable")
    rows = worst_first(order)
    what = f"{noun}s, by the probability p of their class"

    def cell(name: str) -> Callable[[Columns, int], str]:
        return lambda own, row: shortened(str(own[name][row]), _MOST_CHARACTERS)

    def predicted(own: Columns, row: int) -> str:
        return f"{own['prediction'][row]}{'' if _is_right(own)[row] else ' ✗'}"

    def share(own: Columns, row: int) -> str:
        is_bound = not (_is_right(own)[row] or f"p_{own['label'][row]}" in own)
        return f"{'≤ ' if is_bound else ''}{own['likelihood'][row]:.3f}"

    shared = [Cells(noun, cell(noun)), Cells("class", cell("label"))]
    shared += [Cells("group", cell("group"))] if "group" in first else []
    per_run = [Cells("prediction", predicted, "says {label}"), Cells("p", share)]
    title = which_items(len(rows), len(order), what, len(tables))
    return items_table(title, likely, rows, shared, per_run)


def _is_right(columns: Columns) -> np.ndarray:
    return columns["label"] == columns["prediction"]


def _confusion(confusion: Mapping[str, Any], nouns: str) -> Table:
    """Return a table of classes by predicted class, or of the most frequent mistakes."""
    classes, counts = confusion["classes"], np.array(confusion["counts"])
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    if len(classes) <= _MOST_CLASSES:
        rows = [
            [
                name,
                *map(str, counts[row]),
                str(totals[row]),
                f"{shares[row, row]:.1%}" if totals[row] else "-",
            ]
            for row, name in enumerate(classes)
        ]
        title = f"{nouns} of each class (rows) by predicted class (columns)"
        return Table(title, ["class", *classes, nouns, "right"], rows)
    wrong = counts * (1 - np.eye(len(classes), dtype=int))
    largest = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_MISTAKES]
    rows = [
        [classes[row], classes[column], str(counts[row, column]), f"{shares[row, column]:.1%}"]
        for row, column in zip(*np.unravel_index(largest, wrong.shape), strict=True)
        if wrong[row, column]
    ]
    title = f"the most frequent mistakes, {len(rows)} of {np.count_nonzero(wrong)} kinds"
    return Table(title, ["class", "prediction", nouns, f"share of its {nouns}"], rows, words=2)
