"""Translations of test sentences, from bad to good ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.parts import Part, Table, Text
from attnlab.tasks.base import Shown

_MOST = 24  # sentences
_COLUMNS = ("source", "reference", "hypothesis")
Columns = Mapping[str, np.ndarray]


def translation_parts(shown: Sequence[Shown]) -> list[Part]:
    """Sentences side by side with what each run made of them."""
    parts: list[Part] = []
    tables: dict[str, Columns] = {}
    for run in shown:
        try:
            columns = _read(run)
        except RequestError as error:
            parts.append(Text(f"{run.label}: no translations: {error}", "warning"))
            continue
        first = next(iter(tables.values()), columns)
        if np.array_equal(first["source"], columns["source"]):
            tables[run.label] = columns
        else:
            parts.append(
                Text(f"{run.label} has other test sentences, so they are left out.", "note")
            )
    return [*([_table(tables)] if tables else []), *parts]


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions()
    if lacking := [name for name in _COLUMNS if name not in columns]:
        path = run.run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no {', '.join(lacking)}.")
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
