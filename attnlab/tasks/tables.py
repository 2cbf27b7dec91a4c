"""Read a CSV or TSV file strictly: return each of its rows, or refuse the file."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.text.reading import decoded, encoding_of

_GZIP = b"\x1f\x8b"
_OTHER_FILES = {  # by their first bytes: .xlsx and .zip, .xls, .parquet; JSON and JSON lines
    **dict.fromkeys(
        (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1"), "a workbook, an archive or a Parquet file"
    ),
    **dict.fromkeys((b'{"', b'[{"'), "JSON"),
}
_LISTED_COLUMNS = 20
_SEPARATORS = "\t;,|"  # in order of preference
_SAMPLE = 100  # rows that decide the separator
_LINE_END = re.compile(r"\r\n|\r|\n")
_DIGITS = re.compile(r"[\d.,:/ +-]*\d[\d.,:/ +-]*")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's first line


class Row(NamedTuple):
    """A row and the number of its first line in the file, from 1."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class Table:
    """The rows of a file below its header, at least one, each as long as the header."""

    path: Path
    header: list[str]
    rows: list[Row]
    separator: str
    blank: tuple[int, ...] = ()  # lines of blank rows between these
    encoding: str = "utf-8"  # of the file, as Python names it

    def find(self, column: str | int, key: str = "") -> int:
        """Return the index of a column by its name, which is the value of the setting `key`.

        Raises:
            RequestError: no column has this name, or several have it.
        """
        name, start = str(column), f"{key}: " if key else ""
        if self.header.count(name) > 1:
            raise RequestError(f"{start}{self.several_named(name)}")
        if name in self.header:
            return self.header.index(name)
        raise RequestError(
            f"{start}{self.path} has no column {column!r}. Columns are: "
            f"{listed([*map(repr, self.header)])}.{did_you_mean(name, self.header)}"
        )

    def several_named(self, name: str, advice: str = "give them other names.") -> str:
        """Return the message about a name that several columns have."""
        places = [str(at) for at, each in enumerate(self.header, 1) if each == name]
        return (
            f"{len(places)} columns of {self.path} are named {name!r} "
            f"(columns {', '.join(places)}): {advice}"
        )

    def cells(self, at: int) -> list[str]:
        """Return a column's cells."""
        return [row.cells[at] for row in self.rows]

    @property
    def lines(self) -> list[int]:
        """Return each row's line in the file."""
        return [row.line for row in self.rows]


def listed(columns: Sequence[str]) -> str:
    """Join the first columns for a message."""
    more = [f"... {len(columns)} in all"] if len(columns) > _LISTED_COLUMNS else []
    return ", ".join([*columns[:_LISTED_COLUMNS], *more])


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """Settings of `read_table`."""

    has_header: Callable[[list[str]], bool] = lambda first: True  # gets the first row
    name_column: Callable[[int], str] = str  # names columns of files without a header, from 1
    comments: bool = False  # whether lines that start with # are left out
    strip: bool = False  # whether spaces around cells are left out
    encoding_key: str = "encoding"  # the setting that messages name
    otherwise: str | None = None  # the encoding of files that aren't UTF-8; None: they are refused
    content: str = "rows"  # what a file should have, for messages


