"""Write forecasts as lines, or as a CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from attnlab.tasks.forecasting.data.time_series import TimeSeries


class Ahead(NamedTuple):
    """The forecast of one series."""

    origin: TimeSeries
    times: Sequence[str]  # in ISO 8601
    columns: dict[str, np.ndarray]  # `forecast` and, if known, `low` and `high`; NaN: not known


def lines(forecasts: Sequence[Ahead]) -> Iterator[str]:
    """Yield the lines to print, with cells separated by tabs."""
    for ahead in forecasts:
        ids = [ahead.origin.id] if ahead.origin.id else []
        digits = _digits(ahead)
        for time, *numbers in zip(ahead.times, *ahead.columns.values(), strict=True):
            shown = (f"{number:.{digits}g}" for number in numbers if not math.isnan(number))
            yield "\t".join([*ids, time, *shown])


def csv_of(forecasts: Sequence[Ahead]) -> str:
    """Return a CSV with the columns id, time, forecast, low and high; unknown cells are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "time", "forecast", "low", "high"])
    for ahead in forecasts:
        digits = _digits(ahead)
        for step, time in enumerate(ahead.times):
            row = [ahead.columns[name][step] if name in ahead.columns else math.nan for name in
                   ("forecast", "low", "high")]  # fmt: skip
            cells = ["" if math.isnan(number) else f"{number:.{digits}g}" for number in row]
            writer.writerow([ahead.origin.id, time, *cells])
    return stream.getvalue()


def _digits(ahead: Ahead) -> int:
    """Return how many digits show the range of a forecast's numbers with four digits: 6 to 15."""
    numbers = [x for column in ahead.columns.values() for x in column if not math.isnan(x)]
    size, spread = max(map(abs, numbers)), max(numbers) - min(numbers)
    if not 0 < spread < math.inf:
        return 6
    return min(max(6, 4 + math.floor(math.log10(size)) - math.floor(math.log10(spread))), 15)
