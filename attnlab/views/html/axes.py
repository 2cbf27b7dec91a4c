"""Axes: from values to places, and ticks that read well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from attnlab.views.records import Known
from attnlab.views.scales import are_times, is_wide, steps_of_decades

_NEAREST = 60.0  # the fewest pixels between two ticks
_ROOM = 0.04  # of an axis, beyond the values
_TIMES = 8  # most ticks at times
MOST_DIGITS = 15  # that float64 has of every number


class Scale(NamedTuple):
    """An axis: the value `low` is at the pixel `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self, nearest: float = _NEAREST) -> list[tuple[float, str]]:
        """Round values inside, and how they are written."""
        most = max(2, int(abs(self.end - self.start) / nearest))
        values = _decades(self.low, self.high) if self.logarithmic else []
        if len(values) < 2:
            step = _step(self.high - self.low, most)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            values = [
                float(f"{number * step:.{MOST_DIGITS}g}") for number in range(first, last + 1)
            ]
        values = values[:: max(1, math.ceil((len(values) - 1) / most))]
        return [(value, f"{value:.{MOST_DIGITS}g}") for value in values]


def scale(values: Iterable[float], start: float, end: float, logarithmic: bool = False) -> Scale:
    """Return an axis with room for all values; logarithmic if that is allowed and `is_wide`."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if logarithmic and is_wide(known):
        room = (high / low) ** _ROOM
        return Scale(low / room, high * room, start, end, True)
    room = _ROOM * (high - low) or 0.1 * abs(high) or 1.0
    return Scale(low - room, high + room, start, end)


def is_known(value: Known) -> TypeGuard[float]:
    """Whether there is a value."""
    return value is not None and math.isfinite(value)


def short_number(value: Known, digits: int) -> float | int | None:
    """Return a number for JSON, with `digits` significant digits; None if it is unknown."""
    if not is_known(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def digits_of(values: Iterable[Known], least: int) -> int:
    """Return how many digits show differences between values: `least` or more, up to float64's."""
    known = [value for value in values if is_known(value)]
    size, spread = max(map(abs, known), default=0.0), max(known, default=0) - min(known, default=0)
    if not 0 < spread < math.inf:
        return least
    return min(least + max(0, math.floor(math.log10(size / spread))), MOST_DIGITS)


def time_ticks(names: Sequence[str]) -> list[tuple[float, str]]:
    """Return ticks at the first row of a year or month; rows are named by times, as 1983-06-30.

    Other names get ticks at equal distances.
    """
    for length in (4, 7, 10, 13) if are_times(names) else ():
        heads = [name[:length] for name in names]
        new = [n for n in range(1, len(heads)) if heads[n] != heads[n - 1]]
        if len(new) < 3 or not heads[0].replace("-", "").replace("T", "").isdigit():
            continue
        every = next(k for k in (1, 2, 5, 10, 20, 50, 100, 500, len(new)) if len(new) <= _TIMES * k)
        if length == 4:
            new = [n for n in new if int(heads[n]) % every == 0] or new[::every]
        else:
            new = new[::every]
        return [(float(n), heads[n]) for n in new]
    every = max(1, math.ceil(len(names) / (_TIMES - 2)))
    return [(float(n), names[n]) for n in range(0, len(names), every)]


def _step(span: float, most: int) -> float:
    """Return the smallest of ..., 1, 2, 5, 10, ... that fits into `span` at most `most` times."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * step for step in (1, 2, 5, 10) if span / (power * step) <= most)


def _decades(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = steps_of_decades(low, high)
    values = [float(f"{step * 10.0**power:.10g}") for power in powers for step in steps]
    return [value for value in values if low <= value <= high]
