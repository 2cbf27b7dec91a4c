"""The times of a series: their step, their labels, and the times that follow."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# Step -> steps per season; a year has about 52 weeks.
_SEASONS = {"1MS": 12, "2MS": 6, "3MS": 4, "7D": 52, "1D": 7, "B": 5}
_SHORT = np.timedelta64(20, "h")  # shorter steps are below a day, even a day of 23 hours
_COUNT_STEP = re.compile(r"\d+(\.\d+)?")
_LABEL = re.compile(
    r"(?P<year>\d{4})(-Q(?P<quarter>[1-4])|-(?P<month>\d\d)(-(?P<day>\d\d)(?P<clock> [\d:.]+)?)?)?"
    r"((?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d))?(\[(?P<zone>[^\]]+)\])?"
)


@dataclass(frozen=True)
class Calendar:
    """Dates and clock times, in the local time of the place where values were measured.

    Steps below a day are measured in absolute time, longer steps in the local calendar, since
    clock changes alter the length of days and months.
    """

    local: np.ndarray  # (n,) datetime64[us]; NaT: not a time
    offset: np.ndarray | None = None  # (n,) timedelta64[us] ahead of UTC; None: not known
    zone: str = ""  # such as Europe/Berlin, if the text names one
    by_instant: bool = False  # whether steps are measured in absolute time
    clock: bool = False  # whether labels have the clock time even if the step doesn't need it

    def __len__(self) -> int:
        return len(self.local)

    @property
    def instants(self) -> np.ndarray:
        """Return times to sort and compare: absolute if offsets are known; datetime64[us]."""
        return self.local if self.offset is None else self.local - self.offset

    @property
    def axis(self) -> np.ndarray:
        """Return the times in which steps are measured, absolute or local."""
        return self.instants if self.by_instant else self.local

    @property
    def invalid(self) -> np.ndarray:
        """(n,) bool: not a time."""
        return np.isnat(self.local)

    def take(self, index: np.ndarray) -> Calendar:
        """Return the times at some positions."""
        offset = None if self.offset is None else self.offset[index]
        return replace(self, local=self.local[index], offset=offset)

    def regular(self) -> tuple[Calendar, str]:
        """Return sorted times and their commonest step, as pandas names it.

        For months, quarters and years (`1MS`, `3MS`, `12MS`) times become first days. Other steps
        are working days (`B`) or have a fixed length (`1D`, `7D`, `h`, `15min`).
        """
        times = replace(self._at_midnight(), by_instant=self._counts_instants())
        by_months = _months(times.axis)
        if by_months:
            months, step = by_months
            first_days = months.to_timestamp().to_numpy().astype("M8[us]")
            return Calendar(first_days, clock=self.clock), step
        return times, _fixed_step(times.axis)

    def _counts_instants(self) -> bool:
        if self.offset is None:
            return False
        absolute, local = np.diff(self.instants), np.diff(self.local)
        if len({*absolute}) == 1 or len({*local}) == 1:
            return len({*local}) > 1 or bool(_commonest(absolute) < _SHORT)
        return bool(_commonest(absolute) < _SHORT)

    def _at_midnight(self) -> Calendar:
        """Return local days if the times are the midnights of a place, written in UTC.

        They are midnights if the offset changes by an hour, or if all are first days of a month.
        """
        if (self.offset is not None and np.any(self.offset)) or len(self) < 2:
            return self
        days = (self.local + np.timedelta64(12, "h")).astype("M8[D]").astype("M8[us]")
        ahead = np.unique(days - self.local)
        two = len(ahead) == 2 and ahead[1] - ahead[0] == np.timedelta64(1, "h")
        moved = self.offset is not None and np.all(ahead > np.timedelta64(0))
        first_days = moved and np.all(days == days.astype("M8[M]"))
        if not (two or first_days) or _commonest(np.diff(self.local)) < _SHORT:
            return self
        return Calendar(days)

    def after(self, step: str, count: int = 1) -> Calendar:
        """Return each time moved by `count` steps."""
        import pandas as pd

        moved = pd.DatetimeIndex(self.axis) + count * pd.tseries.frequencies.to_offset(step)
        return self._at(moved.to_numpy(), self.offset)

    def gaps(self, step: str) -> np.ndarray:
        """Return the positions of times that are not one step after the previous time."""
        expected = self.after(step).axis[:-1]
        return np.flatnonzero(expected != self.axis[1:]) + 1

    def grid(self, step: str) -> Calendar:
        """Return all times from the first to the last, one step apart."""
        import pandas as pd

        axis = pd.date_range(self.axis[0], self.axis[-1], freq=step, unit="us").to_numpy()
        before = np.searchsorted(self.axis, axis, side="right") - 1
        return self._at(axis, None if self.offset is None else self.offset[before])

    def beyond(self, step: str, count: int, before: int) -> Calendar:
        """Return `before` times that end with the only time, and the next `count` times."""
        import pandas as pd

        start = self.axis[0]
        known = pd.date_range(end=start, periods=before, freq=step, unit="us")
        times = pd.date_range(start, periods=count + 1, freq=step, unit="us")[1:]
        axis = known.append(times).to_numpy()
        return self._at(axis, None if self.offset is None else np.repeat(self.offset, len(axis)))

    def _at(self, axis: np.ndarray, offset: np.ndarray | None) -> Calendar:
        """Return other times on the same axis; if the zone is known, it gives their offsets."""
        axis = axis.astype("M8[us]")
        if self.zone:
            offset = zone_offsets(axis, self.zone, by_instant=self.by_instant)
        local = axis + offset if self.by_instant and offset is not None else axis
        return replace(self, local=local, offset=offset)

    def labels(self, step: str) -> list[str]:
        """Return texts as precise as the step: `2020`, `2020-Q3`, `2020-07`, `2020-07-31`.

        A clock time includes its offset or zone, if known: `2020-07-31 14:00+02:00`.
        """
        import pandas as pd

        times = pd.DatetimeIndex(self.local)
        if step == "3MS" and (times.month % 3 == 1).all() and not self.clock:
            return [f"{time.year}-Q{time.quarter}" for time in times]
        form, length = "%Y-%m-%d", _below_a_day(step)
        if step.endswith("MS") and not self.clock:
            whole_years = int(step[:-2]) % 12 == 0 and (times.month == 1).all()
            form = "%Y" if whole_years else "%Y-%m"
        elif length or self.clock or (times != times.normalize()).any():
            shown = times.append(times[-1:] + length) if length else times  # as exact as the step
            form += " %H:%M:%S" if shown.second.any() or shown.microsecond.any() else " %H:%M"
            form += ".%f" if shown.microsecond.any() else ""
        texts = times.strftime(form).tolist()
        if self.offset is None or "%H" not in form:
            return texts
        zone = f"[{self.zone}]" if self.zone else ""
        return [f"{text}{_signed(own)}{zone}" for text, own in zip(texts, self.offset, strict=True)]


@dataclass(frozen=True)
class Counts:
    """Times that are plain numbers: steps since an unknown start."""

    values: np.ndarray  # (n,) float64; NaN: not a number

    def __len__(self) -> int:
        return len(self.values)

    @property
    def instants(self) -> np.ndarray:
        """Return the numbers."""
        return self.values

    axis = instants

    @property
    def invalid(self) -> np.ndarray:
        """(n,) bool: not a number."""
        return np.isnan(self.values)

    def take(self, index: np.ndarray) -> Counts:
        """Return the numbers at some positions."""
        return Counts(self.values[index])

    def regular(self) -> tuple[Counts, str]:
        """Return the numbers and their commonest step, such as `1` or `0.5`."""
        return self, _plain(float(_commonest(np.round(np.diff(self.values), 9))))

    def after(self, step: str, count: int = 1) -> Counts:
        """Return each number moved by `count` steps."""
        return Counts(np.round(self.values + count * float(step), 9))

    def gaps(self, step: str) -> np.ndarray:
        """Return the positions of numbers that are not one step after the previous number."""
        off = np.diff(self.values) - float(step)
        return np.flatnonzero(np.abs(off) > 1e-3 * float(step)) + 1

    def grid(self, step: str) -> Counts:
        """Return all numbers from the first to the last, one step apart."""
        count = round((self.values[-1] - self.values[0]) / float(step)) + 1
        return Counts(np.round(self.values[0] + float(step) * np.arange(count), 9))

    def beyond(self, step: str, count: int, before: int) -> Counts:
        """Return `before` numbers that end with the only number, and the next `count` numbers."""
        steps = np.arange(1 - before, count + 1)
        return Counts(np.round(self.values[0] + float(step) * steps, 9))

    def labels(self, step: str) -> list[str]:
        """Return the numbers as text."""
        return [_plain(float(value)) for value in self.values]


def season(step: str) -> int | None:
    """Return the steps per season: a year for months, quarters and weeks, a week for days.

    The season of shorter steps is a day. None for other steps, such as years and plain numbers.
    """
    import pandas as pd

    if step in _SEASONS or _COUNT_STEP.fullmatch(step):
        return _SEASONS.get(step)
    day, length = pd.Timedelta(1, "D"), _below_a_day(step)
    return day // length if length and not day % length else None


def next_labels(last: str, step: str, count: int, before: int = 0) -> list[str]:
    """Return `before` labels that end with the last label of a series, and the next `count`.

    Raises:
        ValueError: `last` is not a label of a series.
    """
    if _COUNT_STEP.fullmatch(step):
        return Counts(np.array([float(last)])).beyond(step, count, before).labels(step)
    return _read_label(last, step).beyond(step, count, before).labels(step)


def zone_offsets(times: np.ndarray, zone: str, *, by_instant: bool = False) -> np.ndarray:
    """Return how far a zone is ahead of UTC at local or absolute times: timedelta64[us].

    A local time that occurs twice, because clocks are set back, is the first one; if it is there
    again, the second one. A local time that clocks skip has no offset (NaT).

    Raises:
        KeyError: there is no such zone.
    """
    import pandas as pd

    if by_instant:
        local = pd.DatetimeIndex(times, tz="UTC").tz_convert(zone).tz_localize(None)
        return local.to_numpy().astype("M8[us]") - times
    falling = np.count_nonzero(np.diff(times) < np.timedelta64(0)) > len(times) / 2
    index = pd.DatetimeIndex(times)
    again = index.duplicated(keep="last" if falling else "first")
    index = index.tz_localize(zone, ambiguous=~again, nonexistent="NaT")
    absolute = index.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[us]")
    return times - absolute


def _commonest(steps: np.ndarray) -> Any:
    found, counts = np.unique(steps, return_counts=True)
    return found[counts.argmax()]


def _months(axis: np.ndarray) -> tuple[pd.PeriodIndex, str] | None:
    """Return the months of times that are months apart, and the step's name; None for others."""
    import pandas as pd

    times = pd.DatetimeIndex(axis)
    steps, months = pd.Series(times[1:] - times[:-1]), times.to_period("M")
    common, on_one_day = steps.mode()[0], times.day.nunique() == 1 or times.is_month_end.all()
    by_months = months.is_unique and (on_one_day or (steps % common).any())  # not 30 days each
    if common < pd.Timedelta(28, "D") or not by_months:
        return None
    count = pd.Series(months.year * 12 + months.month).diff().mode()[0]
    return months, f"{count:.0f}MS"


