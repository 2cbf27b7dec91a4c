"""A series of numbers in time order, and how to read one from a CSV file."""

from __future__ import annotations

import hashlib
import math
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
    refuse_unread_times,
)
from attnlab.tasks.forecasting.data.reading.numbers import decimal_mark, is_missing, to_number
from attnlab.tasks.forecasting.data.times import Calendar, Counts

LARGEST = 1e150  # beyond it a squared error leaves float64
_SHOWN = 60  # letters of a wrong cell
_MOST_STEPS = 10  # of a series that is filled up, for each row that there is


@dataclass(frozen=True)
class TimeSeries:
    """Equally spaced numbers, oldest first, and others that are known up to the same time."""

    values: np.ndarray  # (n,) float64, in natural units
    times: list[str]  # one label a value; the position as text where the source has no times
    name: str  # what the numbers are, such as the column's name
    source: str  # where they come from
    inputs: np.ndarray | None = None  # (n, K) float64 of K other columns
    step: str | None = None  # from each time to the next, as pandas names it
    filled: np.ndarray | None = None  # (n,) bool: interpolated, here or in an input; None: none
    notes: tuple[str, ...] = ()  # what was done to the file's rows, a sentence each

    @property
    def columns(self) -> np.ndarray:
        """The values and the inputs, (n, 1 + K)."""
        return np.column_stack([self.values, *([] if self.inputs is None else self.inputs.T)])


def digest(*arrays: np.ndarray) -> str:
    """SHA-256 over the arrays' values as little-endian float64 bytes, in the order given."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return state.hexdigest()


@dataclass(frozen=True)
class Reading:
    """How a CSV file is read, in the words of the settings of the task `series`."""

    inputs: Sequence[str | int] = ()
    time_format: str | None = None
    missing: str = "refuse"
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None

    @property
    def mark(self) -> str | None:
        """What stands before decimals, where that is said."""
        other = {"point": "comma", "comma": "point"}.get(self.thousands or "")
        return {"point": ".", "comma": ","}.get(self.decimal or other or "")


@dataclass(frozen=True)
class Columns:
    """Numbers of a table's rows with their times, in the order of the file."""

    table: SeriesTable
    name: str  # of the series' column
    numbers: np.ndarray  # (n, 1 + K) float64: the series and its inputs; NaN: missing
    lines: np.ndarray  # (n,) each row's line in the file
    times: TimeColumns | None  # None: the rows are in order of time
    notes: tuple[str, ...] = ()

    def take(self, index: np.ndarray) -> Columns:
        """Some rows, such as those of one of several series in a file."""
        times = self.times.take(index) if self.times else None
        numbers, lines = self.numbers[index], self.lines[index]
        return replace(self, numbers=numbers, lines=lines, times=times)


def read_series(
    path: str | Path,
    column: str | int | None = None,
    time_column: str | int | Sequence[str | int] | None = None,
    reading: Reading | None = None,
) -> TimeSeries:
    """Read one column of a CSV file as a series, see `read_columns` and `series_of`.

    Raises:
        RequestError: as of these.
    """
    reading = reading or Reading()
    return series_of(read_columns(path, column, time_column, reading), reading)


def read_columns(
    path: str | Path,
    column: str | int | None,
    time_column: str | int | Sequence[str | int] | None,
    reading: Reading,
) -> Columns:
    """Read a column of a CSV file, the inputs, and the times of its rows; see `read_table`.

    Columns are names, or numbers from 1; a name wins where both fit. `column` is by default the
    only one of numbers, or the last of these. `time_column` "auto" finds the times, see
    `find_times`; several columns have their parts.

    Raises:
        RequestError: the file can't be read, has no such column or several of its name, has fewer
            than two rows, a cell that is not a finite number or no time; names the row.
    """
    path, form = Path(path).expanduser(), reading.time_format or None
    timed = [time_column] if isinstance(time_column, str | int) else [*(time_column or ())]
    asked = [] if timed == ["auto"] else timed
    names = [name for name in (column, *reading.inputs) if name is not None]
    table = read_table(path, reading.encoding, [*names, *asked])
    places, times = [table.find(name) for name in names], None
    if asked:
        times = given_times(table, [table.find(name) for name in asked], form)
    elif timed:
        times = find_times(table, places, form)
    if column is None:
        places.insert(0, _default_column(table, {*places, *(times.places if times else ())}))
        times = times if times is None or places[0] not in times.places else None
    if timed and times is None:
        refuse_unread_times(table, places)
    for at in () if asked or times is None else times.places:
        table.check_name(at)
    return _columns(table, places, times, reading, no_times=bool(timed) and times is None)


def _columns(
    table: SeriesTable,
    places: list[int],
    times: TimeColumns | None,
    reading: Reading,
    *,
    no_times: bool,
) -> Columns:
    """The columns at some places, with the times of their rows."""
    every = [*places, *(times.places if times else ())]
    if len({*every}) < len(every):
        given = ", ".join(table.header[at] for at in every)
        raise RequestError(f"{table.path}: expected each column in one place, got {given}")
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
    return Columns(table, table.header[places[0]], numbers, np.array(table.lines), times, notes)


def _default_column(table: SeriesTable, taken: set[int]) -> int:
    """The only column of numbers, or else the last of them, or the last column."""
    columns = range(len(table.header))
    numeric = [at for at in columns if at not in taken and table.is_numeric(at)]
    found = numeric[-1] if numeric else columns[-1]
    table.check_name(found)
    return found


