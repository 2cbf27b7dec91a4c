"""What axes of pictures and pages have in common: when they are logarithmic, and times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from attnlab.views.records import Intervals

_LOGARITHMIC = 10.0  # from how many times the smallest value an axis is logarithmic
_NEAR = 3.0  # times the span of values: a line farther away is left out
_TIME = re.compile(r"\d{4}(-\d\d|$)")  # how a year, a month or a moment begins


def is_wide(values: Iterable[float]) -> bool:
    """Whether values are above 0 and span more than a decade."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > _LOGARITHMIC * min(known)


def are_times(names: Sequence[str]) -> bool:
    """Whether all names are dates such as 1983, 1983-06 or 1983-06-30 12:00."""
    return all(map(_TIME.match, names))


def near_lines(record: Intervals) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The lines that leave groups room to differ in, and those too far away to be drawn."""
    values = [value for row in record.rows for value in row.values]
    if len(values) <= 1:  # there is nothing else to see
        return list(record.lines), []
    low, high = min(values), max(values)
    if record.logarithmic and is_wide(values):
        low, high = low / _LOGARITHMIC, high * _LOGARITHMIC
    else:
        room = _NEAR * max(high - low, 0.02 * max(abs(low), abs(high)))
        low, high = low - room, high + room
    near = [line for line in record.lines if low <= line[1] <= high]
    return near, [line for line in record.lines if line not in near]
