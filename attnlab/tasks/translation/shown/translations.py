"""Translations of test sentences, from bad to good ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    items_table,
    of_same_items,
    read_items,
    text_cells,
)
from attnlab.tasks.translation.kind import KIND
from attnlab.views.records import Record, Table

_MOST = 24  # sentences
_COLUMNS = ("source", "reference", "hypothesis")


def translation_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of sentences and each run's translations."""
    tables, texts = of_same_items(runs, _read, lambda _: ("source",))
    return [*([_table(tables)] if tables else []), *texts]


def _read(run: ReportedRun) -> Columns:
    return read_items(run, KIND, _COLUMNS)


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return sentences at equal distances in the order of their scores, the worst one first."""
    first = next(iter(tables.values()))
    count = len(first["source"])
    scored = "sentence_chrf" in first
    order = np.argsort(first["sentence_chrf"], kind="stable") if scored else np.arange(count)
    rows = order[np.linspace(0, count - 1, min(_MOST, count)).astype(int)] if count else []
    title = f"{len(rows)} of {count:,} test sentences, at equal distances from the worst score to "
    title += "the best one" if len(tables) == 1 else f"the best one of {next(iter(tables))}"
    shared, (said,) = text_cells("source", "reference"), text_cells("hypothesis")
    own = [said._replace(name=next(iter(tables)), of_several="{label}")]
    if scored:
        own.append(Cells("chrF", lambda own, row: f"{own['sentence_chrf'][row]:.1f}"))
    return items_table(title if scored else "", tables, rows, shared, own)
