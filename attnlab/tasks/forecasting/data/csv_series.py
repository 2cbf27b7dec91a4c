"""A series of numbers in time order, and how to read one from a CSV file."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError

LARGEST = 1e150  # beyond it a squared error leaves float64
_LISTED_COLUMNS = 20


@dataclass(frozen=True)
class TimeSeries:
    """Equally spaced numbers, oldest first."""

    values: np.ndarray  # (n,) float64, in natural units
    times: list[str]  # one label a value; the position as text where the source has no times
    name: str  # what the numbers are, such as the column's name
    source: str  # where they come from


def digest(*arrays: np.ndarray) -> str:
    """SHA-256 over the arrays' values as little-endian float64 bytes, in the order given."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return state.hexdigest()


def read_series(
    path: str | Path, column: str | int | None = None, time_column: str | int | None = None
) -> TimeSeries:
    """Read one column of a CSV file as a series.

    The file is UTF-8 text, with or without a byte order mark, with any line ends; cells are
    parted by commas, semicolons or tabs. Empty lines and lines that start with ``#`` don't count.
    The first row is the header unless it has a number in it (and is not asked for by name).

    `column` is the name of the column of values, or its number, counted from 1; a name wins where
    both fit. Default: the only column of numbers, or else the last one. `time_column` is that of
    the time labels, which are not interpreted.

    Raises:
        RequestError: the file can't be read, is empty or not text, has no such column, has fewer
            than two rows of values, or has a cell that is not a finite number; names the row.
    """
    path = Path(path).expanduser()
    rows = list(_rows(path, _read_text(path)))
    if not rows:
        raise RequestError(f"{path}: expected rows of numbers, got an empty file")
    header, rows = _take_header(rows, column, time_column)
    if not rows:
        raise RequestError(f"{path}: expected rows of numbers, got the header {header} alone")
    time_at = None if time_column is None else _find(path, header, time_column)
    value_at = _default(rows, time_at) if column is None else _find(path, header, column)
    values = np.array([_number(path, row, value_at, header) for row in rows])
    if len(values) < 2:
        raise RequestError(f"{path}: expected at least 2 rows of numbers, got {len(values)}")
    if time_at is None:
        times = [str(position) for position in range(len(values))]
    else:
        times = [_cell(path, row, time_at, header) for row in rows]
    return TimeSeries(values, times, header[value_at], str(path))


class _Row(NamedTuple):
    line: int
    cells: list[str]


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(f"{path}: expected a CSV file, but: {reason}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{path}: expected a CSV file of UTF-8 text, got the byte "
            f"0x{raw[error.start]:02x} at position {error.start}"
        ) from error
    if "\0" in text:
        raise RequestError(f"{path}: expected a CSV file of UTF-8 text, got a binary file")
    return text


def _rows(path: Path, text: str) -> Iterator[_Row]:
    """Rows that count, each with the number of its (last) line in the file, from 1."""
    numbered = enumerate(text.splitlines(keepends=True), 1)
    lines = {at: line for at, line in numbered if line.strip() and not line.startswith("#")}
    if not lines:
        return
    counting = [*lines]
    delimiter = max(",;\t", key=lines[counting[0]].count)
    reader = csv.reader(lines.values(), delimiter=delimiter)
    try:
        for cells in reader:
            yield _Row(counting[reader.line_num - 1], [cell.strip() for cell in cells])
    except csv.Error as error:
        row = counting[max(reader.line_num - 1, 0)]
        raise RequestError(f"{path}: row {row}: expected CSV cells, but: {error}") from error


def _take_header(
    rows: list[_Row], column: str | int | None, time_column: str | int | None
) -> tuple[list[str], list[_Row]]:
    first = rows[0].cells
    asked_for = {str(name) for name in (column, time_column) if name is not None}
    if any(_is_number(cell) for cell in first) and not asked_for & set(first):
        return [f"column {number}" for number in range(1, len(first) + 1)], rows
    return first, rows[1:]


def _find(path: Path, header: list[str], column: str | int) -> int:
    if str(column) in header:
        return header.index(str(column))
    number = str(column)
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(header):
        return int(number) - 1
    choices = [f"{number} {name!r}" for number, name in enumerate(header, 1)]
    if len(choices) > _LISTED_COLUMNS:
        choices = [*choices[:_LISTED_COLUMNS], f"... {len(header)} in all"]
    raise RequestError(
        f"{path}: expected a column by name or number among {', '.join(choices)}; got {column!r}"
    )


def _default(rows: list[_Row], time_at: int | None) -> int:
    cells = rows[0].cells
    numeric = [at for at, cell in enumerate(cells) if at != time_at and _is_number(cell)]
    return numeric[0] if len(numeric) == 1 else len(cells) - 1


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _cell(path: Path, row: _Row, at: int, header: list[str]) -> str:
    if at >= len(row.cells):
        raise RequestError(
            f"{path}: row {row.line}: expected {len(header)} cells, got {len(row.cells)}"
        )
    return row.cells[at]


def _number(path: Path, row: _Row, at: int, header: list[str]) -> float:
    cell = _cell(path, row, at, header)
    value = float(cell) if _is_number(cell) else math.nan
    if not abs(value) <= LARGEST:  # NaN compares false
        name = header[at] if at < len(header) else f"column {at + 1}"
        raise RequestError(
            f"{path}: row {row.line}, column {name!r}: expected a finite number"
            f"{f' of at most {LARGEST:g}' if math.isfinite(value) else ''}, got {cell!r}"
        )
    return value
