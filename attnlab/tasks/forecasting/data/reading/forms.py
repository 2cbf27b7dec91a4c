"""Read times in a given format, in the notation of `strptime`: text to fields to times."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.times import Calendar, zone_offsets

# Directive -> (field, pattern). The number of digits is fixed only next to another field of digits.
_FIELDS = {
    **{"Y": ("year", r"\d{4}"), "y": ("year2", r"\d{2}"), "G": ("year", r"\d{4}")},
    **{
        "Q": ("half_year", "[12]"),
        "m": ("month", r"\d{1,2}"),
        "d": ("day", r"\d{1,2}"),
        "j": ("ordinal", r"\d{3}"),
    },
    **{"e": ("day", r"\d{1,2}"), "q": ("quarter", r"[1-4]"), "V": ("week", r"\d{1,2}")},
    **{"u": ("weekday", r"[1-7]"), "f": ("fraction", r"\d{1,9}"), "p": ("half", r"[ap]m")},
    **{"H": ("hour", r"\d{1,2}"), "I": ("hour", r"\d{1,2}"), "M": ("minute", r"\d{1,2}")},
    **{"S": ("second", r"\d{1,2}"), "z": ("offset", r"z|[+-]\d{2}(?::?\d{2})?(?::?\d{2})?")},
    **{
        "b": ("month", r"<\d{1,2}>\.??"),
        "B": ("month", r"<\d{1,2}>\.??"),
        "Z": ("zone", r"\w+/[\w/]+"),
    },
    **{"a": ("", r"[^\W\d]+\.?"), "A": ("", r"[^\W\d]+\.?"), "%": ("", "%")},
}
_WHOLE = {"T": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "h": "%b", "n": " "}
_CLOCK = (
    r"(?:[\s,_t:-]+(?:(?P<half_before>[ap]m)\s*)?(?P<hour>\d{1,2})"
    r"(?:[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2}(?=\D|$))(?:[.,:](?P<fraction>\d{1,9}))?)?)?"
    r"\s*(?:h|uhr)?\s*(?P<half>[ap]m(?![a-z]))?"
    r"\s*(?P<offset>z|[+-]\d{2}(?::?\d{2})?)?\s*(?:\[?(?P<zone>\w+/[\w/+-]+)\]?)?)?"
)
_YEARS = (1500, 2999)  # others are counts
EARLIEST = np.datetime64("1500-01-01")
_MICROSECONDS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@dataclass(frozen=True)
class Read:
    """A column's texts, read as times in one format."""

    form: str
    times: Calendar
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all texts are times."""
        return not self.times.invalid.any()


def read_form(texts: Sequence[str], form: str, *, clock: bool = False) -> Read:
    """Read texts as times in one format, NaT for others; `clock` allows a clock time after a date.

    Texts are in lower case, with `<1>` to `<12>` for the month names of %b and %B. In addition to
    `strptime`, %q is a quarter, %Q a half-year, and %G-W%V needs no day of the week.

    Raises:
        RequestError: an unknown directive.
    """
    fields = _Fields(form_pattern(form, clock=clock), texts)
    year, notes = fields.years()
    day, valid = _days(year, fields)
    microseconds, clock_valid = _clock(fields)
    valid &= clock_valid & fields.known
    local = np.where(valid, day.astype("M8[us]") + microseconds, np.datetime64("NaT"))
    times = _with_offsets(local.astype("M8[us]"), fields)
    if np.any(fields.numbers("hour", 0)[valid] == 24):
        times = replace(times, clock=True)
        notes = (*notes, "24:00 is read as 00:00 of the next day.")
    return Read(form, times, notes if valid.any() else ())


@lru_cache(maxsize=256)
def form_pattern(form: str, *, clock: bool = False) -> re.Pattern[str]:
    """Return the pattern of texts in a format; raises `RequestError` for an unknown directive.

    With `clock`, a clock time may follow if the format has a day but no hour.
    """
    for short, whole in _WHOLE.items():
        form = form.replace(f"%{short}", whole)
    parts = re.split(r"(%.?)", form)  # texts at even places, directives between them
    seen: set[str] = set()
    for at in range(1, len(parts), 2):
        name, digits = _FIELDS.get(parts[at][1:], ("", ""))
        if not digits or name in seen:
            raise RequestError(_refusal(form, parts[at], again=bool(digits)))
        inner = parts[max(at - 1, 1) : at + 2] if at > 1 else parts[at : at + 2]
        if "" in inner[:-1] or (inner[-1] == "" and at + 2 < len(parts)):
            digits = digits.replace(r"\d{1,", r"\d{")  # adjacent fields need a fixed length
        seen |= {name} - {""}
        parts[at] = f"(?P<{name}>{digits})" if name else digits
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(\\ |\s)+", r"\\s+", re.escape(parts[at].casefold()))
    is_day = bool(seen & {"day", "ordinal", "weekday"}) and "hour" not in seen
    return re.compile("".join(parts) + (_CLOCK if clock and is_day else ""))


def _refusal(form: str, directive: str, *, again: bool) -> str:
    if again:
        return f"task.time_format={form}: {directive} repeats a directive; use each one once."
    known = " ".join(f"%{letter}" for letter in _FIELDS)
    return f"task.time_format={form}: unknown directive {directive}. Directives are: {known}."


class _Fields:
    """The fields of a pattern in each text; equal texts are matched once."""

    def __init__(self, pattern: re.Pattern[str], texts: Sequence[str]):
        places = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        self._places = np.array([places[text] for text in texts])
        self._found = [pattern.fullmatch(text) for text in places]
        self.names = {*pattern.groupindex}
        self.known = np.array([match is not None for match in self._found])[self._places]

    def _each(self, name: str) -> list[str]:
        """Return a field of each distinct text; "" if the text doesn't have it."""
        if name not in self.names:
            return [""] * len(self._found)
        return [(match[name] or "") if match else "" for match in self._found]

    def texts(self, name: str) -> np.ndarray:
        """Return a field of each text as text; "" if the text doesn't have it."""
        return np.array(self._each(name))[self._places]

    def numbers(self, name: str, default: int) -> np.ndarray:
        """Return a field of each text as a number."""
        if name not in self.names:
            return np.full(len(self._places), default)
        found = [int(text.strip("<>.")) if text else default for text in self._each(name)]
        return np.array(found)[self._places]

    def years(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the years, and a note if their century is a guess."""
        if "year2" not in self.names:
            return self.numbers("year", 1970), ()
        years, known = self.numbers("year2", 0), self.known
        if known.any():
            years[known] = _full_years(years[known])
        ends = dict.fromkeys([years[known].min(), years[known].max()] if known.any() else [])
        return years, (f"Years of two digits are read as {' to '.join(map(str, ends))}.",)


def _full_years(years: np.ndarray) -> np.ndarray:
    """Complete years of two digits: in the latest century that puts none into the future.

    Years of consecutive rows differ by less than 50, so 2000 follows 1999.
    """
    continuous = np.unwrap(years.astype(float), period=100).round().astype(int)
    today = datetime.date.today().year
    return continuous + 100 * ((today - continuous.max()) // 100)


def _days(year: np.ndarray, fields: _Fields) -> tuple[np.ndarray, np.ndarray]:
    """Return each text's day, datetime64[D], and whether the day exists."""
    valid = (year >= _YEARS[0]) & (year <= _YEARS[1])
    first = (np.where(valid, year, 1970) - 1970).astype("M8[Y]")
    if "week" in fields.names:
        week, weekday = fields.numbers("week", 1), fields.numbers("weekday", 1)
        monday = _first_monday(first) + 7 * (week - 1)
        following = _first_monday(first + 1)
        return monday + (weekday - 1), valid & (week >= 1) & (monday < following)
    if "ordinal" in fields.names:
        day = first.astype("M8[D]") + (fields.numbers("ordinal", 1) - 1)
        return day, valid & (day.astype("M8[Y]") == first) & (fields.numbers("ordinal", 1) > 0)
    month = fields.numbers("month", 1)
    if "quarter" in fields.names:
        month = 3 * fields.numbers("quarter", 1) - 2
    elif "half_year" in fields.names:
        month = 6 * fields.numbers("half_year", 1) - 5
    day, of_month = fields.numbers("day", 1), first.astype("M8[M]") + (month - 1)
    found = of_month.astype("M8[D]") + (day - 1)
    valid &= (month >= 1) & (month <= 12) & (day >= 1) & (found.astype("M8[M]") == of_month)
    return found, valid


def _first_monday(year: np.ndarray) -> np.ndarray:
    """Return the Monday of a year's first ISO week, the one with January 4."""
    fourth = year.astype("M8[D]") + 3
    return fourth - (fourth.astype(int) + 3) % 7  # day 0, 1970-01-01, was a Thursday


def _clock(fields: _Fields) -> tuple[np.ndarray, np.ndarray]:
    """Return each text's time of day, and whether the time exists; 24:00 is the end of the day."""
    hour = fields.numbers("hour", 0)
    minute, second = fields.numbers("minute", 0), fields.numbers("second", 0)
    half = np.char.add(fields.texts("half"), fields.texts("half_before")).astype("U1")
    hour = np.where((half != "") & (hour <= 12), hour % 12 + 12 * (half == "p"), hour)
    fraction = np.zeros(len(hour), int)
    if "fraction" in fields.names:
        fraction = np.array([int(text[:6].ljust(6, "0")) for text in fields.texts("fraction")])
    length = hour * _MICROSECONDS["hour"] + minute * _MICROSECONDS["minute"]
    length = length + second * _MICROSECONDS["second"] + fraction
    valid = (minute < 60) & (second < 60) & (length <= 24 * _MICROSECONDS["hour"])
    return length.astype("m8[us]"), valid


def _with_offsets(local: np.ndarray, fields: _Fields) -> Calendar:
    """Add UTC offsets or the zone to times; if some times have one, those without become NaT."""
    offsets, zones = fields.texts("offset"), [*{*fields.texts("zone")} - {""}]
    zone, valid = _zone(zones[0]) if len(zones) == 1 else "", ~np.isnat(local)
    if np.any(offsets != ""):
        offset = np.array([_offset(text) for text in offsets])
        return Calendar(np.where(np.isnat(offset), np.datetime64("NaT"), local), offset, zone)
    if not zone:
        return Calendar(np.full_like(local, np.datetime64("NaT")) if zones else local)
    offset = np.full(len(local), np.timedelta64("NaT"), "m8[us]")
    offset[valid] = zone_offsets(local[valid], zone)
    return Calendar(np.where(np.isnat(offset), np.datetime64("NaT"), local), offset, zone)


def _zone(name: str) -> str:
    """Return a time zone's name as its database spells it; "" if there is no such zone."""
    return next((each for each in zoneinfo.available_timezones() if each.casefold() == name), "")


def _offset(text: str) -> np.timedelta64:
    if not text:
        return np.timedelta64("NaT", "us")
    digits = re.sub(r"\D", "", text).ljust(4, "0")
    minutes = 60 * int(digits[:2]) + int(digits[2:4])
    return np.timedelta64(-minutes if text[0] == "-" else minutes, "m").astype("m8[us]")
