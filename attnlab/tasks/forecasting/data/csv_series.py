"""Read series from a CSV file in its declared form; anything else is refused in one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import listed
from attnlab.tasks.data.readers import read_rows
from attnlab.tasks.forecasting.data.steps import find_step, time_labels
from attnlab.tasks.forecasting.data.time_series import TimeSeries

FIRST = "first"  # the first column, if none has this name
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
_MISSING = ("", "na", "nan", "null")  # cells without a number, in lower case
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_ISO = re.compile(
    r"(?P<local>\d{4}(-\d\d)?|\d{8}|\d{4}-\d\d-\d\d)"
    r"|(?P<clock>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)"
    r"(?P<offset>Z|[+-]\d\d(:?\d\d)?)?",
    re.ASCII,
)
_SHORT = np.timedelta64(20, "h")  # shorter steps are below a day, even a day of 23 hours
_MOST_STEPS = 10  # most steps per row if missing rows are filled


@dataclass(frozen=True)
class Form:
    """The declared form of a file; see the settings of conf/task/series.yaml."""

    column: str | int | None = None
    inputs: Sequence[str | int] = ()
    time_column: str | int | None = FIRST
    time_format: str | None = None
    id_column: str | int | None = None
    separator: str = "comma"
    decimal: str = "point"
    missing: str = "refuse"


class Panel(NamedTuple):
    """The series of a file, in the order in which the file names them."""

    series: list[TimeSeries]
    name: str  # of the column of values
    notes: list[str]  # what was done to the rows, in sentences


def read_panel(path: str | Path, form: Form, key: str = "task.path") -> Panel:
    """Read a column of a CSV file as one series, or as a series per id.

    The first row has the names of the columns. Times are ISO 8601, or `form.time_format`. Rows
    are sorted by time and must be equally spaced. A file of one column, and one whose
    `time_column` is None, is in order of time. Times with an offset from UTC become UTC if rows are
    less than a day apart; otherwise the offset is dropped.

    Args:
        path: the file, in UTF-8, plain or gzipped.
        form: its form.
        key: the setting that names the file, for messages.

    Raises:
        RequestError: the file has another form; the message names the line, the cell and the
            setting.
    """
    return _Reader(Path(path).expanduser(), form, key).read()


class _Reader:
    def __init__(self, path: Path, form: Form, key: str) -> None:
        self.path, self.form, self.key = path, form, key
        (self.header, *self.rows), (first, *self.lines) = read_rows(
            path, key, SEPARATORS[form.separator], f" (task.separator={form.separator})"
        )
        if not self.rows:
            raise RequestError(f"{key}: {path}: expected rows of numbers, got only a header.")
        for number, line in enumerate([first, *self.lines], 1):
            if line != number:
                self.refuse(number, "expected a row, got an empty line or a cell with a line break")
        self.header = [name.strip() for name in self.header]
        for name in self.header:
            if name and self.header.count(name) > 1:
                raise RequestError(f"{key}: {path} has several columns named {name!r}.")
        others = [mark for mark in [*SEPARATORS.values(), "|"] if mark in self.header[0]]
        if len(self.header) == 1 and others:
            raise RequestError(
                f"task.separator: expected the separator of {path}, got {form.separator}: its "
                f"first row would be one cell, {self.header[0]!r}."
            )

    def refuse(self, line: int, problem: str) -> NoReturn:
        raise RequestError(f"{self.key}: {self.path}, line {line}: {problem}.")

    def read(self) -> Panel:
        form, places = self.form, {}
        alone = form.time_column == FIRST and len(self.header) == 1
        if form.time_column is not None and not alone:
            places["time_column"] = self.find(form.time_column, "time_column")
        if form.id_column is not None:
            places["id_column"] = self.find(form.id_column, "id_column")
        inputs = [self.find(column, "inputs") for column in form.inputs]
        others = [*places.values(), *inputs]
        if form.column is None:
            free = [at for at in range(len(self.header)) if at not in others]
            if len(free) != 1:
                raise RequestError(
                    f"task.column: expected the column of values in {self.path}. {self.columns()}"
                )
            (place,) = free
        else:
            place = self.find(form.column, "column")
        for number, at in enumerate([*others, place]):
            if at in others[:number]:
                raise RequestError(
                    "task.column, task.inputs, task.id_column and task.time_column (by default the "
                    f"first column; null: none): expected different columns of {self.path}, got "
                    f"{self.header[at]!r} twice. {self.columns()}"
                )
        columns = [self.numbers(place, "column", form.column)]
        columns += [
            self.numbers(at, "inputs", column)
            for at, column in zip(inputs, form.inputs, strict=True)
        ]
        self.values = np.column_stack(columns)
        self.notes: list[str] = []
        self.has_times = "time_column" in places
        if self.has_times:
            self.times(places["time_column"])
        else:
            self.notes.append(
                f"{self.path} is read without times (task.time_column): the order of the rows is "
                "taken as that of time, oldest first."
            )
        rows: dict[str, list[int]] = {}
        if "id_column" in places:
            for number, row in enumerate(self.rows):
                name = row[places["id_column"]].strip()
                if not name:
                    self.refuse(self.lines[number], "task.id_column: expected an id, got none")
                rows.setdefault(name, []).append(number)
        else:
            rows[""] = [*range(len(self.rows))]
        series = [self.series(name, np.array(numbers)) for name, numbers in rows.items()]
        name = self.header[place] or f"column {place + 1}"
        return Panel(series, name, [*dict.fromkeys(self.notes)])

    def columns(self) -> str:
        names = [f"{number} {name!r}" for number, name in enumerate(self.header, 1)]
        return f"Columns by position and name: {listed(names, 20)}."

    def find(self, column: str | int, setting: str) -> int:
        """Return the place of a column: a name, else a position from 1."""
        if str(column) in self.header:
            return self.header.index(str(column))
        if column == FIRST:
            return 0
        if str(column).isdecimal() and 1 <= int(column) <= len(self.header):
            return int(column) - 1
        raise RequestError(
            f"task.{setting}: {self.path} has no column {column!r}. {self.columns()}"
        )

    def numbers(self, place: int, setting: str, column: str | int | None) -> np.ndarray:
        """Return the numbers of a column, (n,) float64; NaN for missing ones."""
        name, decimal = self.header[place], self.form.decimal
        if str(column) != name and self.number(name) is not None:
            self.refuse(1, f"expected the names of the columns, got the number {name}")
        numbers = np.full(len(self.rows), math.nan)
        for number, row in enumerate(self.rows):
            cell = row[place].strip()
            if cell.casefold() in _MISSING:
                if self.form.missing == "refuse":
                    self.refuse(
                        self.lines[number],
                        f"task.{setting}: expected a number in column {name!r}, got {cell!r}; "
                        "task.missing=interpolate fills such cells",
                    )
            elif (value := self.number(cell)) is None:
                self.refuse(
                    self.lines[number],
                    f"task.{setting}: expected a number with a decimal {decimal} in column "
                    f"{name!r}, got {cell!r} (task.decimal={decimal})",
                )
            else:
                numbers[number] = value
        return numbers

    def number(self, cell: str) -> float | None:
        if self.form.decimal == "comma":
            cell = cell.replace(".", "_").replace(",", ".")
        return float(cell) if _NUMBER.fullmatch(cell) and math.isfinite(float(cell)) else None

    def times(self, place: int) -> None:
        """Set `local` times, and `instants`, by which rows are sorted: the same minus offsets."""
        import pandas as pd

        self.cells = [row[place].strip() for row in self.rows]
        texts: list[str | None] = [*self.cells]
        offsets: list[str | None] = [None] * len(texts)
        name, form = self.header[place], self.form.time_format
        if form is None:
            if name != str(self.form.time_column) and _ISO.fullmatch(name):
                self.refuse(1, f"expected the names of the columns, got the time {name}")
            matches = [_ISO.fullmatch(cell) for cell in self.cells]
            texts = [match and (match["local"] or match["clock"]) for match in matches]
            offsets = [match and match["offset"] for match in matches]
        elif not _is_full(form):
            raise RequestError(
                "task.time_format: expected a format of strptime with a year of four digits and "
                f"without %z, such as '%d/%m/%Y %H:%M' or '%m/%d/%Y %I:%M %p', got {form!r}."
            )
        try:
            column = pd.Series(texts, dtype=object)
            parsed = pd.to_datetime(column, format=form or "ISO8601", errors="coerce")
        except ValueError as error:
            raise RequestError(f"task.time_format: {form!r}: {error}.") from error
        self.local = parsed.to_numpy().astype("M8[us]")
        self.has_offset = any(offsets)
        unusable = np.isnat(self.local) | [self.has_offset and not mark for mark in offsets]
        if unusable.any():
            number = int(unusable.argmax())
            expected = form or "ISO 8601, such as 2020-07 or 2020-07-31 14:00"
            expected += ", with an offset as in other rows" if self.has_offset else ""
            self.refuse(
                self.lines[number],
                f"task.time_column: expected a time in column {name!r} as {expected}, got "
                f"{self.cells[number]!r}; task.time_format gives another format",
            )
        noon = {mark: pd.Timestamp(f"2000-01-01T12:00{mark or 'Z'}") for mark in {*offsets}}
        ahead = {mark: time.utcoffset() for mark, time in noon.items()}
        self.instants = self.local - np.array([ahead[mark] for mark in offsets], "m8[us]")

    def series(self, name: str, rows: np.ndarray) -> TimeSeries:
        """Return the series of some rows, sorted and checked."""
        try:
            if self.has_times:
                labels, step, values = self.on_grid(self.sort(rows))
            else:
                labels, step, values = [*map(str, range(len(rows)))], None, self.values[rows]
            filled = np.isnan(values).any(axis=1)
            if filled.any():
                values = self.interpolate(values, filled, labels)
        except RequestError as error:
            raise RequestError(f"{error} (series {name})" if name else str(error)) from error
        return TimeSeries(values, (), labels, step, name, filled if filled.any() else None)

    def sort(self, rows: np.ndarray) -> np.ndarray:
        """Return rows in order of time; refuse a time that occurs twice."""
        order = rows[np.argsort(self.instants[rows], kind="stable")]
        twice = np.flatnonzero(self.instants[order][1:] == self.instants[order][:-1])
        if len(twice):
            first, second = order[twice[0] : twice[0] + 2]
            self.refuse(
                self.lines[second],
                f"task.time_column: expected each time once, got {self.cells[second]!r} as in line "
                f"{self.lines[first]}; task.id_column names the series of each row",
            )
        if np.any(order[1:] < order[:-1]):
            newest_first = np.all(order[1:] < order[:-1])
            how = "newest first" if newest_first else "out of order"
            self.notes.append(f"{self.path}: the rows are {how}, so they were sorted.")
        return order

    def on_grid(self, rows: np.ndarray) -> tuple[list[str], str | None, np.ndarray]:
        """Return labels, step and values of sorted rows; NaN in values for missing steps."""
        import pandas as pd

        values = self.values[rows]
        if len(rows) < 3:  # too few to find a step, and to learn anything
            return [self.cells[row] for row in rows], None, values
        utc = self.has_offset and bool(np.median(np.diff(self.instants[rows])) < _SHORT)
        times = pd.DatetimeIndex((self.instants if utc else self.local)[rows])
        step = find_step(times)
        grid = pd.date_range(times[0], periods=len(times), freq=step, unit="us")
        if not len(differing := np.flatnonzero(grid != times)):
            return time_labels(times, step, utc), step, values
        at = differing[0]
        if self.form.missing == "interpolate":
            length = (times[-1] - times[0]) / max(grid[1] - grid[0], pd.Timedelta(1, "us"))
            if length <= _MOST_STEPS * len(times):
                grid = pd.date_range(times[0], times[-1], freq=step, unit="us")
                off = np.flatnonzero(~times.isin(grid))
                if not len(off):
                    filled = np.full((len(grid), values.shape[1]), math.nan)
                    filled[grid.isin(times)] = values
                    return time_labels(grid, step, utc), step, filled
                at = off[0]
        at = max(int(at), 1)
        after = times[[at - 1]].shift(1, freq=step)
        wanted, before, got = time_labels(after.append(times[[at - 1, at]]), step, utc)
        self.refuse(
            self.lines[rows[at]],
            f"task.missing={self.form.missing}: expected {wanted} after {before} (step {step}), "
            f"got {got}; task.missing=interpolate fills missing rows",
        )

    def interpolate(
        self, values: np.ndarray, lacking: np.ndarray, labels: Sequence[str]
    ) -> np.ndarray:
        """Fill missing numbers by linear interpolation."""
        import pandas as pd

        if lacking[0] or lacking[-1]:
            raise RequestError(
                f"{self.key}: {self.path}: the first or the last row has no number; "
                "task.missing=interpolate needs one before and after each gap."
            )
        self.notes.append(
            f"{lacking.sum()} of {len(lacking)} rows are interpolated, the first is "
            f"{labels[int(lacking.argmax())]}; no window forecasts one or ends with one."
        )
        return pd.DataFrame(values).interpolate().to_numpy()


def _is_full(time_format: str) -> bool:
    """Return whether a format has a year of four digits and nothing that strptime would ignore."""
    directives = {*re.findall("%(.)", time_format)}
    is_known = directives <= {*"YmdbBjGVuaAHIMSfp%"} and bool(directives & {*"YG"})
    return is_known and ("p" in directives) == ("I" in directives)
