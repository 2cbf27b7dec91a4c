"""Test questions with what each run answers, and how many of each kind are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.page.by_item import (
    Columns,
    of_same_items,
    require_columns,
    which_items,
    worst_first,
)
from attnlab.page.parts import Part, Table
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.base import Shown
from attnlab.text.cleaning import shortened

_MOST_CHARACTERS = 200
_COLUMNS = ("question", "answer", "prediction", "probability", "exact_match", "f1")
_NOTHING = "(no answer)"


def answer_parts(shown: Sequence[Shown]) -> list[Part]:
    """Questions side by side with what each run says; then results by the word that asks."""
    tables, parts = of_same_items(shown, _read, lambda _: ("question", "answer"))
    return [*([_table(tables)] if tables else []), *parts, *_groups(shown)]


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    require_columns(run.run.path / "predictions.csv", columns, _COLUMNS)
    return columns


def _table(tables: Mapping[str, Columns]) -> Table:
    """The questions with the smallest F1, and some at equal distances up to the largest."""
    first = next(iter(tables.values()))
    mean = np.mean([own["f1"] for own in tables.values()], axis=0)
    sure = np.mean([own["probability"] for own in tables.values()], axis=0)
    # Among wrong ones the surest first.
    order = np.lexsort((np.arange(len(mean)), -sure, mean))
    rows = worst_first(order)
    cells = [
        [
            shortened(str(first["question"][row]), _MOST_CHARACTERS),
            shortened(str(first["answer"][row]), _MOST_CHARACTERS) or _NOTHING,
            *(_said(own, row) for own in tables.values()),
            *(f"{own['f1'][row]:.2f}" for own in tables.values()),
            *(f"{own['probability'][row]:.3f}" for own in tables.values()),
        ]
        for row in rows
    ]
    several = len(tables) > 1
    header = ["question", "answer"]
    header += [f"says {label}" for label in tables] if several else ["prediction"]
    header += [f"F1, {label}" for label in tables] if several else ["F1"]
    header += [f"p, {label}" for label in tables] if several else ["p"]
    title = which_items(len(rows), len(order), "questions, by F1", len(tables))
    return Table(title, header, cells, words=2 + len(tables), prose=True)


def _said(columns: Columns, row: int) -> str:
    text = shortened(str(columns["prediction"][row]), _MOST_CHARACTERS) or _NOTHING
    return f"{text}{'' if columns['exact_match'][row] else ' ✗'}"


def _groups(shown: Sequence[Shown]) -> list[Part]:
    """Exact match and F1 by the word that asks, of all runs."""
    known = {run.label: run.metrics["groups"] for run in shown if run.metrics.get("groups")}
    if not known:
        return []
    names = dict.fromkeys(name for groups in known.values() for name in groups)
    rows = []
    for name in names:
        own = [groups.get(name) for groups in known.values()]
        count = next(each["n"] for each in own if each)
        exact, f1 = (
            [f"{each[key]:.1f}" if each else "-" for each in own] for key in ("exact_match", "f1")
        )
        rows.append([name, str(count), *exact, *f1])
    several = len(known) > 1
    header = ["question", "questions"]
    header += [f"exact, {label}" for label in known] if several else ["exact match"]
    header += [f"F1, {label}" for label in known] if several else ["F1"]
    return [Table("results by the word that asks, percent", header, rows)]