def series_of(columns: Columns, reading: Reading) -> TimeSeries:
    """The series of some rows, which have to be a step apart once they are in order of time.

    Raises:
        RequestError: doubled or missing times, a missing number in the first or last row.
    """
    path = columns.table.path
    rows = _Rows(columns.numbers, [*map(str, range(len(columns.numbers)))], notes=columns.notes)
    if columns.times is not None:
        rows = _in_order(columns, columns.times, reading)
    filled = np.isnan(rows.numbers).any(axis=1)
    rows = _interpolated(path, rows) if filled.any() else rows
    return TimeSeries(
        values=rows.numbers[:, 0],
        times=rows.labels,
        name=columns.name,
        source=str(path),
        inputs=rows.numbers[:, 1:] if reading.inputs else None,
        step=rows.step or None,
        filled=filled if filled.any() else None,
        notes=rows.notes,
    )


@dataclass(frozen=True)
class _Rows:
    numbers: np.ndarray  # (n, 1 + K), NaN where one is to be filled in
    labels: list[str]
    step: str = ""
    notes: tuple[str, ...] = ()


def _numbers(table: SeriesTable, at: int, reading: Reading) -> np.ndarray:
    """A column's numbers, (n,); NaN for missing cells if they may be."""
    cells, name = table.cells(at), table.header[at]
    mark = reading.mark or decimal_mark(cells, table.separator)
    if mark is None:
        raise RequestError(
            f"task.decimal: expected point or comma, since the numbers of {table.path}, column "
            f"{name!r}, can be read in both ways, got null"
        )
    empty = np.array([is_missing(cell) for cell in cells])
    numbers = np.array([to_number(cell, mark) for cell in cells])
    may_lack = empty & (reading.missing == "interpolate")
    wrong = ~(np.abs(numbers) <= LARGEST) & ~may_lack  # NaN compares false
    if not wrong.any():
        return np.where(empty, math.nan, numbers)
    first = int(wrong.argmax())
    bound = f" of at most {LARGEST:g}" if math.isfinite(numbers[first]) else ""
    advice = "; task.missing=interpolate fills missing cells" if empty[first] else ""
    shown = cells[first] if len(cells[first]) < _SHOWN else cells[first][:_SHOWN] + "..."
    raise RequestError(
        f"{table.path}: row {table.rows[first].line}, column {name!r}: expected a finite "
        f"number{bound}, got {shown!r}{advice}"
    )


def _in_order(columns: Columns, found: TimeColumns, reading: Reading) -> _Rows:
    """The rows by their times, which are a step apart."""
    place = f"{columns.table.path}: column {found.name!r}"
    lines, instants = columns.lines, found.times.instants
    order = np.argsort(instants, kind="stable")
    doubled = np.flatnonzero(instants[order][1:] == instants[order][:-1])
    if len(doubled):
        first, second = order[doubled[0] : doubled[0] + 2]
        more = f" ({len(doubled)} such times)" if len(doubled) > 1 else ""
        raise RequestError(
            f"{place}: expected each time once, but rows {lines[first]} and {lines[second]} both "
            f"have {found.texts[first]}{more}; task.time_column=null takes the rows in file order"
        )
    notes = columns.notes
    if np.any(order[1:] < order[:-1]):
        newest_first = np.all(order[1:] < order[:-1])
        how = "newest first" if newest_first else "out of order"
        notes = (*notes, f"{place}: the rows are {how}, so they were sorted.")
    times, step = found.times.take(order).regular()
    rows = _Rows(columns.numbers[order], times.labels(step), step, notes)
    return _on_grid(place, rows, times, lines[order], reading.missing)


def _on_grid(
    place: str, rows: _Rows, times: Calendar | Counts, lines: np.ndarray, missing: str
) -> _Rows:
    """The rows a step apart: with NaN where one is `missing`, if it is to be interpolated."""
    gaps = times.gaps(rows.step)
    if not len(gaps):
        return rows
    first, expected = gaps[0], times.after(rows.step)
    wanted = expected.labels(rows.step)[first - 1]
    advice = "task.missing=interpolate fills gaps"
    length = (times.axis[-1] - times.axis[0]) / (expected.axis[0] - times.axis[0])
    if missing == "interpolate" and length <= _MOST_STEPS * len(lines):
        grid = times.grid(rows.step)
        if np.isin(times.axis, grid.axis).all():
            numbers = np.full((len(grid), rows.numbers.shape[1]), math.nan)
            numbers[np.isin(grid.axis, times.axis)] = rows.numbers
            return replace(rows, numbers=numbers, labels=grid.labels(rows.step))
        first, advice = (
            int(np.isin(times.axis, grid.axis).argmin()),
            "gaps are filled by whole steps",
        )
        wanted = f"a time of the step {rows.step}"
    several = f" ({len(gaps)} such places)" if len(gaps) > 1 else ""
    raise RequestError(
        f"{place}, row {lines[first]}: expected {wanted} after {rows.labels[first - 1]}, got "
        f"{rows.labels[first]}{several}; {advice}, task.time_column=null goes by the order of rows"
    )


def _interpolated(path: Path, rows: _Rows) -> _Rows:
    """The rows with numbers on straight lines where there was none."""
    import pandas as pd

    lacking = np.isnan(rows.numbers).any(axis=1)
    if lacking[0] or lacking[-1]:
        raise RequestError(
            f"{path}: expected numbers in the first and the last row, since task.missing="
            f"interpolate needs one before and one after each gap; got a gap there"
        )
    note = (
        f"{lacking.sum()} of {len(lacking)} rows are interpolated, the first is "
        f"{rows.labels[lacking.argmax()]}; no window forecasts one or starts right after one."
    )
    numbers = pd.DataFrame(rows.numbers).interpolate().to_numpy()
    return replace(rows, numbers=numbers, notes=(*rows.notes, note))
