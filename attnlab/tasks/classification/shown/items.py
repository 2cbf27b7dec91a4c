"""Test items with each run's predictions, confusion tables, and results by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
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
PREDICTED = ("label", "prediction", "probability")


def item_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of items and predictions, then confusion tables, then results by group."""
    tables, texts = of_same_items(runs, _read, lambda columns: (noun_of(columns), "label"))
    nouns = f"{noun_of(next(iter(tables.values())))}s" if tables else "items"
    confused = {run.label: [_confusion(run.metrics["confusion"], nouns)] for run in runs
                if run.metrics.get("confusion")}  # fmt: skip
    return [
        *([_table(tables)] if tables else []),
        *texts,
        *tabs(confused, named=len(runs) > 1),
        *accuracy_by_group(runs, "texts"),
    ]


def likelihood(columns: Columns) -> np.ndarray:
    """Return the probability of each item's class, (N,), or an upper bound of it.

    With more than 20 classes, a run stores only the probability of its prediction. If that is not
    the item's class, the bound is 1 minus that probability.
    """
    right = columns["label"] == columns["prediction"]
    largest = np.asarray(columns["probability"], np.float64)
    found = np.where(right, largest, 1.0 - largest)
    for name in np.unique(columns["label"]):
        if f"p_{name}" in columns:
            rows = columns["label"] == name
            found[rows] = columns[f"p_{name}"][rows]
    return found


def _read(run: ReportedRun) -> Columns:
    columns = read_items(run, KIND, PREDICTED)
    try:
        noun_of(columns)
    except KeyError as error:
        path = run.run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no {error.args[0]}.") from error
    return columns


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the items with the smallest probability of their class, and some up to the largest."""
    first = next(iter(tables.values()))
    noun = noun_of(first)
    known = {label: {**own, "likelihood": likelihood(own)} for label, own in tables.items()}
    order = np.argsort(mean_of(known, "likelihood"), kind="stable")
    rows = worst_first(order)
    what = f"{noun}s, by the probability p of their class"
    title = which_items(len(rows), len(order), what, len(tables))
    shared = [
        Cells(noun, lambda own, row: shortened(str(own[noun][row]), _MOST_CHARACTERS)),
        Cells("class", lambda own, row: str(own["label"][row])),
    ]
    if "group" in first:
        shared.append(Cells("group", lambda own, row: str(own["group"][row])))
    own = [Cells("prediction", _said, "says {label}"), Cells("p", _sure)]
    return items_table(title, known, rows, shared, own)


def _said(columns: Columns, row: int) -> str:
    right = columns["label"][row] == columns["prediction"][row]
    return f"{columns['prediction'][row]}{'' if right else ' ✗'}"


def _sure(columns: Columns, row: int) -> str:
    label = columns["label"][row]
    known = label == columns["prediction"][row] or f"p_{label}" in columns
    return f"{'' if known else '≤ '}{columns['likelihood'][row]:.3f}"


def _confusion(confusion: Mapping[str, Any], nouns: str) -> Table:
    """Return a confusion table, or for many classes the most frequent mistakes."""
    classes, counts = list(confusion["classes"]), np.array(confusion["counts"])
    totals = counts.sum(axis=1)
    if len(classes) <= _MOST_CLASSES:
        rows = [
            [name, *(str(count) for count in own), str(total), _share(own[number], total)]
            for number, (name, own, total) in enumerate(zip(classes, counts, totals, strict=True))
        ]
        title = f"{nouns} of each class (rows) by predicted class (columns)"
        return Table(title, ["class", *classes, nouns, "right"], rows)
    wrong = counts * (1 - np.eye(len(classes), dtype=int))
    most = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_MISTAKES]
    pairs = [divmod(int(place), len(classes)) for place in most if wrong.flat[place]]
    rows = [
        [
            classes[row],
            classes[column],
            str(counts[row, column]),
            _share(counts[row, column], total),
        ]
        for row, column in pairs
        for total in [totals[row]]
    ]
    title = f"the most frequent mistakes, {len(rows)} of {np.count_nonzero(wrong)} kinds"
    return Table(title, ["class", "prediction", nouns, f"share of its {nouns}"], rows, words=2)


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else "-"
