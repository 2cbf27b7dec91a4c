"""Tables of test items with the predictions of several runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.kinds import Kind
from attnlab.views.records import Record, Table, Text

_WORST, _SPREAD = 12, 12  # items

Columns: TypeAlias = Mapping[str, np.ndarray]


class Cells(NamedTuple):
    """A column of a table of test items."""

    name: str
    cell: Callable[[Columns, int], str] | None = None  # text of a row; None: its prediction's
    of_several: str = "{name}, {label}"  # the heading if there are several runs

    def text(self, columns: Columns, row: int) -> str:
        """Return the cell of a row, for a run's predictions."""
        return self.cell(columns, row) if self.cell else str(columns[self.name][row])


def of_same_items(
    runs: Sequence[ReportedRun], kind: Kind, needed: Sequence[str], items: Sequence[str]
) -> tuple[dict[str, Columns], list[Record]]:
    """Return the predictions of runs by label, and a sentence per run that is left out.

    Args:
        runs: the first that can be read defines the items.
        kind: of their task.
        needed: columns of predictions.csv that a run must have.
        items: columns that identify items, of those that the runs have.
    """
    texts: list[Record] = []
    tables: dict[str, Columns] = {}
    for run in runs:
        try:
            columns = run.run.read_predictions(kind.scoring.text_columns)
            if lacking := [name for name in needed if name not in columns]:
                path = run.run.path / "predictions.csv"
                raise RequestError(f"{path}: damaged: it has no {', '.join(lacking)}.")
        except RequestError as error:
            texts.append(Text(f"{run.label}: no predictions: {error}", "warning"))
            continue
        first = next(iter(tables.values()), columns)
        if all(
            name in columns and np.array_equal(first[name], columns[name])
            for name in items
            if name in first
        ):
            tables[run.label] = columns
        else:
            other = f"{run.label} was tested on other items, which are left out."
            texts.append(Text(other, "note"))
    return tables, texts


def items_table(
    tables: Mapping[str, Columns],
    order: np.ndarray,
    what: str,
    shared: Sequence[Cells],
    by_run: Sequence[Cells],
) -> Table:
    """Return a table of test items with the predictions of each run.

    The items are the 12 worst, then 12 others at equal distances up to the best.

    Args:
        tables: predictions of the runs by label.
        order: the rows of all items, the worst first.
        what: the noun for items, and what they are sorted by, for the title.
        shared: columns that are the same for all runs; they contain words.
        by_run: columns of each run; the first one contains words.
    """
    first, several = next(iter(tables.values())), len(tables) > 1
    others = order[_WORST:]
    places = np.linspace(0, len(others) - 1, min(_SPREAD, len(others))).astype(int)
    rows = [*order[:_WORST].tolist(), *others[places].tolist()]
    title = f"{len(rows)} of {len(order):,} test {what}"
    title += f" (mean of {len(tables)} runs)" if several else ""
    if len(rows) > _WORST:
        title += f": the {_WORST} worst, then others at equal distances up to the best"
    header = [column.name for column in shared]
    for column in by_run:
        names = [column.of_several.format(name=column.name, label=label) for label in tables]
        header += names if several else [column.name]
    cells = [
        [
            *(column.text(first, row) for column in shared),
            *(column.text(columns, row) for column in by_run for columns in tables.values()),
        ]
        for row in rows
    ]
    return Table(title, header, cells, words=len(shared) + len(tables), prose=True)


def mean_of(tables: Mapping[str, Columns], name: str) -> np.ndarray:
    """Return the mean of a column over the runs, (N,)."""
    return np.mean([columns[name] for columns in tables.values()], axis=0)
