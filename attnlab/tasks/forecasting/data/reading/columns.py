"""Find the columns of a table that have the times of its rows, and read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_file import SeriesTable
from attnlab.tasks.forecasting.data.reading import words
from attnlab.tasks.forecasting.data.reading.dates import read_times, regularity
from attnlab.tasks.forecasting.data.reading.headers import part_of, role
from attnlab.tasks.forecasting.data.reading.numbers import is_missing, is_number, numbers_of
from attnlab.tasks.forecasting.data.times import Calendar, Counts

_YEAR_OR_CLOCK = re.compile(
    r"(?<!\d)(1[5-9]|20)\d\d(?!\d)|\d{1,2}[./-]\d{1,2}[./-]\d{2}|\d:\d\d|\d[\s./-]+[^\W\d_]{2,}\.?[\s./-]+\d\d$"
)
_CLOCK = re.compile(r"\d{1,2}([:.h]\d{2}){1,2}([.,]\d+)?( ?[ap]m)?|\d{1,2} ?[ap]m")
_YEAR = re.compile(r"(1[5-9]|20)\d\d(\.0*)?")
_MONTH = re.compile(r"0?[1-9]|1[0-2]")
_SURE_NUMBERS = re.compile(
    r"(\d{4}|\d{6}|\d{8}|\d{10}|\d{12,14}|\d{16}|\d{19})(\.0*)?|\d{4}[.,]\d{2,}|\d{1,2}[.,](19|20)\d\d"
)
_PARTS = [("year", "month", "day"), ("year", "month"), ("year", "quarter"), ("year", "week")]
_PARTS += [("year", "period"), ("year", "ordinal")]  # 2020, M01; 2020, 366
_FEW = 0.1  # share of rows that may be something else, such as a total
_REGULAR = 0.9  # share of equal steps in regular times
_ADVICE = (
    "set task.time_format to its format, task.time_column to another column, or "
    "task.time_column=null to take the rows in file order"
)


@dataclass(frozen=True)
class TimeColumns:
    """The times of a table's rows, in the order of the file."""

    places: tuple[int, ...]  # the columns
    name: str  # their names
    times: Calendar | Counts
    texts: list[str]  # the times as the file has them
    notes: tuple[str, ...] = ()

    def take(self, index: np.ndarray) -> TimeColumns:
        """The times of some rows."""
        return replace(self, times=self.times.take(index), texts=[self.texts[at] for at in index])

    @property
    def distinct(self) -> int:
        """How many different times there are."""
        return len(np.unique(self.times.instants))

    def rank(self) -> tuple[bool, int]:
        """Return a sort key, largest for the best candidate: dates, then many distinct times."""
        return isinstance(self.times, Calendar), self.distinct

    @property
    def is_whole(self) -> bool:
        """Whether all cells are times."""
        return not self.times.invalid.any()

    @property
    def is_sorted(self) -> bool:
        """Whether times only rise or only fall."""
        instants = self.times.instants
        return bool(np.all(instants[1:] > instants[:-1]) or np.all(instants[1:] < instants[:-1]))


def given_times(table: SeriesTable, places: Sequence[int], form: str | None) -> TimeColumns:
    """The times in the columns that a user named.

    Raises:
        RequestError: a cell is not a time, or not in the given format.
    """
    texts = table.cells(places[0]) if len(places) == 1 else _joined(table, places, {})
    found = _read(table, tuple(places), texts, form)
    if found is None or not found.is_whole:
        raise _unreadable(table, places, texts, found, form)
    return found


def find_times(
    table: SeriesTable, taken: Iterable[int], form: str | None = None
) -> TimeColumns | None:
    """Find the columns that have the rows' times, and read them; None if there are none.

    All cells of a column count. Columns whose names announce times are tried first. Parts of the
    times, such as year and month, or date and clock time, may be in several columns.

    Raises:
        RequestError: no column has the given format.
    """
    free = [at for at in range(len(table.header)) if at not in {*taken}]
    whole = []
    for at in _candidates(table, free):
        found = _read(table, (at,), table.cells(at), form)
        if found and found.is_whole and _is_sure(table, found):
            whole.append(found)
            is_calendar = isinstance(found.times, Calendar)
            if is_calendar and found.distinct == len(table.rows) and found.is_sorted:
                return found
    if form and not whole:
        raise RequestError(
            f"task.time_format={form}: no column of {table.path} has times in this format; "
            "task.time_column chooses the column"
        )
    several = [] if form else _in_several_columns(table, free, whole)
    return max([*whole, *several], key=TimeColumns.rank, default=None)


