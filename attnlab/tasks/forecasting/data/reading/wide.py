"""Refuse tables with a column per time: a series is read down a column."""

from __future__ import annotations

import re

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_file import SeriesTable
from attnlab.tasks.forecasting.data.reading.dates import read_times
from attnlab.tasks.forecasting.data.reading.headers import role

_TIME = re.compile(r"(1[5-9]|20)\d\d(\D.*\d)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\D+[-/ ]?(19|20)\d\d")
_NUMBERED = re.compile(r"(\D+)(\d+)")
_FEWEST_NUMBERED = 20  # fewer numbered columns may be properties of a row
_PERIODS = (12, 4)  # of a year: months, quarters


def refuse_wide(table: SeriesTable, *, has_times: bool) -> None:
    """Refuse a table whose columns are times, if no column was chosen.

    Raises:
        RequestError: most column names are times, or they are the months or quarters of a year,
            or they are numbered and no column has times.
    """
    names = [name for name in table.header if _TIME.fullmatch(name)]
    if len(names) < 3 or len(names) <= len(table.header) / 2:
        names = _periods_of_a_year(table) or ([] if has_times else _numbered(table.header))
    if names:
        raise RequestError(
            f"{table.path}: the columns {names[0]!r} to {names[-1]!r} look like times, but a "
            "series is read down a column: write a row for each time, or choose a column by "
            "task.column"
        )


def _periods_of_a_year(table: SeriesTable) -> list[str]:
    """Return the columns of a year's months or quarters after a column of years; else []."""
    for count in _PERIODS:
        names = table.header[1 : 1 + count]
        if role(table.header[0]) == "year" and len({*names}) == count:
            read = read_times([f"{name} 2000" for name in names], named="month")
            if read and read.is_whole and read.times.regular()[1].endswith("MS"):
                return names
    return []


def _numbered(header: list[str]) -> list[str]:
    """Return the last columns if they are numbered consecutively, such as x1 to x20; else []."""
    found = [_NUMBERED.fullmatch(name) for name in header[-_FEWEST_NUMBERED:]]
    numbers = [(each[1], int(each[2]) - at) for at, each in enumerate(found) if each]
    rises = len(numbers) == _FEWEST_NUMBERED and len({*numbers}) == 1
    return header[-_FEWEST_NUMBERED:] if rises else []
