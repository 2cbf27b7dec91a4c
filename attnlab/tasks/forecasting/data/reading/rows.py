"""The numbers of a CSV file's rows, their times, and which series each row is of."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_file import SeriesTable, read_table
from attnlab.tasks.forecasting.data.reading.columns import (
    TimeColumns,
    find_times,
    given_times,
    looks_dated,
    refuse_unread_times,
)
from attnlab.tasks.forecasting.data.reading.headers import role
from attnlab.tasks.forecasting.data.reading.ids import about_stretches, refuse_restarts
from attnlab.tasks.forecasting.data.reading.numbers import decimal_mark, is_missing, to_number
from attnlab.tasks.forecasting.data.reading.wide import refuse_wide
from attnlab.tasks.forecasting.data.times import Counts

LARGEST = 1e150  # float64 can't hold squares of much larger errors
# What programs write for a missing number, without -99, which is often a real value.
_FILLS = (-99.99, -999, -999.9, -999.99, -9999, -9999.9, -99999, 1e20, 9.96921e36)
_NEGATIVE_FILLS = (-200, *(mark for mark in _FILLS if mark < 0))
_FEWEST_SUMMED = 8  # a last value that is the sum of fewer others may be chance
_RESOLVED = 1000  # fewest steps of float64 between the smallest and the largest value
_SHOWN = 60  # characters of a wrong cell in a message


@dataclass(frozen=True)
class Reading:
    """Settings of the task `series` for reading a CSV file."""

    inputs: Sequence[str | int] = ()
    time_format: str | None = None
    missing: str = "refuse"
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    ids: Sequence[str | int] = ()  # columns that name the series of each row

    @property
    def mark(self) -> str | None:
        """Return the decimal separator if the settings determine it."""
        other = {"point": "comma", "comma": "point"}.get(self.thousands or "")
        return {"point": ".", "comma": ","}.get(self.decimal or other or "")


@dataclass(frozen=True)
class Columns:
    """The numbers of a table's rows and their times, in file order."""

    table: SeriesTable
    place: int  # of the series' column
    numbers: np.ndarray  # (n, 1 + K) float64: the series and its inputs; NaN: missing
    lines: np.ndarray  # (n,) each row's line in the file
    times: TimeColumns | None  # None: the rows are in order of time
    notes: tuple[str, ...] = ()
    id_places: tuple[int, ...] = ()  # the columns of the table with ids
    every_time: TimeColumns | None = None  # of all rows of the table, if this has only some rows
    by_default: bool = False  # whether the user chose no column

    def take(self, index: np.ndarray) -> Columns:
        """Return some rows, such as those of one of several series in a file."""
        times = self.times.take(index) if self.times else None
        numbers, lines = self.numbers[index], self.lines[index]
        every_time = self.every_time or self.times
        return replace(self, numbers=numbers, lines=lines, times=times, every_time=every_time)


def read_columns(
    path: str | Path,
    column: str | int | None,
    time_column: str | int | Sequence[str | int] | None,
    reading: Reading,
) -> Columns:
    """Read a column of a CSV file, the inputs, and the times of its rows; see `read_table`.

    Columns are given by name, or by number from 1; names come first. The default `column` is the
    last one with numbers. `time_column` is a column, a list of columns with parts of the times, or
    "auto"; see `find_times`.

    Raises:
        RequestError: the file can't be read, has fewer than two rows, or has no such column or
            several; or a cell is not a finite number or not a time. The message names the row.
    """
    path, form = Path(path).expanduser(), reading.time_format or None
    timed = [time_column] if isinstance(time_column, str | int) else [*(time_column or ())]
    asked = [] if timed == ["auto"] else timed
    names = [] if column is None else [column]
    table = read_table(path, reading.encoding, [*names, *reading.inputs, *asked, *reading.ids])
    places, times = [table.find(name) for name in names], None
    places += [table.find(name, "task.inputs") for name in reading.inputs]
    id_places = tuple(table.find(name, "task.id_column") for name in reading.ids)
    if asked:
        times = given_times(table, [table.find(name, "task.time_column") for name in asked], form)
    elif timed:
        times = find_times(table, [*places, *id_places], form)
    if column is None:
        used = {*places, *id_places, *(times.places if times else ())}
        refuse_wide(table, has_times=times is not None)
        places.insert(0, _default_column(table, used))
        times = times if times is None or places[0] not in times.places else None
    if timed and times is None:
        refuse_unread_times(table, [*places, *id_places])
        if not id_places:
            refuse_restarts(table, places)
    elif times and not asked and isinstance(times.times, Counts):
        refuse_unread_times(table, [*places, *id_places, *times.places], counted=True)
    for at in () if asked or times is None else times.places:
        table.check_name(at)
    found = _columns(table, places, times, reading, no_times=bool(timed) and times is None)
    if times is None:
        refuse_total(table, found)
    more: list[str] = []
    if timed and not id_places:
        taken = [*places, *(times.places if times else ())]
        more += about_stretches(table, taken, timed=times is not None)
    if column is None:
        more += _about_default(table, found, id_places)
    if times and not asked:
        more += _about_other_dates(table, times)
    notes = (*found.notes, *more)
    return replace(found, id_places=id_places, notes=notes, by_default=column is None)