def refuse_unread_times(table: SeriesTable, taken: Iterable[int], *, counted: bool = False) -> None:
    """Refuse a table without dates if a column seems to have times that could not be read.

    With `counted`, another column counts the rows. Then only texts in a column whose name
    announces times are refused.

    Raises:
        RequestError: a column's name announces times, its cells look like times, or its numbers
            fall from row to row, so the newest row may be the first.
    """
    for at in (at for at in range(len(table.header)) if at not in {*taken}):
        cells, said = table.cells(at), role(table.header[at])
        numeric = table.is_numeric(at)
        if all(map(is_missing, cells)) or (counted and (numeric or not said)):
            continue
        if numeric and not said:
            _refuse_falling(table, at)
        dated = not said and all(looks_dated(cell) or is_missing(cell) for cell in cells)
        if dated or said not in ("", "count", "row"):
            raise _unreadable(table, (at,), cells, _read(table, (at,), cells, None), None)


def _refuse_falling(table: SeriesTable, at: int) -> None:
    """Refuse a column whose numbers fall from row to row."""
    numbers = numbers_of(table.cells(at))
    if len(numbers) > 2 and np.all(np.diff(numbers) < 0):
        raise RequestError(
            f"{table.path}: column {table.header[at]!r} falls from row to row, so the newest row "
            f"may be the first: set task.time_column={table.header[at]} to sort by it, or "
            "task.time_column=null to take the rows in file order"
        )


def looks_dated(cell: str) -> bool:
    """Return whether a cell has a year or a clock time and is not a number."""
    return bool(_YEAR_OR_CLOCK.search(cell)) and not is_number(cell)


def _candidates(table: SeriesTable, free: Sequence[int]) -> list[int]:
    """Return the columns to try: names of times first, then texts, then numbers like 20200131."""
    named = [at for at in free if role(table.header[at])]
    others = [at for at in free if at not in named and table.cells(at)[0]]
    numeric = [at for at in others if table.is_numeric(at)]
    alike = [at for at in numeric if _SURE_NUMBERS.fullmatch(table.cells(at)[0])]
    return [*named, *(at for at in others if at not in numeric), *alike]


def _is_sure(table: SeriesTable, found: TimeColumns) -> bool:
    """Return whether a column really has times, not other numbers, by its name and cells."""
    at = found.places[0]
    said = role(table.header[at])
    if isinstance(found.times, Counts):
        return bool(said) and (said != "row" or _counts_rows(found.times))
    if said or not table.is_numeric(at):
        return True
    if found.distinct < len(table.rows):
        return False
    if all(cell.partition(".")[0].isdigit() and len(cell) in (6, 8) for cell in found.texts):
        return True
    as_year = at == 0 < len(table.header) - 1 and all(map(_YEAR.fullmatch, found.texts))
    return found.is_sorted and (as_year or regularity(found.times) > _REGULAR)


def _counts_rows(counts: Counts) -> bool:
    """Return whether numbers are whole and mostly grow by the same step, like row numbers."""
    steps = np.diff(counts.values)
    whole = not np.any(counts.values % 1)
    return whole and bool(np.unique(steps, return_counts=True)[1].max() > _REGULAR * len(steps))


def _read(
    table: SeriesTable, places: tuple[int, ...], texts: list[str], form: str | None
) -> TimeColumns | None:
    """Read texts as times, or else as plain numbers; None if they are neither."""
    name = ", ".join(table.header[at] for at in places)
    said = role(table.header[places[0]]) if len(places) == 1 else "date"
    read = read_times(texts, form, named=said)
    if read and read.is_whole:
        return TimeColumns(places, name, read.times, texts, read.notes)
    if form is None and len(places) == 1:
        numbers = numbers_of(texts)
        if np.isfinite(numbers).all() and (said != "date" or read is None):
            return TimeColumns(places, name, Counts(numbers), texts)
    return TimeColumns(places, name, read.times, texts) if read else None


