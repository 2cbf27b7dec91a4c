"""A CSV or TSV file as rows of cells, which may be long and have line ends in them."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.text.reading import decoded

_GZIP = b"\x1f\x8b"
_LISTED_COLUMNS = 20
_SEPARATORS = "\t,;"
_ROWS_LOOKED_AT = 100  # for the separator


class Row(NamedTuple):
    """A row and the number of its last line in the file, from 1."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class TableFile:
    """The rows of a file below its header, at least one."""

    path: Path
    header: list[str]  # names, or numbers from 1 of a file without names
    rows: list[Row]

    def find(self, column: str | int, key: str) -> int:
        """The place of the column that a setting asks for; raises `RequestError`."""
        count = self.header.count(str(column))
        if count == 1:
            return self.header.index(str(column))
        if count:
            raise RequestError(
                f"{key}: expected the name of one column of {self.path}, but {count} are named "
                f"{column!r}: give them other names."
            )
        names = [*map(repr, self.header)]
        if len(names) > _LISTED_COLUMNS:
            names = [*names[:_LISTED_COLUMNS], f"... {len(self.header)} in all"]
        hint = did_you_mean(str(column), self.header)
        raise RequestError(
            f"{key}: expected a column of {self.path} ({', '.join(names)}), got {column!r}.{hint}"
        )


def read_table(path: Path, encoding: str | None, *, with_header: bool) -> TableFile:
    """Read a CSV or TSV file, packed by gzip or not.

    A tab separates its cells where the first line has one, else what makes rows of equally many
    cells, of comma and semicolon the one that makes more. Without an `encoding` it is UTF-8, or
    UTF-16 with its mark. Empty lines don't count. A tab separates cells with quotes that stand for
    themselves, too, where they can't be CSV's.

    Raises:
        RequestError: the file can't be read, is no table of text, or has no rows.
    """
    text = decoded(_content(path), str(path), encoding, "data.encoding")
    first = next(filter(str.strip, io.StringIO(text)), "")
    separator = "\t" if "\t" in first else max(_SEPARATORS, key=lambda mark: _fitness(text, mark))
    try:
        rows = list(_rows(text, delimiter=separator, strict=True))
    except csv.Error as error:
        if separator != "\t":
            raise RequestError(f"{path}: expected a CSV file, but: {error}.") from error
        rows = list(_rows(text, delimiter=separator, quoting=csv.QUOTE_NONE))
    if separator == "\t" and any(_is_run_on(row) for row in rows):
        rows = list(_rows(text, delimiter=separator, quoting=csv.QUOTE_NONE))
    if rows and with_header:
        header, rows = [cell.strip() for cell in rows[0].cells], rows[1:]
    else:
        header = [str(number + 1) for number in range(len(rows[0].cells) if rows else 0)]
    if not rows:
        what = "its header alone" if header else "an empty file"
        raise RequestError(f"{path}: expected rows of texts and classes, got {what}.")
    return TableFile(path, header, rows)


def _is_run_on(row: Row) -> bool:
    """Whether a quote that stood for itself made one cell of several rows."""
    return any("\t" in cell and "\n" in cell for cell in row.cells)


def _fitness(text: str, separator: str) -> tuple[bool, int, int]:
    """Whether it makes first rows of equally many cells, and several; how many; how often it is."""
    sizes, is_whole = [], True
    try:
        for row in islice(_rows(text, delimiter=separator, strict=True), _ROWS_LOOKED_AT):
            sizes.append(len(row.cells))
    except csv.Error:
        is_whole = False
    first = sizes[0] if sizes else 0
    return is_whole and first > 1 and len({*sizes}) == 1, first, text.count(separator)


def _rows(text: str, **dialect: Any) -> Iterator[Row]:
    usual = csv.field_size_limit(max(len(text), 1))  # what is too long is told by its row
    try:
        reader = csv.reader(io.StringIO(text, newline=""), **dialect)
        for cells in reader:
            if any(map(str.strip, cells)):
                yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise csv.Error(f"row {reader.line_num}: {error}") from error
    finally:
        csv.field_size_limit(usual)


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RequestError(f"{path}: expected a CSV or TSV file, but: {reason}.") from error