def _columns(
    table: SeriesTable,
    places: list[int],
    times: TimeColumns | None,
    reading: Reading,
    *,
    no_times: bool,
) -> Columns:
    """Return the columns at some places, with the times of their rows."""
    every = [*places, *(times.places if times else ())]
    if len({*every}) < len(every):
        given = ", ".join(table.header[at] for at in every)
        raise RequestError(
            f"{table.path}: each column can be used only once, but the settings use {given}"
        )
    numbers = np.column_stack([_numbers(table, at, reading) for at in places])
    if len(numbers) < 2:
        raise RequestError(f"{table.path}: expected at least 2 rows of numbers, got {len(numbers)}")
    if times is None and table.blank:
        raise RequestError(
            f"{table.path}: row {table.blank[0]} is blank, and no column of times shows whether a "
            f"value is missing there: delete the row, or write NA into it"
        )
    notes = times.notes if times else ()
    if times and len(times.places) > 1:
        notes = (f"Times are read from the columns {times.name}.", *notes)
    if no_times:
        notes = ("No time column: rows are taken in file order.",)
    return Columns(table, places[0], numbers, np.array(table.lines), times, notes)


def _default_column(table: SeriesTable, taken: set[int]) -> int:
    """Return the last column of numbers, or the last column if there are no numbers."""
    columns = range(len(table.header))
    numeric = [at for at in columns if at not in taken and table.is_numeric(at)]
    found = numeric[-1] if numeric else columns[-1]
    table.check_name(found)
    return found


def _about_default(table: SeriesTable, found: Columns, ids: Sequence[int]) -> list[str]:
    """Return a note on the chosen column if several have numbers."""
    taken = {*ids, *(found.times.places if found.times else ())}
    columns = range(1 if not table.header[0] else 0, len(table.header))  # no index
    names = [table.header[at] for at in columns if at not in taken and table.is_numeric(at)]
    if len(names) < 2:
        return []
    return [
        f"The column {table.header[found.place]!r} is forecast, the last of {len(names)} columns "
        f"of numbers; task.column chooses another, such as {names[0]!r}."
    ]


def _about_other_dates(table: SeriesTable, times: TimeColumns) -> list[str]:
    """Return a note on the first other column whose name and first cell are those of dates."""
    for at, name in enumerate(table.header):
        cells = table.cells(at)
        if at not in times.places and role(name) == "date" and looks_dated(cells[0]):
            if len(times.places) > 1 or cells != times.texts:
                return [
                    f"Times are read from {times.name!r}, not from {name!r}; task.time_column "
                    "chooses another column."
                ]
    return []


