"""Read a CSV file of series, and find its columns by name or number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks import tables
from attnlab.tasks.forecasting.data.reading.numbers import is_missing, is_number

_DATE = re.compile(r"\d{4}[./-]\d\d?\b.*|\d\d?[./-]\d\d?[./-]\d{2,4}\b.*")
_FIRST_YEAR, _LAST_YEAR = 1500, 2999


@dataclass(frozen=True)
class SeriesTable(tables.Table):
    """The rows of a CSV file; without a header, its columns are named `column 1`, ..."""

    def find(self, column: str | int, key: str = "") -> int:
        """Return the index of a column by name or number from 1; raises `RequestError`."""
        number = str(column)
        if number in self.header:
            self.check_name(self.header.index(number))
            return self.header.index(number)
        if number.isascii() and number.isdigit() and 1 <= int(number) <= len(self.header):
            return int(number) - 1
        start = f"{key}: " if key else ""
        choices = [f"{number} {name!r}" for number, name in enumerate(self.header, 1)]
        raise RequestError(
            f"{start}{self.path} has no column {column!r}. Columns by number and name: "
            f"{tables.listed(choices)}."
        )

    def has(self, column: str | int) -> bool:
        """Return whether there is a column with this name or number."""
        with suppress(RequestError):
            return self.find(column) >= 0
        return False

    def is_numeric(self, at: int) -> bool:
        """Return whether the first cell that isn't missing is a number."""
        return is_number(next((cell for cell in self.cells(at) if not is_missing(cell)), ""))

    def check_name(self, at: int) -> None:
        """Raise `RequestError` if other columns have the same name."""
        if self.header[at] and self.header.count(self.header[at]) > 1:
            advice = f"choose one by its number, such as {at + 1}, in task.column or the like"
            raise RequestError(self.several_named(self.header[at], advice))


def read_table(path: Path, encoding: str | None, asked_for: Sequence[str | int]) -> SeriesTable:
    """Read a CSV file; see `tables.read_table`.

    The first row is the header unless it has a number and none of the names `asked_for`. Lines
    that start with `#` are comments. A file that is not UTF-8 is read as cp1252 by default.

    Raises:
        RequestError: the file can't be read, is not text, has no rows, or has an incomplete row.
    """
    names = {*map(str, asked_for)}

    def has_header(first: list[str]) -> bool:
        if names & {*first} or not first[0] or _are_times(first):
            return True
        return not any(map(is_number, first)) and not _is_date_alone(first)

    form = tables.TableFormat(
        has_header=has_header,
        name_column=lambda number: f"column {number}",
        comments=True,
        strip=True,
        encoding_key="task.encoding",
        otherwise="cp1252",
        content="rows of numbers",
    )
    return SeriesTable(**vars(tables.read_table(path, encoding, form)))


def _are_times(first: Sequence[str]) -> bool:
    """Return whether a row is a header of years, or of the months 1 to 12, after a text."""
    numbers = [int(cell) for cell in first if cell.isascii() and cell.isdigit()]
    years = len(numbers) > 2 and _FIRST_YEAR <= min(numbers) <= max(numbers) <= _LAST_YEAR
    rise = numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else False
    months = numbers == [*range(1, 13)]
    return rise and (years or months) and not (is_number(first[0]) or _DATE.fullmatch(first[0]))


def _is_date_alone(first: Sequence[str]) -> bool:
    """Return whether all cells are dates or marks of missing numbers: a row, not a header."""
    missing = [is_missing(cell) for cell in first]
    dates = [bool(_DATE.fullmatch(cell)) for cell in first]
    return any(missing) and any(dates) and sum(missing) + sum(dates) == len(first)
