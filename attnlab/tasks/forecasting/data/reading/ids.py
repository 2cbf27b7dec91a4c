"""Several series in one table: the rows of each, and the columns that may have their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_file import SeriesTable
from attnlab.tasks.forecasting.data.reading.headers import role
from attnlab.tasks.forecasting.data.reading.numbers import WHOLE_NUMBER, is_number

_MOST_TRIED = 6  # columns whose combinations are tried
_FEWEST_ROWS = 2  # of a series


def rows_by_id(table: SeriesTable, places: Sequence[int]) -> dict[tuple[str, ...], np.ndarray]:
    """The rows of each series, in the order in which the series first appear.

    Raises:
        RequestError: a row has no id.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for row, (line, cells) in enumerate(table.rows):
        ids = tuple(cells[at] for at in places)
        if "" in ids:
            name = table.header[places[ids.index("")]]
            raise RequestError(
                f"{table.path}: row {line}, column {name!r}: expected the id of a series, got an "
                "empty cell"
            )
        found.setdefault(ids, []).append(row)
    return {ids: np.array(rows) for ids, rows in found.items()}


def likely_ids(
    table: SeriesTable, instants: np.ndarray, taken: Collection[int], given: Sequence[int] = ()
) -> list[str]:
    """Return names of the fewest columns that distinguish rows of the same time; [] if none do.

    Args:
        table: the file.
        instants: (n,) the rows' times.
        taken: columns with another use.
        given: id columns that the user named and that don't suffice.
    """
    _, times = np.unique(instants, return_inverse=True)
    labels = _labels(table, {*taken, *given})
    known = [np.unique(table.cells(at), return_inverse=True)[1] for at in given]
    for count in (1, 2, 3):
        for chosen in combinations([*labels][:_MOST_TRIED], count):
            keys = np.stack([times, *known, *(labels[at] for at in chosen)])
            if np.unique(keys, axis=1).shape[1] == len(times):
                return [table.header[at] for at in (*given, *chosen)]
    return []


def refuse_restarts(table: SeriesTable, taken: Collection[int]) -> None:
    """Refuse rows without times if a column of numbers starts again for each label of another.

    Raises:
        RequestError: the numbers of a column rise while another column has the same label, or
            they count the rows of each label.
    """
    labels = _labels(table, taken)
    for at, own in labels.items():
        for other in _counting(table, {*taken, at}, own):
            raise RequestError(
                f"{table.path}: column {table.header[other]!r} counts the rows of each "
                f"{table.header[at]!r}: {several_series([table.header[at]])}"
            )
        borders = np.flatnonzero(np.diff(own)) + 1
        if len(borders) + 1 != own.max() + 1:  # a label comes back
            continue
        for other in _rising(table, {*taken, at}, borders):
            name, ids = table.header[other], table.header[at]
            raise RequestError(
                f"{table.path}: column {name!r} starts again in row {table.lines[borders[0]]}: "
                f"{several_series([ids])}"
            )


def about_stretches(table: SeriesTable, taken: Collection[int], *, timed: bool) -> list[str]:
    """Return a note on a column that divides the rows into consecutive blocks of one label each.

    If rows have times, columns of numbers don't count: they may be the year of each row.
    """
    for at, own in _labels(table, taken).items():
        name = table.header[at]
        if timed and (role(name) or table.is_numeric(at)):
            continue
        if np.count_nonzero(np.diff(own)) == own.max():
            return [
                f"The column {name!r} has {own.max() + 1} labels, one after the other: if each is "
                f"a series, set task.id_column={name}."
            ]
    return []


def several_series(ids: Sequence[str]) -> str:
    """Return the advice for a file whose times start again."""
    value = ids[0] if len(ids) == 1 else f"[{','.join(ids)}]"
    return (
        f"if the file has several series, set task.id_column={value}; "
        "task.time_column=null takes all rows as one series in file order"
    )


def _labels(table: SeriesTable, taken: Collection[int]) -> dict[int, np.ndarray]:
    """Return column -> label numbers (n,) if each label has several rows; texts, then numbers."""
    found = {}
    for at in range(len(table.header)):
        cells = table.cells(at)
        texts, numbers, counts = np.unique(cells, return_inverse=True, return_counts=True)
        numeric = is_number(str(texts[-1]))
        whole = not numeric or all(map(WHOLE_NUMBER.fullmatch, map(str, texts)))
        if at not in taken and len(texts) > 1 and counts.min() >= _FEWEST_ROWS and whole:
            found[at] = numeric, len(texts), numbers
    return {at: found[at][2] for at in sorted(found, key=lambda at: found[at][:2])}


def _counting(table: SeriesTable, taken: Collection[int], labels: np.ndarray) -> Iterable[int]:
    """Yield columns of whole numbers that go up or down by one within the rows of each label."""
    order = np.argsort(labels, kind="stable")
    inside = np.diff(labels[order]) == 0
    for at, numbers in _whole_numbers(table, taken):
        steps = np.diff(numbers[order])[inside]
        again = len(np.unique(numbers)) < len(numbers)
        if again and (np.all(steps == 1) or np.all(steps == -1)):
            yield at


def _rising(table: SeriesTable, taken: Collection[int], borders: np.ndarray) -> Iterable[int]:
    """Yield columns of whole numbers that rise at every row except at the borders."""
    for at, numbers in _whole_numbers(table, taken):
        rises = np.diff(numbers) > 0
        if not rises[borders - 1].any() and np.delete(rises, borders - 1).all():
            yield at


def _whole_numbers(table: SeriesTable, taken: Collection[int]) -> Iterable[tuple[int, np.ndarray]]:
    for at in range(len(table.header)):
        cells = table.cells(at)
        if at not in taken and all(cell.isdigit() for cell in cells):
            yield at, np.array(cells, float)
