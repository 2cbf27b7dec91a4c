"""Forms of times: text to fields, and fields to times, in the letters of `strptime`."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.times import Calendar, zone_offsets

# Directive -> (name of the field, pattern); digits have no fixed number unless digits are adjacent.
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
    **{"b": ("month", r"<\d{1,2}>"), "B": ("month", r"<\d{1,2}>"), "Z": ("zone", r"\w+/[\w/]+")},
    **{"a": ("", r"[^\W\d]+\.?"), "A": ("", r"[^\W\d]+\.?"), "%": ("", "%")},
}
_WHOLE = {"T": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "h": "%b", "n": " "}
_CLOCK = (
    r"(?:[\s,_t:-]+(?:(?P<half_before>[ap]m)\s*)?(?P<hour>\d{1,2})"
    r"(?:[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2}(?=\D|$))(?:[.,:](?P<fraction>\d{1,9}))?)?)?"
    r"\s*(?:h|uhr)?\s*(?P<half>[ap]m)?"
    r"\s*(?P<offset>z|[+-]\d{2}(?::?\d{2})?)?\s*(?:\[?(?P<zone>\w+/[\w/+-]+)\]?)?)?"
)
_MICROSECONDS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@dataclass(frozen=True)
class Read:
    """What a form makes of a column's texts."""

    form: str
    times: Calendar
    notes: tuple[str, ...] = ()


def read_form(texts: Sequence[str], form: str, *, clock: bool = False) -> Read:
    """Texts in one form as times, NaT for others; with `clock`, a clock time may follow each date.

    Months are given as `<1>` to `<12>` for %b and %B, letters in lower case. To the directives of
    `strptime` come %q, a quarter, and %G-W%V without a day of the week.

    Raises:
        RequestError: an unknown directive.
    """
    pattern = form_pattern(form, clock=clock)
    found = [pattern.fullmatch(text) for text in texts]
    fields = _Fields(pattern, found)
    year, notes = fields.years()
    day, valid = _days(year, fields)
    microseconds, clock_valid = _clock(fields)
    valid &= clock_valid & np.array([match is not None for match in found], bool)
    local = np.where(valid, day.astype("M8[us]") + microseconds, np.datetime64("NaT"))
    return Read(form, _with_offsets(local.astype("M8[us]"), fields), notes if valid.any() else ())


