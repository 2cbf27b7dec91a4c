"""Translations of test sentences, from bad to good ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.page.by_item import Columns, of_same_items, require_columns
from attnlab.page.parts import Part, Table
from attnlab.tasks.base import Shown
from attnlab.tasks.translation.kind import KIND

_MOST = 24  # sentences
_COLUMNS = ("source", "reference", "hypothesis")


def translation_parts(shown: Sequence[Shown]) -> list[Part]:
    """Sentences side by side with what each run made of them."""
    tables, parts = of_same_items(shown, _read, lambda _: ("source",))
    return [*([_table(tables)] if tables else []), *parts]


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    require_columns(run.run.path / "predictions.csv", columns, _COLUMNS)
    return columns


def _table(tables: Mapping[str, Columns]) -> Table:
    """Sentences at equal distances in the order of their scores, the worst one first."""
    first = next(iter(tables.values()))
    count = len(first["source"])
    scored = "sentence_chrf" in first
    order = np.argsort(first["sentence_chrf"], kind="stable") if scored else np.arange(count)
    rows = order[np.linspace(0, count - 1, min(_MOST, count)).astype(int)] if count else []
    scores = {f"chrF, {label}" if len(tables) > 1 else "chrF": own for label, own in tables.items()}
    cells = [
        [
            str(first["source"][row]),
            str(first["reference"][row]),
            *(str(own["hypothesis"][row]) for own in tables.values()),
            *(f"{own['sentence_chrf'][row]:.1f}" for own in scores.values() if scored),
        ]
        for row in rows
    ]
    header = ["source", "reference", *tables, *(scores if scored else ())]
    title = f"{len(cells)} of {count:,} test sentences, at equal distances from the worst score to "
    title += "the best one" if len(tables) == 1 else f"the best one of {next(iter(tables))}"
    return Table(title if scored else "", header, cells, words=2 + len(tables), prose=True)