def read_table(path: Path, encoding: str | None, form: TableFormat) -> Table:
    """Read a CSV or TSV file, plain or compressed by gzip.

    Cells are separated by a tab if the first row has one, else by the semicolon, comma or bar that
    gives most rows the same number of cells; a first line `sep=;` overrides this. Blank rows, and
    blank columns at the end, are left out. The default encoding is UTF-8, or UTF-16 with a byte
    order mark. In a file with tabs, quotes that are not valid CSV are ordinary characters.

    Raises:
        RequestError: the file can't be read, is not text, has no rows, has a row of another
            length, or a quoted cell without an end. The message names the line.
    """
    text, encoding = _text(path, encoding, form)
    lines, start = [*io.StringIO(text, newline="")], 0
    separator = None
    if lines and (named := _SEPARATOR_LINE.fullmatch(lines[0])):
        separator, start = named[1], 1
    source = _Lines(path, lines, start, form.comments)
    rows = _rows(source, separator or _find_separator(source))
    while len(rows) > 1 and _is_blank(rows[-1]):
        rows.pop()
    blank = tuple(row.line for row in rows if _is_blank(row))
    rows = [row for row in rows if not _is_blank(row)]
    if not rows:
        raise RequestError(f"{path}: expected {form.content}, got an empty file.")
    if form.strip:
        rows = [Row(line, [cell.strip() for cell in cells]) for line, cells in rows]
    table = _with_header(path, rows, source.separator, form)
    blank = tuple(line for line in blank if line > table.rows[0].line)
    return replace(table, blank=blank, encoding=encoding)


def _is_blank(row: Row) -> bool:
    """Return whether a row has only separators; one empty quoted cell is not a blank row."""
    return len(row.cells) > 1 and not any(map(str.strip, row.cells))


