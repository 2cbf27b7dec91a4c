"""Read numbers as times: seconds since 1970, days of a spreadsheet, years with decimals."""

from __future__ import annotations

import numpy as np

from attnlab.tasks.forecasting.data.reading.forms import Read
from attnlab.tasks.forecasting.data.times import Calendar

YEARS = "years with decimals"
_DAY = 86_400_000_000  # microseconds
# Unit -> microseconds.
_UNITS = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 1e-3}
_EPOCH = (1e15, 1e16)  # microseconds since 1970: from 2001 to 2286
_NAMED_EPOCH = (1e14, 1e16)  # from 1973, if the column's name announces times
_SPREADSHEET = (10_000, 110_000)  # days: 1927 to 2201
_YEARS = (1000, 2200)
_PER_YEAR = (1, 2, 4, 12)


def since_1970(numbers: np.ndarray, *, named: bool = False) -> Read | None:
    """Read seconds, or a smaller unit, since 1970 in UTC; None if a number is out of range."""
    least, most = _NAMED_EPOCH if named else _EPOCH
    for unit, factor in _UNITS.items():
        exact = numbers * factor
        if np.all((exact >= least) & (exact < most)):
            local = np.round(exact).astype("M8[us]")
            return Read(f"{unit} since 1970", Calendar(local, np.zeros(len(local), "m8[us]")))
    return None


def spreadsheet_days(numbers: np.ndarray) -> Read | None:
    """Read days since 1899-12-30, as Excel counts them; None if a number is out of range."""
    if not np.all((numbers >= _SPREADSHEET[0]) & (numbers < _SPREADSHEET[1])):
        return None
    seconds = np.round(numbers * 86_400).astype("m8[s]")
    local = np.datetime64("1899-12-30", "us") + seconds.astype("m8[us]")
    return Read("days of a spreadsheet", Calendar(local))


def decimal_years(numbers: np.ndarray) -> Read | None:
    """Read years with decimals, such as 2019.0417 for January 2019; None for other numbers.

    The usual distance between numbers decides what they are rounded to: years, half-years,
    quarters or months, else days or hours.
    """
    distinct = np.unique(numbers)
    inside = np.all((numbers >= _YEARS[0]) & (numbers < _YEARS[1]))
    if not inside or len(distinct) < 2 or not np.any(numbers % 1):
        return None
    per_year = 1 / np.median(np.diff(distinct))
    count = min(_PER_YEAR, key=lambda count: abs(per_year - count))
    if abs(per_year - count) < 0.1 * count:
        scaled = numbers * count
        index = np.round(scaled - _phase(scaled)).astype(int)
        months = (index * (12 // count) - 1970 * 12).astype("M8[M]")
        return Read(YEARS, Calendar(months.astype("M8[us]")))
    return Read(YEARS, Calendar(_exact(numbers, per_year)))


def _exact(numbers: np.ndarray, per_year: float) -> np.ndarray:
    """Round years with decimals to days, or to hours if there are more than 400 per year."""
    year = np.floor(numbers).astype(int)
    first, following = (year - 1970).astype("M8[Y]"), (year - 1969).astype("M8[Y]")
    length = (following.astype("M8[D]") - first.astype("M8[D]")).astype(int)
    steps = 1 if per_year < 400 else 24
    position = (numbers - year) * length * steps
    whole = np.round(position - _phase(position)).astype(int)
    return first.astype("M8[us]") + (whole * (_DAY // steps)).astype("m8[us]")


def _phase(positions: np.ndarray) -> float:
    """Return the mean fractional part of positions, a circular mean from -0.25 to 0.75."""
    angle = np.angle(np.exp(2j * np.pi * positions).mean()) / (2 * np.pi)
    return angle if angle >= -0.25 else angle + 1
