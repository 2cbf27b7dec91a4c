"""Decisions that figures and pages share: logarithmic axes, what is drawn, colours and dashes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from attnlab.views.records import Curve, Intervals

COLOURS, DASHES = 7, 4  # of groups: after 7 groups the colours repeat with other dashes
_LOGARITHMIC = 10.0  # largest / smallest value from which an axis may be logarithmic
_FINE = 200.0  # largest / smallest value below which a logarithmic axis has ticks at 2 and 5
_NEAR = 3.0  # times the span of values: a line farther away is left out
_TIME = re.compile(r"\d{4}(-\d\d|$)")  # how a year, a month or a moment starts


def look(number: int) -> tuple[int, int]:
    """Return the colour and the dashes of a group, by its number."""
    return number % COLOURS, number // COLOURS % DASHES


def is_wide(values: Iterable[float]) -> bool:
    """Whether values are above 0 and span more than a decade."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > _LOGARITHMIC * min(known)


def steps_of_decades(low: float, high: float) -> tuple[int, ...]:
    """Return the multiples of powers of 10 at which a logarithmic axis has ticks."""
    return (1, 2, 5) if high < _FINE * low else (1,)


def are_times(names: Sequence[str]) -> bool:
    """Whether all names are dates such as 1983, 1983-06 or 1983-06-30 12:00."""
    return all(map(_TIME.match, names))


def values_of_curves(curves: Iterable[Curve]) -> list[float]:
    """Return all finite values of curves, and the edges of their bands."""
    columns = [column for c in curves for column in (c.y, c.low, c.high) if column is not None]
    values = np.array([value for column in columns for value in column], np.float64)
    return values[np.isfinite(values)].tolist()


def values_of_intervals(record: Intervals) -> list[float]:
    """Return the values of all groups, their means, and the ends of their intervals."""
    known = [v for row in record.rows for v in (*row.values, row.mean, row.low, row.high)]
    return [value for value in known if value is not None]


def is_logarithmic(record: Intervals) -> bool:
    """Whether the axis of intervals is logarithmic: as its groups need, or the lines of one run."""
    lines = [value for _, value in record.lines] if _is_lone(record) else []
    return record.logarithmic and is_wide([*values_of_intervals(record), *lines])


def _is_lone(record: Intervals) -> bool:
    return sum(len(row.values) for row in record.rows) <= 1


def near_lines(record: Intervals) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Separate the lines that leave groups room to differ from those too far away to draw."""
    if _is_lone(record):  # there is nothing else to see
        return list(record.lines), []
    values = [value for row in record.rows for value in row.values]
    low, high = min(values), max(values)
    if is_logarithmic(record):
        low, high = low / _LOGARITHMIC, high * _LOGARITHMIC
    else:
        room = _NEAR * max(high - low, 0.02 * max(abs(low), abs(high)))
        low, high = low - room, high + room
    near = [line for line in record.lines if low <= line[1] <= high]
    return near, [line for line in record.lines if line not in near]
