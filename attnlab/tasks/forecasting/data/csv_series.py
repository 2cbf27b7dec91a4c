"""A series of numbers in time order, and how to read one from a CSV file."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_file import Table, decimal_mark, read_table, to_number
from attnlab.tasks.forecasting.data.times import find_step, parse_times, to_labels

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 1e150  # beyond it a squared error leaves float64
_YEAR = re.compile("1[5-9][0-9][0-9]|20[0-9][0-9]")
_EMPTY = {"", "na", "n/a", "nan", "null"}
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


def read_series(
    path: str | Path,
    column: str | int | None = None,
    time_column: str | int | None = None,
    reading: Reading | None = None,
) -> TimeSeries:
    """Read one column of a CSV file as a series, see `read_table`; another one may have its times.

    Columns are names, or numbers from 1; a name wins where both fit. `column` is by default the
    only one of numbers, or the last; `time_column` "auto" is the first one of dates, if any. Rows
    with times are sorted by them, and have to be a step apart.

    Raises:
        RequestError: the file can't be read, has no such column, has fewer than two rows, a cell
            that is not a finite number or no time, doubled or missing times; names the row.
    """
    path, reading = Path(path).expanduser(), reading or Reading()
    timed = [name for name in (time_column,) if name not in (None, "auto")]
    names = [name for name in (column, *reading.inputs) if name is not None]
    table = read_table(path, reading.encoding, [*names, *timed])
    places, time_at = [table.find(name) for name in names], None
    if time_column is not None:
        time_at = table.find(timed[0]) if timed else _first_of_dates(table, places, reading)
    if column is None:
        places.insert(0, _only_numeric(table, {time_at, *places}))
    rows = _rows(table, places, time_at, reading)
    filled = np.isnan(rows.numbers).any(axis=1)
    rows = _interpolated(path, rows) if filled.any() else rows
    return TimeSeries(
        values=rows.numbers[:, 0],
        times=rows.labels,
        name=table.header[places[0]],
        source=str(path),
        inputs=rows.numbers[:, 1:] if reading.inputs else None,
        step=rows.step or None,
        filled=filled if filled.any() else None,
        notes=rows.notes,
    )


class _Rows(NamedTuple):
    numbers: np.ndarray  # (n, 1 + K), NaN where one is to be filled in
    labels: list[str]
    step: str = ""
    notes: tuple[str, ...] = ()


def _rows(table: Table, places: list[int], time_at: int | None, reading: Reading) -> _Rows:
    """The columns at some places, in order of time."""
    if len({*places, time_at}) <= len(places):
        given = ", ".join(table.header[at] for at in (*places, time_at) if at is not None)
        raise RequestError(f"{table.path}: expected each column in one place, got {given}")
    numbers = np.column_stack([_numbers(table, at, reading) for at in places])
    if len(numbers) < 2:
        raise RequestError(f"{table.path}: expected at least 2 rows of numbers, got {len(numbers)}")
    if time_at is None:
        return _Rows(numbers, [*map(str, range(len(numbers)))])
    return _in_order(table, time_at, numbers, reading)


def _first_of_dates(table: Table, taken: list[int], reading: Reading) -> int | None:
    """The first column that begins with a time: no number, but in the first one a year."""
    width = min(len(row.cells) for row in table.rows)
    for at in (at for at in range(width) if at not in taken):
        cells = table.cells(at)
        years = at == 0 < width - 1 and all(map(_YEAR.fullmatch, cells))
        if table.is_numeric(at) and not (years and len({*cells}) == len(cells)):
            continue
        if parse_times(cells[:1], reading.time_format).notna().all():
            return at
    if reading.time_format:
        raise RequestError(
            f"task.time_format: expected a form that a column of {table.path} has, got "
            f"{reading.time_format}; task.time_column names the column"
        )
    return None


def _only_numeric(table: Table, taken: set[int | None]) -> int:
    """The only column of numbers, or else the last one."""
    columns = range(len(table.rows[0].cells))
    numeric = [at for at in columns if at not in taken and table.is_numeric(at)]
    return numeric[0] if len(numeric) == 1 else columns[-1]


def _numbers(table: Table, at: int, reading: Reading) -> np.ndarray:
    """A column's numbers, (n,); NaN for empty cells where they may be."""
    cells = table.cells(at)
    name = table.header[at] if at < len(table.header) else f"column {at + 1}"
    mark = reading.mark or decimal_mark(cells, table.separator)
    if mark is None:
        raise RequestError(
            f"task.decimal: expected point or comma, since the numbers of {table.path}, column "
            f"{name!r}, can be read in both ways, got null"
        )
    numbers = np.array([to_number(cell, mark) for cell in cells])
    empty = np.array([cell.lower() in _EMPTY for cell in cells])
    may_lack = empty & (reading.missing == "interpolate")
    wrong = ~(np.abs(numbers) <= LARGEST) & ~may_lack  # NaN compares false
    if not wrong.any():
        return np.where(empty, math.nan, numbers)
    first = int(wrong.argmax())
    bound = f" of at most {LARGEST:g}" if math.isfinite(numbers[first]) else ""
    advice = "; task.missing=interpolate fills empty cells" if empty[first] else ""
    raise RequestError(
        f"{table.path}: row {table.rows[first].line}, column {name!r}: expected a finite "
        f"number{bound}, got {cells[first]!r}{advice}"
    )