@lru_cache(maxsize=256)
def form_pattern(form: str, *, clock: bool = False) -> re.Pattern[str]:
    """The pattern of texts in a form; raises `RequestError` for an unknown directive.

    With `clock`, a clock time may follow a form that is exact to the day.
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
            digits = digits.replace(r"\d{1,", r"\d{")  # no mark says where it ends
        seen |= {name} - {""}
        parts[at] = f"(?P<{name}>{digits})" if name else digits
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(\\ |\s)+", r"\\s+", re.escape(parts[at].casefold()))
    is_day = bool(seen & {"day", "ordinal", "weekday"}) and "hour" not in seen
    return re.compile("".join(parts) + (_CLOCK if clock and is_day else ""))


def _refusal(form: str, directive: str, *, again: bool) -> str:
    if again:
        return f"task.time_format: expected each directive once, got {directive} again in {form!r}."
    known = " ".join(f"%{letter}" for letter in _FIELDS)
    return f"task.time_format: expected directives among {known}, got {directive} in {form!r}."


class _Fields:
    """The fields of a pattern in each text."""

    def __init__(self, pattern: re.Pattern[str], found: Sequence[re.Match[str] | None]):
        self.found, self.names = found, {*pattern.groupindex}

    def texts(self, name: str) -> list[str | None]:
        """A field as text; None if a text doesn't have it."""
        if name not in self.names:
            return [None] * len(self.found)
        return [match and match[name] for match in self.found]

    def numbers(self, name: str, default: int) -> np.ndarray:
        """A field as numbers."""
        if name not in self.names:
            return np.full(len(self.found), default)
        return np.array([int(text.strip("<>")) if text else default for text in self.texts(name)])

    def years(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """The years, and a note if their century was chosen."""
        if "year2" not in self.names:
            return self.numbers("year", 1970), ()
        known = np.array([match is not None for match in self.found], bool)
        years = self.numbers("year2", 0)
        if known.any():
            years[known] = _full_years(years[known])
        ends = dict.fromkeys([years[known].min(), years[known].max()] if known.any() else [])
        return years, (f"Years of two digits are read as {' to '.join(map(str, ends))}.",)


def _full_years(years: np.ndarray) -> np.ndarray:
    """Years of two digits in the latest century that has none in the future.

    From row to row a year moves by less than 50 years, so that 00 follows 99.
    """
    continuous = np.unwrap(years.astype(float), period=100).round().astype(int)
    today = datetime.date.today().year
    return continuous + 100 * ((today - continuous.max()) // 100)


def _days(year: np.ndarray, fields: _Fields) -> tuple[np.ndarray, np.ndarray]:
    """Each text's day, datetime64[D], and whether there is such a day."""
    valid = (year >= 1) & (year <= 9999)
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
    """The Monday of a year's first ISO week, the one with January 4."""
    fourth = year.astype("M8[D]") + 3
    return fourth - (fourth.astype(int) + 3) % 7  # day 0, 1970-01-01, was a Thursday


def _clock(fields: _Fields) -> tuple[np.ndarray, np.ndarray]:
    """Each text's time of day, and whether there is such a time; 24:00 ends the day."""
    hour = fields.numbers("hour", 0)
    minute, second = fields.numbers("minute", 0), fields.numbers("second", 0)
    halves = zip(fields.texts("half"), fields.texts("half_before"), strict=True)
    half = np.array([(after or before or "")[:1] for after, before in halves])
    hour = np.where((half != "") & (hour <= 12), hour % 12 + 12 * (half == "p"), hour)
    fraction = [int((text or "0")[:6].ljust(6, "0")) for text in fields.texts("fraction")]
    length = hour * _MICROSECONDS["hour"] + minute * _MICROSECONDS["minute"]
    length = length + second * _MICROSECONDS["second"] + np.array(fraction, int)
    valid = (minute < 60) & (second < 60) & (length <= 24 * _MICROSECONDS["hour"])
    return length.astype("m8[us]"), valid


def _with_offsets(local: np.ndarray, fields: _Fields) -> Calendar:
    """The times with their offsets or zone; those without one aren't valid if others have one."""
    offsets, zones = fields.texts("offset"), {*fields.texts("zone")} - {None}
    if any(offsets):
        offset = np.array([_offset(text) for text in offsets])
        local = np.where(np.isnat(offset), np.datetime64("NaT"), local)
        return Calendar(local, offset, _zone(*zones) if len(zones) == 1 else "")
    if len(zones) != 1:
        return Calendar(local if not zones else np.full_like(local, np.datetime64("NaT")))
    zone, valid = _zone(*zones), ~np.isnat(local)
    if not zone:
        return Calendar(np.full_like(local, np.datetime64("NaT")))
    offset = np.full(len(local), np.timedelta64("NaT"), "m8[us]")
    offset[valid] = zone_offsets(local[valid], zone)
    return Calendar(np.where(np.isnat(offset), np.datetime64("NaT"), local), offset, zone)


def _zone(name: str) -> str:
    """A zone as the data base of zones spells it; nothing if there is no such zone."""
    return next((each for each in zoneinfo.available_timezones() if each.casefold() == name), "")


def _offset(text: str | None) -> np.timedelta64:
    if not text:
        return np.timedelta64("NaT", "us")
    digits = re.sub(r"\D", "", text).ljust(4, "0")
    minutes = 60 * int(digits[:2]) + int(digits[2:4])
    return np.timedelta64(-minutes if text[0] == "-" else minutes, "m").astype("m8[us]")
