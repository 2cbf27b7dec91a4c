"""Tables of test items with the predictions of several runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.declaration import Kind
from attnlab.views.records import Record, Table, Text

WORST = 12  # items
_SPREAD = 12

Columns: TypeAlias = Mapping[str, np.ndarray]


class Cells(NamedTuple):
    """A column of a table of test items."""

    name: str
    cell: Callable[[Columns, int], str]  # returns the text for a run's predictions and a row
    of_several: str = "{name}, {label}"  # the heading if there are several runs


def of_same_items(
    runs: Sequence[ReportedRun],
    read: Callable[[ReportedRun], Columns],
    items: Callable[[Columns], Sequence[str]],
) -> tuple[dict[str, Columns], list[Record]]:
    """Return the predictions of runs by label, and a sentence per run that is left out.

    Args:
        runs: the first that can be read defines the items.
        read: reads a run's predictions, or raises `RequestError`.
        items: names of the columns that identify items.
    """
    texts: list[Record] = []
    tables: dict[str, Columns] = {}
    for run in runs:
        try:
            columns = read(run)
        except RequestError as error:
            texts.append(Text(f"{run.label}: no predictions: {error}", "warning"))
            continue
        first = next(iter(tables.values()), columns)
        if all(_alike(first, columns, name) for name in items(first)):
            tables[run.label] = columns
        else:
            other = f"{run.label} was tested on other items, which are left out."
            texts.append(Text(other, "note"))
    return tables, texts


def _alike(first: Columns, second: Columns, name: str) -> bool:
    return name in second and np.array_equal(first[name], second[name])


def read_items(
    run: ReportedRun,
    kind: Kind,
    needed: Sequence[str],
    count: int | None = None,
    items: str = "items",
) -> Columns:
    """Read the predictions of a run, a row per test item.

    Args:
        run: the run.
        kind: its kind.
        needed: columns that predictions.csv must have.
        count: how many rows it must have; None: any number.
        items: the noun for test items, in the plural.

    Raises:
        RequestError: the file can't be read, lacks a column, or has other items.
    """
    path = run.run.path / "predictions.csv"
    columns = run.run.read_predictions(kind.scoring.text_columns)
    if lacking := [name for name in needed if name not in columns]:
        raise RequestError(f"{path}: damaged: it has no {', '.join(lacking)}.")
    found = len(columns[needed[0]])
    if count is not None and found != count:
        raise RequestError(f"{path}: expected {count} {items}, got {found}.")
    return columns


def spread(items: Sequence[int] | np.ndarray, most: int) -> list[int]:
    """Choose up to `most` items at equal distances, including the first and the last."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [int(items[place]) for place in places]


def worst_first(order: Sequence[int] | np.ndarray) -> list[int]:
    """Choose the 12 worst items and 12 others from items in order, the worst first."""
    return [*map(int, order[:WORST]), *spread(order[WORST:], _SPREAD)]


def which_items(shown: int, of: int, what: str, runs: int) -> str:
    """Return the title of a table of the items that `worst_first` chose.

    Args:
        shown: number of items in the table.
        of: number of test items.
        what: the noun for items, and what they are sorted by.
        runs: number of runs in the table.
    """
    title = f"{shown} of {of:,} test {what}"
    title += f" (mean of {runs} runs)" if runs > 1 else ""
    if shown > WORST:
        title += f": the {WORST} worst, then others at equal distances up to the best"
    return title


def items_table(
    title: str,
    tables: Mapping[str, Columns],
    rows: Sequence[int],
    shared: Sequence[Cells],
    own: Sequence[Cells],
) -> Table:
    """Return a table of test items with the predictions of each run.

    Args:
        title: title of the table.
        tables: predictions of the runs by label.
        rows: the items.
        shared: columns that are the same for all runs; they contain words.
        own: columns of each run; the first one contains words.
    """
    first, several = next(iter(tables.values())), len(tables) > 1
    header = [each.name for each in shared]
    for each in own:
        names = [each.of_several.format(name=each.name, label=label) for label in tables]
        header += names if several else [each.name]
    cells = [
        [
            *(each.cell(first, row) for each in shared),
            *(each.cell(columns, row) for each in own for columns in tables.values()),
        ]
        for row in rows
    ]
    return Table(title, header, cells, words=len(shared) + len(tables), prose=True)


def text_cells(*names: str) -> list[Cells]:
    """Return columns that show predictions unchanged."""

    def cells(name: str) -> Cells:
        return Cells(name, lambda own, row: str(own[name][row]))

    return [*map(cells, names)]


def mean_of(tables: Mapping[str, Columns], name: str) -> np.ndarray:
    """Return the mean of a column over the runs, (N,)."""
    return np.mean([columns[name] for columns in tables.values()], axis=0)


def accuracy_by_group(runs: Sequence[ReportedRun], items: str) -> list[Record]:
    """Return a table of accuracy by group for the runs that have groups; [] if none has."""
    known = {run.label: run.metrics["groups"] for run in runs if run.metrics.get("groups")}
    rows = []
    for name in dict.fromkeys(name for groups in known.values() for name in groups):
        own = [groups.get(name) for groups in known.values()]
        count = next(each["n"] for each in own if each)
        cells = [f"{each['accuracy']:.3f}" if each else "-" for each in own]
        rows.append([name, str(count), *cells])
    return [Table("accuracy by group", ["group", items, *known], rows)] if known else []
