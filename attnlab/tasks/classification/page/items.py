"""Test items with what each run takes them for, which classes are taken for which, and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_item import (
    Columns,
    accuracy_by_group,
    of_same_items,
    require_columns,
    which_items,
    worst_first,
)
from attnlab.page.parts import Part, Table, chosen
from attnlab.tasks.base import Shown
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.text.cleaning import shortened

_MOST_CHARACTERS = 400
_MOST_CLASSES, _MOST_MISTAKES = 12, 20
_COLUMNS = ("label", "prediction", "probability")


def item_parts(shown: Sequence[Shown]) -> list[Part]:
    """Items side by side with what each run says of them; then confusions, then groups."""
    tables, parts = of_same_items(shown, _read, lambda columns: (noun_of(columns), "label"))
    nouns = f"{noun_of(next(iter(tables.values())))}s" if tables else "items"
    confused = {run.label: [_confusion(run.metrics["confusion"], nouns)] for run in shown
                if run.metrics.get("confusion")}  # fmt: skip
    return [
        *([_table(tables)] if tables else []),
        *parts,
        *chosen(confused, named=len(shown) > 1),
        *accuracy_by_group(shown, "texts"),
    ]


def likelihood(columns: Columns) -> np.ndarray:
    """(N,) the probability of each item's class; at most that, where it wasn't kept and is small.

    Of more than 20 classes only the largest probability was kept: a class that isn't the prediction
    has at most the rest of it.
    """
    right = columns["label"] == columns["prediction"]
    largest = np.asarray(columns["probability"], np.float64)
    found = np.where(right, largest, 1.0 - largest)
    for name in np.unique(columns["label"]):
        if f"p_{name}" in columns:
            rows = columns["label"] == name
            found[rows] = columns[f"p_{name}"][rows]
    return found


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    path = run.run.path / "predictions.csv"
    require_columns(path, columns, _COLUMNS)
    try:
        noun_of(columns)
    except KeyError as error:
        raise RequestError(f"{path}: damaged: it has no {error.args[0]}.") from error
    return columns


def _table(tables: Mapping[str, Columns]) -> Table:
    """The items that runs know least of, and some at equal distances up to the best known ones."""
    first = next(iter(tables.values()))
    noun = noun_of(first)
    certainties = {label: likelihood(own) for label, own in tables.items()}
    mean = np.mean([*certainties.values()], axis=0)
    order = np.argsort(mean, kind="stable")
    rows = worst_first(order)
    grouped = ["group"] if "group" in first else []
    several = len(tables) > 1
    cells = [
        [
            shortened(str(first[noun][row]), _MOST_CHARACTERS),
            str(first["label"][row]),
            *(str(first[name][row]) for name in grouped),
            *(_said(own, row) for own in tables.values()),
            *(_sure(tables[label], row, own[row]) for label, own in certainties.items()),
        ]
        for row in rows
    ]
    said = [f"says {label}" for label in tables] if several else ["prediction"]
    sure = [f"p, {label}" for label in tables] if several else ["p"]
    header = [noun, "class", *grouped, *said, *sure]
    what = f"{noun}s, by the probability p of their class"
    title = which_items(len(rows), len(order), what, len(tables))
    words = 2 + len(grouped) + len(tables)
    return Table(title, header, cells, words=words, prose=True)


def _said(columns: Columns, row: int) -> str:
    right = columns["label"][row] == columns["prediction"][row]
    return f"{columns['prediction'][row]}{'' if right else ' ✗'}"


def _sure(columns: Columns, row: int, certainty: float) -> str:
    label = columns["label"][row]
    known = label == columns["prediction"][row] or f"p_{label}" in columns
    return f"{'' if known else '≤ '}{certainty:.3f}"


def _confusion(confusion: Mapping[str, Any], nouns: str) -> Table:
    """Which class was taken for which; of many classes what was mistaken most often."""
    classes, counts = list(confusion["classes"]), np.array(confusion["counts"])
    totals = counts.sum(axis=1)
    if len(classes) <= _MOST_CLASSES:
        rows = [
            [name, *(str(count) for count in own), str(total), _share(own[number], total)]
            for number, (name, own, total) in enumerate(zip(classes, counts, totals, strict=True))
        ]
        title = f"{nouns} of each class (rows) by the class they were taken for (columns)"
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
    return Table(title, ["class", "taken for", nouns, f"share of its {nouns}"], rows, words=2)


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else "-"