def _numbers(table: SeriesTable, at: int, reading: Reading) -> np.ndarray:
    """Return a column's numbers, (n,), with NaN for missing cells if the settings allow them."""
    cells, name = table.cells(at), table.header[at]
    mark = reading.mark or decimal_mark(cells, table.separator)
    if mark is None:
        raise RequestError(
            f"task.decimal=null: the decimal separator of {table.path}, column {name!r}, could be "
            "a point or a comma; set task.decimal=point or task.decimal=comma"
        )
    numbers = np.array([to_number(cell, mark) for cell in cells])
    if np.isnan(numbers).all():
        raise RequestError(
            f"{table.path}: column {name!r} has no numbers; its first cell is "
            f"{cells[0][:_SHOWN]!r}{_advice(table, cells[0], 'write only numbers')}"
        )
    fills = _are_fills(numbers)
    empty = fills | np.array([is_missing(cell) for cell in cells])
    may_lack = empty & (reading.missing == "interpolate")
    percent = np.array([cell.endswith("%") for cell in cells])
    mixed = ~percent & percent.any()
    if len({*cells}) > 1:
        _check_resolution(table, name, numbers)
    wrong = (~(np.abs(numbers) <= LARGEST) | fills | mixed) & ~may_lack  # NaN compares false
    if not wrong.any():
        return np.where(empty, math.nan, numbers)
    first = int(wrong.argmax())
    if fills[first]:
        raise RequestError(
            f"{table.path}: row {table.rows[first].line}, column {name!r}: {cells[first]} is far "
            f"from all other numbers and usually marks a missing number; task.missing=interpolate "
            f"fills such cells"
        )
    bound = f" of at most {LARGEST:g}" if math.isfinite(numbers[first]) else ""
    bound = " with %, as in other rows" if mixed[first] else bound
    advice = "; task.missing=interpolate fills missing cells" if empty[first] else ""
    if math.isnan(numbers[first]) and not empty[first]:
        advice = _advice(table, cells[first], "correct or delete the row")
    shown = cells[first] if len(cells[first]) < _SHOWN else cells[first][:_SHOWN] + "..."
    raise RequestError(
        f"{table.path}: row {table.rows[first].line}, column {name!r}: expected a finite "
        f"number{bound}, got {shown!r}{advice}"
    )


def _are_fills(numbers: np.ndarray) -> np.ndarray:
    """Return (n,) bool: whether a number marks a missing value: a usual mark far from all others.

    If no other number is negative, repeated negative marks count at any distance.
    """
    repeated = np.isin(numbers, _NEGATIVE_FILLS)
    others = numbers[~repeated & np.isfinite(numbers)]
    if np.count_nonzero(repeated) > 1 and len(others) > 1 and others.min() >= 0:
        return repeated
    marks = np.isin(numbers, _FILLS)
    others = numbers[~marks & np.isfinite(numbers)]
    if not marks.any() or len(others) < 2:
        return np.zeros(len(numbers), bool)
    least, most = others.min(), others.max()
    away = np.maximum(least - numbers, numbers - most)
    return marks & (away > max(most - least, 50))


def _check_resolution(table: SeriesTable, name: str, numbers: np.ndarray) -> None:
    """Refuse numbers whose differences double precision can't hold, such as 2**60 and 2**60 + 1."""
    finite = numbers[np.isfinite(numbers)]
    step = np.spacing(np.abs(finite).max(initial=0))
    if 1 <= step and np.ptp(finite) < _RESOLVED * step:
        raise RequestError(
            f"{table.path}: column {name!r}: the numbers differ by at most {np.ptp(finite):g}, and "
            f"double precision has steps of {step:g} at their size: subtract a constant from all"
        )


def refuse_total(table: SeriesTable, found: Columns) -> None:
    """Refuse a last row that is the sum of all others, for a file without times.

    Raises:
        RequestError: the last number of the series is the sum of the others.
    """
    values = found.numbers[:, 0]
    if len(values) <= _FEWEST_SUMMED or not np.isfinite(values).all():
        return
    sums = np.isclose(np.cumsum(values)[:-1], values[1:], rtol=1e-9, atol=0)
    if sums[-1] and values[-1] and not sums[-2]:
        raise RequestError(
            f"{table.path}: row {found.lines[-1]}, column {table.header[found.place]!r}: the value "
            "is the sum of all others: delete the row of totals, or give the file a column of times"
        )


def _advice(table: SeriesTable, cell: str, usual: str) -> str:
    """Return advice on a cell that is not a number."""
    if len(table.header) == 1 and len(re.split(r"[\s:^~]+", cell)) > 1:
        return "; separate the cells of a row by a tab, comma, semicolon or bar"
    if "" in table.header[1:]:
        return "; start lines above the header with #"
    return f"; {usual}, or choose another column by task.column"