def file_content(path: Path) -> bytes:
    """Return the bytes of a CSV file, decompressed if it is a gzip file.

    Raises:
        RequestError: the file can't be read, or is a workbook, an archive or JSON.
    """
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except FileNotFoundError as error:
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise RequestError(f"{path}: there is no such file{where}.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RequestError(f"{path}: can't be read: {reason}.") from error
    start = raw[:100].removeprefix(b"\xef\xbb\xbf").lstrip()
    if found := next((what for own, what in _OTHER_FILES.items() if start.startswith(own)), None):
        raise RequestError(
            f"{path}: expected a CSV or TSV file, got {found}: save its table as CSV."
        )
    return raw


def _text(path: Path, encoding: str | None, form: TableFormat) -> tuple[str, str]:
    """Return the text of a file, and its encoding."""
    raw = file_content(path)
    try:
        text = decoded(raw, str(path), encoding, form.encoding_key)
        return text, encoding or encoding_of(raw)
    except RequestError as error:
        utf8_failed = isinstance(error.__cause__, UnicodeDecodeError)
        if encoding or not form.otherwise or not utf8_failed:
            raise
        return decoded(raw, str(path), form.otherwise, form.encoding_key), form.otherwise


class _Lines:
    """The lines of a file for the CSV reader, without comments and empty lines between rows.

    A comment starts where a row would start, so never inside a quoted cell.
    """

    def __init__(self, path: Path, lines: list[str], start: int, comments: bool):
        self.path, self.lines, self.first, self.comments = path, lines, start, comments
        self.separator = ""

    def rows(self, separator: str, **dialect: bool | int) -> Iterator[Row]:
        """Yield the rows; after a `csv.Error`, `line` is the first line of the invalid row."""
        self.at, self.separator = self.first, separator
        reader = csv.reader(self._feed(), delimiter=separator, **dialect)  # type: ignore[arg-type]
        while True:
            self.starts = True
            cells = next(reader, None)
            if cells is None:
                return
            yield Row(self.line, cells)

    def _feed(self) -> Iterator[str]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if self.starts:
                if not line.strip() or (self.comments and line.startswith("#")):
                    continue
                self.line, self.starts = self.at, False
            yield line

    @property
    def size(self) -> int:
        """Return more characters than any cell has."""
        return sum(map(len, self.lines)) + 1


def _find_separator(source: _Lines) -> str:
    """Return the separator that gives most of the first rows as many cells as row 1."""
    first = next(source.rows("\t", quoting=csv.QUOTE_NONE), Row(0, []))
    if len(first.cells) > 1:
        return "\t"

    def fitness(separator: str) -> float:
        sizes = [len(row.cells) for row in islice(source.rows(separator), _SAMPLE)]
        return sizes.count(sizes[0]) / len(sizes) if sizes and sizes[0] > 1 else 0

    usual = csv.field_size_limit(source.size)
    try:
        found = max(_SEPARATORS, key=fitness)
        return found if fitness(found) else ","
    finally:
        csv.field_size_limit(usual)


def _rows(source: _Lines, separator: str) -> list[Row]:
    """Return all rows; raises `RequestError` for invalid CSV."""
    usual = csv.field_size_limit(source.size)
    try:
        rows = [*source.rows(separator, strict=True)]
        if separator != "\t" and any(map(_is_quoted_late, rows)):
            with contextlib.suppress(csv.Error):  # quotes in a text
                rows = [*source.rows(separator, strict=True, skipinitialspace=True)]
    except csv.Error as error:
        if separator != "\t":
            raise RequestError(_complaint(source, str(error))) from error
        return [*source.rows(separator, quoting=csv.QUOTE_NONE)]
    finally:
        csv.field_size_limit(usual)
    joined = next((row for row in rows if _is_run_on(row, rows, separator)), None)
    if joined and separator == "\t":
        return [*source.rows(separator, quoting=csv.QUOTE_NONE)]
    if joined:
        raise RequestError(
            f"{source.path}: row {joined.line}: a quoted cell contains whole rows: its "
            f'closing " is missing.'
        )
    return rows


def _is_quoted_late(row: Row) -> bool:
    """Return whether a cell has spaces in front of its quote, as in `1, "a, b"`."""
    return any(cell.startswith(" ") and cell.lstrip(" ").startswith('"') for cell in row.cells)


def _complaint(source: _Lines, reason: str) -> str:
    """Return what is wrong with the row that the CSV reader refused."""
    where = f"{source.path}: row {source.line}"
    if "unexpected end of data" in reason:
        return f'{where}: a cell starts with " and no later line has the closing ".'
    if "expected after" in reason:
        line = f" in line {source.at}" if source.at != source.line else ""
        return (
            f"{where}: expected {source.separator!r} or the end of the row after a closing "
            f'quote{line}, got more text; a " inside a quoted cell is written twice.'
        )
    return f"{where}: can't be read as CSV: {reason}."


def _is_run_on(row: Row, rows: list[Row], separator: str) -> bool:
    """Return whether a quoted cell contains lines with numbers in the same cells as a row."""
    for cell in row.cells:
        if separator not in cell or not _LINE_END.search(cell):
            continue
        if separator == "\t":
            return True
        shape = _shape(rows[-1].cells if row is not rows[-1] else rows[-2].cells)
        inner = _LINE_END.split(cell)[1:]
        if sum(shape) > 1 and any(_shape(line.split(separator)) == shape for line in inner):
            return True
    return False


def _shape(cells: list[str]) -> list[bool]:
    """Return which cells are numbers, or times in digits."""
    return [bool(_DIGITS.fullmatch(cell.strip())) for cell in cells]


def _with_header(path: Path, rows: list[Row], separator: str, form: TableFormat) -> Table:
    """Return the table without blank columns at its end; refuses a row of another length."""
    first, *below = rows
    has_header = form.has_header(first.cells)
    header = [cell.strip() for cell in first.cells] if has_header else []
    width = len(first.cells)
    while width and not any(
        row.cells[width - 1].strip() for row in rows if len(row.cells) >= width
    ):
        width -= 1
    for row in rows:
        if len(row.cells) < width or any(map(str.strip, row.cells[len(first.cells) :])):
            titles = row is below[0] and len(row.cells) > width and form.comments
            advice = " Start lines above the header with #." if titles else ""
            raise RequestError(
                f"{path}: row {row.line}: expected {width} cells, got {len(row.cells)}.{advice}"
            )
    kept = [Row(line, cells[:width]) for line, cells in (below if has_header else rows)]
    if not kept:
        raise RequestError(f"{path}: expected {form.content}, got only the header {header}.")
    names = header[:width] or [form.name_column(at + 1) for at in range(width)]
    return Table(path, names, kept, separator)
