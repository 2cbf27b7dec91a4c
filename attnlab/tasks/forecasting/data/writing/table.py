"""Write forecasts as lines, or as a CSV in the format of the run's file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from attnlab.tasks.forecasting.data.origin import Origin
    from attnlab.tasks.forecasting.data.writing.layout import Layout


class Ahead(NamedTuple):
    """The forecast of one series."""

    origin: Origin
    times: list[str]  # labels
    columns: dict[str, np.ndarray]  # `forecast` and, if known, `low` and `high`; NaN: not known


def lines(found: Sequence[Ahead]) -> Iterator[str]:
    """Yield the lines to print, with cells separated by tabs."""
    for ahead in found:
        ids = [ahead.origin.id] if ahead.origin.id else []
        digits = _digits(_known(ahead))
        for time, *numbers in zip(ahead.times, *ahead.columns.values(), strict=True):
            shown = (f"{each:.{digits}g}" for each in numbers if each == each)
            yield "\t".join([*ids, time, *shown])


def header_of(found: Sequence[Ahead], layout: Layout) -> list[str]:
    """Return the column names; `low` and `high` get a prefix if the file uses these names."""
    first = found[0]
    ids = layout.ids if first.origin.id else ()
    header = [*ids, *layout.time_names(), layout.value]
    for name in first.columns:
        if name != "forecast":
            header.append(f"{layout.value} {name}" if name in header else name)
    return header


def csv_of(found: Sequence[Ahead], layout: Layout) -> str:
    """Return a CSV in the format of the file that the series come from."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=layout.separator, lineterminator="\n")
    writer.writerow(header_of(found, layout))
    for ahead in found:
        decimals = decimals_of(ahead)
        for time, *numbers in zip(ahead.times, *ahead.columns.values(), strict=True):
            cells = [layout.number(_written(each, decimals)) for each in numbers]
            writer.writerow([*ahead.origin.ids, *layout.time_cells(time), *cells])
    return stream.getvalue()


def _known(ahead: Ahead) -> list[float]:
    return [each for column in ahead.columns.values() for each in column if each == each]


def decimals_of(ahead: Ahead) -> int:
    """Return the number of decimals of a forecast, at most 15; see `_digits`.

    Three become two: 1,234 could be read as a whole number.
    """
    numbers = _known(ahead)
    largest = max(map(abs, numbers), default=0.0) or 1.0
    decimals = min(max(0, _digits(numbers) - 1 - math.floor(math.log10(largest))), 15)
    return 2 if decimals == 3 else decimals


def _written(number: float, decimals: int) -> str:
    return "" if number != number else f"{number:.{decimals}f}"


def _digits(numbers: Sequence[float]) -> int:
    """Return how many digits show the numbers' range with four digits: 6 to 15."""
    size = max(map(abs, numbers), default=0.0)
    spread = max(numbers, default=0.0) - min(numbers, default=0.0)
    if not 0 < spread < math.inf:
        return 6
    return min(max(6, 4 + math.floor(math.log10(size)) - math.floor(math.log10(spread))), 15)
