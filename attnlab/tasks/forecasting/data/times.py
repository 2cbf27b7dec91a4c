"""The times of a series: read from text, put on a regular step, and gone on with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import pandas as pd

_DAYS = (
    *("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_MONTHS = ("%m/%Y", "%m.%Y", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%Y%m")
_FORMS = ("ISO8601", *_MONTHS, *(f"{day}{clock}" for day in _DAYS for clock in _CLOCKS))
# Step -> steps a season; a year has 52 weeks and a day or two.
_SEASONS = {"1MS": 12, "2MS": 6, "3MS": 4, "7D": 52, "1D": 7, "B": 5}
_QUARTER = re.compile(r"(?:(\d{4})[-/ ]?)?Q([1-4])(?:[-/ ]?(\d{4}))?", re.IGNORECASE)


def parse_times(labels: Sequence[str], form: str | None = None) -> pd.DatetimeIndex:
    """Text to times, NaT where it is none in the form of the first one.

    Known are ISO dates and times, years, `2020-Q1`, months and days as spreadsheets write them;
    `form` is one in the letters of `strptime`. Times with an offset become UTC.

    Raises:
        RequestError: days and months can be told apart in no row.
    """
    import pandas as pd

    texts = [_QUARTER.sub(_first_month, label) for label in labels]

    def read(form: str, texts: list[str]) -> pd.DatetimeIndex:
        return pd.to_datetime(texts, format=form, utc=True, errors="coerce").tz_localize(None)

    forms = [f for f in ([form] if form else _FORMS) if read(f, texts[:1]).notna().all()]
    if not forms:
        return pd.DatetimeIndex([pd.NaT] * len(texts))
    found = {each: read(each, texts) for each in forms}
    best = max(found, key=lambda each: found[each].notna().sum())
    for other, times in found.items():
        if times.notna().all() and not times.equals(found[best]):
            raise RequestError(
                f"task.time_format: expected one of '{best}' and '{other}', since both fit every "
                f"row, such as {labels[0]}, got null"
            )
    return found[best]


def _first_month(found: re.Match[str]) -> str:
    return f"{found[1] or found[3]}-{3 * int(found[2]) - 2:02d}"


def find_step(times: pd.DatetimeIndex) -> tuple[pd.DatetimeIndex, str]:
    """Two or more times that rise, as exact as their commonest step, and its name in pandas.

    Of months, quarters and years (`1MS`, `3MS`, `12MS`) the first day stands; else the step is a
    working day (`B`) or a fixed length (`1D`, `7D`, `h`, `15min`).
    """
    import pandas as pd

    steps, months = pd.Series(times[1:] - times[:-1]), times.to_period("M")
    common, on_one_day = steps.mode()[0], times.day.nunique() == 1 or times.is_month_end.all()
    by_months = months.is_unique and (on_one_day or (steps % common).any())  # not 30 days each
    if common >= pd.Timedelta(28, "D") and by_months:
        count = pd.Series(months.year * 12 + months.month).diff().mode()[0]
        return months.to_timestamp(), f"{count:.0f}MS"
    if common % pd.Timedelta(1, "D"):
        return times, pd.tseries.frequencies.to_offset(common).freqstr
    working = common.days == 1 and len(times) > 5 and times.day_of_week.max() < 5
    return times, "B" if working else f"{common.days}D"


def season(step: str) -> int | None:
    """Steps a season, given the name of one: a year's months, quarters or weeks, a week's days.

    Of steps that a day is made of, a day; None for others, such as years.
    """
    import pandas as pd

    if step in _SEASONS:
        return _SEASONS[step]
    day, length = pd.Timedelta(1, "D"), _below_a_day(step)
    return day // length if length and not day % length else None


def _below_a_day(step: str) -> pd.Timedelta | None:
    """How long a step is; None of days, months and years."""
    import pandas as pd

    return None if step[-1] in "SDB" else pd.Timedelta(pd.tseries.frequencies.to_offset(step))


def to_labels(times: pd.DatetimeIndex, step: str) -> list[str]:
    """Times as text, no more exact than their step: `2020`, `2020-Q3`, `2020-07`, `2020-07-31`."""
    if step == "3MS" and (times.month % 3 == 1).all():
        return [f"{time.year}-Q{time.quarter}" for time in times]
    form, length = "%Y-%m-%d", _below_a_day(step)
    if step.endswith("MS"):
        whole_years = int(step[:-2]) % 12 == 0 and (times.month == 1).all()
        form = "%Y" if whole_years else "%Y-%m"
    elif length or (times != times.normalize()).any():
        told = times.append(times[-1:] + length) if length else times  # as exact as the step
        form += " %H:%M:%S" if told.second.any() or told.microsecond.any() else " %H:%M"
        form += ".%f" if told.microsecond.any() else ""
    return times.strftime(form).tolist()


def next_labels(last: str, step: str, count: int, before: int = 0) -> list[str]:
    """The labels that follow one of `to_labels`, behind as many up to it as `before` says."""
    import pandas as pd

    start = parse_times([last])[0]
    known = pd.date_range(end=start, periods=before, freq=step, unit="us")
    times = pd.date_range(start, periods=count + 1, freq=step, unit="us")[1:]
    return to_labels(known.append(times), step)