def _in_several_columns(
    table: SeriesTable, free: Sequence[int], single: Sequence[TimeColumns]
) -> list[TimeColumns]:
    """Read times whose parts are in several columns: year and month, or date and clock time."""
    roles: dict[str, int] = {}
    for at in free:
        roles.setdefault(part_of(table.header[at]), at)
    if not {"month", "ordinal"} & {*roles} and "day" in roles:
        roles["ordinal"] = roles["day"]  # of the year
    dates = [tuple(roles[part] for part in parts) for parts in _PARTS if {*parts} <= {*roles}]
    calendars = [each for each in single if isinstance(each.times, Calendar)]
    dates += [each.places for each in calendars]
    days = {each.places[0]: _iso_days(each) for each in calendars if not each.notes}
    dates += [(at, at + 1) for at in free if at + 1 in free and _is_year_month(table, at)]
    clocks: list[tuple[int, ...]] = [(roles[part],) for part in ("time", "hour") if part in roles]
    clocks += [(*clock, roles["minute"]) for clock in clocks if "minute" in roles]
    clocks += [(at,) for at in free if all(map(_is_clock, table.cells(at)))]
    tried = [date for date in dates if len(date) > 1]
    tried += [(*date, *clock) for date in dates for clock in clocks if not {*date} & {*clock}]
    found = []
    for places in dict.fromkeys(tried):
        with_clock = places[:1] in dates and places[:2] not in dates
        texts = _joined(table, places, days if with_clock else {})
        found.append(_read(table, places, texts, None))
    return [each for each in found if each and each.is_whole]


def _iso_days(found: TimeColumns) -> list[str]:
    """The days of times as text, such as 2020-01-31."""
    return np.datetime_as_string(found.times.instants, "D").tolist()


def _is_year_month(table: SeriesTable, at: int) -> bool:
    years, months = table.cells(at), table.cells(at + 1)
    return all(map(_YEAR.fullmatch, years)) and all(map(_MONTH.fullmatch, months))


def _is_clock(cell: str) -> bool:
    return bool(_CLOCK.fullmatch(words.normalized(cell)))


def _joined(table: SeriesTable, places: Sequence[int], days: Mapping[int, list[str]]) -> list[str]:
    """Join the cells of several columns into one text per row, such as `2020-01 07:00`.

    `days` (column -> texts) replaces the cells of columns of dates.
    """
    parts, all_said = [], [part_of(table.header[at]) for at in places]
    if "month" not in all_said:
        all_said = ["ordinal" if said == "day" else said for said in all_said]
    for at, said in zip(places, all_said, strict=True):
        cells = days.get(at) or table.cells(at)
        known = {cell: _part(cell, said) for cell in dict.fromkeys(cells)}
        parts.append([known[cell] for cell in cells])
    return [_as_time(row) for row in zip(*parts, strict=True)]


def _part(cell: str, said: str) -> str:
    whole = cell.partition(".")[0] if re.fullmatch(r"\d+\.0*", cell) else cell
    if not whole.isdigit():
        return whole
    if said == "ordinal":
        return whole.zfill(3)
    if said in ("quarter", "week"):
        return f"{said[0]}{whole}"
    if said in ("time", "hour", "minute"):
        return f":{whole.zfill(2)}" if said == "minute" else _hour(whole)
    return whole


def _hour(digits: str) -> str:
    """`7` and `700` as `07:00`, `172400` as `17:24:00`."""
    if len(digits) <= 2:
        return f"{digits.zfill(2)}:00"
    digits = digits.zfill(4 if len(digits) <= 4 else 6)
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def _as_time(parts: Sequence[str]) -> str:
    """Join parts of a time: `-` between the digits of a date, a space before other parts."""
    text = parts[0]
    for part in parts[1:]:
        if part.startswith(":"):
            text = text.removesuffix(":00") + part
        else:
            both_digits = part.isdigit() and text[-1:].isdigit() and ":" not in text
            text += f"-{part}" if both_digits else f" {part}"
    return text


def _unreadable(
    table: SeriesTable,
    places: Sequence[int],
    texts: Sequence[str],
    found: TimeColumns | None,
    form: str | None,
) -> RequestError:
    """Return the error about the first cell that is not a time."""
    wrong = [*found.times.invalid] if found else [is_missing(text) for text in texts]
    first = wrong.index(True) if True in wrong else 0
    right = texts[wrong.index(False)] if found and False in wrong else ""
    wanted = f"a time like {right}" if right else "a time in a known format"
    if form:
        wanted = f"a time in the format {form}"
    names = ", ".join(repr(table.header[at]) for at in places)
    advice = "task.time_format sets another format" if form else _ADVICE
    if right and sum(wrong) <= _FEW * len(wrong):
        advice += "; delete the row if it is not part of the series"
    return RequestError(
        f"{table.path}: column {names}, row {table.rows[first].line}: expected {wanted}, got "
        f"{texts[first]!r}; {advice}"
    )
