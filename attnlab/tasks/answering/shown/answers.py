"""Test questions with the answers of each run, and results by question word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    items_table,
    mean_of,
    of_same_items,
    read_items,
    which_items,
    worst_first,
)
from attnlab.text.cleaning import shortened
from attnlab.views.records import Record, Table

_MOST_CHARACTERS = 200
_COLUMNS = ("question", "answer", "prediction", "probability", "exact_match", "f1")
_NOTHING = "(no answer)"


def answer_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of questions and each run's answers, then results by question word."""
    tables, texts = of_same_items(runs, _read, lambda _: ("question", "answer"))
    return [*([_table(tables)] if tables else []), *texts, *_groups(runs)]


def _read(run: ReportedRun) -> Columns:
    return read_items(run, KIND, _COLUMNS)


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the questions with the smallest F1, and some others up to the largest."""
    mean = mean_of(tables, "f1")
    # Of equally bad answers, the most confident comes first.
    order = np.lexsort((np.arange(len(mean)), -mean_of(tables, "probability"), mean))
    rows = worst_first(order)
    title = which_items(len(rows), len(order), "questions, by F1", len(tables))
    shared = [
        Cells("question", lambda own, row: shortened(str(own["question"][row]), _MOST_CHARACTERS)),
        Cells("answer", lambda own, row: _answer(own["answer"][row])),
    ]
    own = [
        Cells("prediction", _said, "answer of {label}"),
        Cells("F1", lambda own, row: f"{own['f1'][row]:.2f}"),
        Cells("p", lambda own, row: f"{own['probability'][row]:.3f}"),
    ]
    return items_table(title, tables, rows, shared, own)


def _answer(text: str) -> str:
    return shortened(str(text), _MOST_CHARACTERS) or _NOTHING


def _said(columns: Columns, row: int) -> str:
    return f"{_answer(columns['prediction'][row])}{'' if columns['exact_match'][row] else ' ✗'}"


def _groups(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return exact match and F1 of all runs by question word."""
    known = {run.label: run.metrics["groups"] for run in runs if run.metrics.get("groups")}
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
    header = ["question word", "questions"]
    header += [f"exact, {label}" for label in known] if several else ["exact match"]
    header += [f"F1, {label}" for label in known] if several else ["F1"]
    return [Table("results by question word, percent", header, rows)]
