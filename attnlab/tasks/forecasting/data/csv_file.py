"""A CSV file as rows of cells, whatever program wrote or packed it, and its cells as numbers."""

from __future__ import annotations

import codecs
import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError

_LISTED_COLUMNS = 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GZIP = b"\x1f\x8b"
_GAP_IN_NUMBER = re.compile(r"(?<=\d)[\s'’](?=\d{3})")
_MARKED_NUMBER = re.compile(r"[+-]?[\d.,]*[.,][\d.,]*(e[+-]?\d+)?", re.IGNORECASE)
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


class Row(NamedTuple):
    """A row and the number of its (last) line in the file, from 1."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class Table:
    """A CSV file: its first row, or `column 1`, ..., as header, and the rows below, at least one.

    The separator is a tab or a semicolon where the first two rows have one, else a comma.
    """

    path: Path
    header: list[str]
    rows: list[Row]
    separator: str

    def find(self, column: str | int) -> int:
        """The place of a column by name or number from 1; raises `RequestError`."""
        number = str(column)
        if number in self.header:
            return self.header.index(number)
        if number.isascii() and number.isdigit() and 1 <= int(number) <= len(self.header):
            return int(number) - 1
        choices = [f"{number} {name!r}" for number, name in enumerate(self.header, 1)]
        if len(choices) > _LISTED_COLUMNS:
            choices = [*choices[:_LISTED_COLUMNS], f"... {len(self.header)} in all"]
        raise RequestError(
            f"{self.path}: expected a column by name or number among {', '.join(choices)}; "
            f"got {column!r}"
        )

    def has(self, column: str | int) -> bool:
        """Whether there is a column of that name or number."""
        with suppress(RequestError):
            return self.find(column) >= 0
        return False

    def cells(self, at: int) -> list[str]:
        """A column; raises `RequestError` for a row that is too short or too long."""
        for row in self.rows:
            if at >= len(row.cells) or any(row.cells[len(self.header) :]):
                raise RequestError(
                    f"{self.path}: row {row.line}: expected {len(self.header)} cells, "
                    f"got {len(row.cells)}"
                )
        return [row.cells[at] for row in self.rows]

    def is_numeric(self, at: int) -> bool:
        """Whether the first row has a number there, or else the first cell that is not empty."""
        column = (row.cells[at] for row in self.rows if at < len(row.cells))
        return _is_number(next(filter(None, column), ""))


def read_table(path: Path, encoding: str | None, asked_for: Sequence[str | int]) -> Table:
    """Read a CSV file; the first row is the header unless it has a number and no name `asked_for`.

    Without an `encoding` it is UTF-16 with its mark, UTF-8, or else cp1252. Empty lines and lines
    that start with `#` don't count.

    Raises:
        RequestError: the file can't be read, is not text, or has no rows.
    """
    text = _read_text(path, encoding)
    numbered = enumerate(text.splitlines(keepends=True), 1)
    lines = {at: line for at, line in numbered if line.strip() and not line.startswith("#")}
    if not lines:
        raise RequestError(f"{path}: expected rows of numbers, got an empty file")
    first_two = [*lines.values()][:2]
    separator = next((mark for mark in "\t;" if all(mark in line for line in first_two)), ",")
    first, *rows = _rows(path, lines, separator)
    if any(map(_is_number, first.cells)) and not {*map(str, asked_for)} & {*first.cells}:
        header = [f"column {number}" for number in range(1, len(first.cells) + 1)]
        return Table(path, header, [first, *rows], separator)
    if not rows:
        raise RequestError(f"{path}: expected rows of numbers, got the header {first.cells} alone")
    return Table(path, first.cells, rows, separator)


def file_content(path: Path) -> bytes:
    """The bytes of a CSV file, unpacked where gzip packed it.

    Raises:
        RequestError: it can't be read.
    """
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RequestError(f"{path}: expected a CSV file, but: {reason}") from error


def _read_text(path: Path, encoding: str | None) -> str:
    raw = file_content(path)
    found = ["utf-16"] if raw[:2] in _UTF16 else ["utf-8-sig", "cp1252"]
    for codec in [encoding] if encoding else found:
        try:
            text = raw.decode(codec)
        except (LookupError, UnicodeError) as error:
            reason = str(error)
        else:
            if "\0" in text:
                raise RequestError(f"{path}: expected a CSV file of text, got a binary file")
            return text
    raise RequestError(f"{path}: expected a CSV file of text in task.encoding, but: {reason}")


def _rows(path: Path, lines: dict[int, str], separator: str) -> Iterator[Row]:
    counting = [*lines]
    reader = csv.reader(lines.values(), delimiter=separator)
    try:
        for cells in reader:
            yield Row(counting[reader.line_num - 1], [cell.strip() for cell in cells])
    except csv.Error as error:
        row = counting[max(reader.line_num - 1, 0)]
        raise RequestError(f"{path}: row {row}: expected CSV cells, but: {error}") from error


def decimal_mark(cells: Sequence[str], separator: str) -> str | None:
    """The mark before the decimals of a column of numbers; None where it could be either.

    That is the last mark of a number, unless all of them may be whole ones with thousands parted,
    as `1.234` between semicolons and `1,234` anywhere.
    """
    bare = {cell: _GAP_IN_NUMBER.sub("", cell) for cell in cells}
    marked = [cell for cell in cells if _MARKED_NUMBER.fullmatch(bare[cell])]
    for cell in marked:
        if not _ONE_GROUP.fullmatch(cell):  # nor one whose thousands spaces part
            last = "," if cell.rfind(",") > cell.rfind(".") else "."
            several = cell.count(last) > 1  # 1.234.567
            return {".": ",", ",": "."}[last] if several else last
    unclear = any("," in cell for cell in marked) or (marked and separator == ";")
    return None if unclear else "."


def to_number(cell: str, decimal: str = ".") -> float:
    """A cell as a number; NaN where it is none.

    Groups of three digits may be parted by spaces, apostrophes, or points where the decimals stand
    behind a comma, and commas where behind a point.
    """
    whole, mark, decimals = _GAP_IN_NUMBER.sub("", cell).partition(decimal)
    first, *groups = whole.split("," if decimal == "." else ".")
    too_long = bool(groups) and len(first.lstrip("+-")) > 3
    if "_" in cell or too_long or any(len(group) != 3 for group in groups):
        return math.nan
    try:
        return float("".join([first, *groups, "." * bool(mark), decimals]))
    except ValueError:
        return math.nan


def _is_number(cell: str) -> bool:
    return any(not math.isnan(to_number(cell, decimal)) for decimal in ".,")