def _fixed_step(axis: np.ndarray) -> str:
    import pandas as pd

    times = pd.DatetimeIndex(axis)
    common = pd.Series(times[1:] - times[:-1]).mode()[0]
    if common % pd.Timedelta(1, "D"):
        return pd.tseries.frequencies.to_offset(common).freqstr
    working = common.days == 1 and len(times) > 5 and times.day_of_week.max() < 5
    return "B" if working else f"{common.days}D"


def _below_a_day(step: str) -> pd.Timedelta | None:
    """Return the length of a step below a day; None for longer steps."""
    import pandas as pd

    return None if step[-1] in "SDB" else pd.Timedelta(pd.tseries.frequencies.to_offset(step))


def time_of(label: str) -> datetime | None:
    """Return the local time of a label of a series; None if the label is not a time."""
    found = _LABEL.fullmatch(label)
    if not found:
        return None
    month = found["month"] or (3 * int(found["quarter"]) - 2 if found["quarter"] else 1)
    day = f"{found['year']}-{int(month):02d}-{found['day'] or '01'}"
    return datetime.fromisoformat(f"{day}{found['clock'] or ''}")


def _read_label(label: str, step: str) -> Calendar:
    found, time = _LABEL.fullmatch(label), time_of(label)
    if not found or not time:
        raise ValueError(f"expected a label of a series, got {label!r}")
    local = np.array([time], "M8[us]")
    if not found["sign"]:
        return Calendar(local, clock=bool(found["clock"]))
    minutes = int(found["sign"] + "1") * (60 * int(found["hours"]) + int(found["minutes"]))
    offset = np.array([np.timedelta64(minutes, "m").astype("m8[us]")])
    return Calendar(local, offset, found["zone"] or "", by_instant=bool(_below_a_day(step)))


def _signed(offset: np.timedelta64) -> str:
    minutes = int(offset / np.timedelta64(1, "m"))
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