def _in_order(table: Table, at: int, numbers: np.ndarray, reading: Reading) -> _Rows:
    """The rows by their times, which are a step apart."""
    place = f"{table.path}: column {table.header[at]!r}"
    cells, lines = np.array(table.cells(at)), np.array([row.line for row in table.rows])
    form = reading.time_format
    times = parse_times(cells.tolist(), form)
    if times.isna().any():
        first = int(times.isna().argmax())
        wanted = f"in the form {form}" if form else "as in the rows before, such as 2020-01-31"
        raise RequestError(
            f"{place}, row {lines[first]}: expected a time {wanted} (task.time_format names "
            f"another form), got {str(cells[first])!r}"
        )
    order = np.argsort(times, kind="stable")
    doubled = np.flatnonzero(times[order][1:] == times[order][:-1])
    if len(doubled):
        first, second = order[doubled[0] : doubled[0] + 2]
        more = f" ({len(doubled)} such times)" if len(doubled) > 1 else ""
        raise RequestError(
            f"{place}: expected each time once, but rows {lines[first]} and {lines[second]} both "
            f"have {cells[first]}{more}"
        )
    how = "newest first" if times.is_monotonic_decreasing else "out of order"
    note = f"{place}: the rows stand {how}, so they were sorted."
    ordered, step = find_step(times[order])
    notes = () if times.is_monotonic_increasing else (note,)
    rows = _Rows(numbers[order], to_labels(ordered, step), step, notes)
    return _on_grid(place, rows, ordered, lines[order], reading.missing)


def _on_grid(
    place: str, rows: _Rows, times: pd.DatetimeIndex, lines: np.ndarray, missing: str
) -> _Rows:
    """The rows a step apart: with NaN where one is `missing`, if it is to be interpolated."""
    import pandas as pd

    expected = times[:-1] + pd.tseries.frequencies.to_offset(rows.step)
    gaps = np.flatnonzero(expected != times[1:]) + 1
    if not len(gaps):
        return rows
    first, wanted = gaps[0], to_labels(expected, rows.step)[gaps[0] - 1]
    mend = "task.missing=interpolate fills gaps"
    length = (times[-1] - times[0]) / (expected[0] - times[0])
    if missing == "interpolate" and length <= _MOST_STEPS * len(times):
        grid = pd.date_range(times[0], times[-1], freq=rows.step)
        if times.isin(grid).all():
            numbers = pd.DataFrame(rows.numbers, times).reindex(grid).to_numpy()
            return rows._replace(numbers=numbers, labels=to_labels(grid, rows.step))
        first, mend = int(times.isin(grid).argmin()), "gaps are filled by whole steps"
        wanted = f"a time of the step {rows.step}"
    several = f" ({len(gaps)} such places)" if len(gaps) > 1 else ""
    raise RequestError(
        f"{place}, row {lines[first]}: expected {wanted} after {rows.labels[first - 1]}, got "
        f"{rows.labels[first]}{several}; {mend}, task.time_column=null goes by the order of rows"
    )


def _interpolated(path: Path, rows: _Rows) -> _Rows:
    """The rows with numbers on straight lines where there was none."""
    import pandas as pd

    lacking = np.isnan(rows.numbers).any(axis=1)
    if lacking[0] or lacking[-1]:
        raise RequestError(
            f"{path}: expected numbers in the first and the last row, where task.missing="
            f"interpolate has one neighbour alone, got an empty cell"
        )
    note = (
        f"{lacking.sum()} of {len(lacking)} rows are interpolated, the first is "
        f"{rows.labels[lacking.argmax()]}; no window forecasts one or begins right behind one."
    )
    numbers = pd.DataFrame(rows.numbers).interpolate().to_numpy()
    return rows._replace(numbers=numbers, notes=(*rows.notes, note))
