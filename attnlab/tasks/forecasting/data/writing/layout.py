"""The format of a file of series, for writing forecasts in the same format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.data.csv_file import SeriesTable
from attnlab.tasks.forecasting.data.reading.columns import TimeColumns
from attnlab.tasks.forecasting.data.reading.numbers import decimal_mark
from attnlab.tasks.forecasting.data.times import Calendar, time_of
from attnlab.tasks.forecasting.data.writing.spelling import Spelling

_MOST_ROWS = 1000  # rows from which the spelling of times is learned


@dataclass(frozen=True)
class Layout:
    """The columns of a file and the format of their cells.

    Attributes:
        value: name of the series' column.
        times: names and spellings of the time columns; spelling None: like the labels.
        ids: names of the columns that name the series of each row.
        separator: between cells.
        decimal: the decimal separator.
        encoding: of the file, as Python names it.
    """

    value: str = "forecast"
    times: tuple[tuple[str, Spelling | None], ...] = (("time", None),)
    ids: tuple[str, ...] = ("id",)
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def time_names(self) -> list[str]:
        """Return the names of the time columns."""
        return [name for name, _ in self.times]

    def time_cells(self, label: str) -> list[str]:
        """Return the cells of a time, in the file's own format."""
        time = time_of(label)
        written = [
            None if time is None or spelling is None else spelling.write(time)
            for _, spelling in self.times
        ]
        if None not in written:
            return [str(cell) for cell in written]
        return [label, *[""] * (len(written) - 1)]

    def number(self, text: str) -> str:
        """Replace the point of a number by the file's decimal separator."""
        return text.replace(".", self.decimal)

    def to_json(self) -> dict[str, Any]:
        """Return the layout as a JSON object."""
        times = [[name, spelling and spelling.to_json()] for name, spelling in self.times]
        form = {"separator": self.separator, "decimal": self.decimal, "encoding": self.encoding}
        return {"value": self.value, "times": times, "ids": [*self.ids], **form}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Layout:
        """Make a layout from the result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: content that `to_json` did not write.
        """
        times = [(str(name), own and Spelling.from_json(own)) for name, own in content["times"]]
        form = {key: str(content[key]) for key in ("value", "separator", "decimal", "encoding")}
        return cls(times=tuple(times), ids=tuple(map(str, content["ids"])), **form)


def layout_of(
    table: SeriesTable, place: int, times: TimeColumns | None, id_places: Sequence[int]
) -> Layout:
    """Return the layout of a file whose series is in the column at `place`."""
    name = table.header.__getitem__
    columns = [("time", None)] if times is None else _time_columns(table, times)
    return Layout(
        value=name(place),
        times=tuple(columns),
        ids=tuple(map(name, id_places)) or ("id",),
        separator=table.separator,
        decimal=_decimal(table, place),
        encoding=table.encoding,
    )


def _time_columns(table: SeriesTable, times: TimeColumns) -> list[tuple[str, Spelling | None]]:
    """Return the time columns with their spellings; one column of labels if one has none."""
    if not isinstance(times.times, Calendar):
        return [(times.name, None)]
    rows = np.linspace(0, len(times.times) - 1, min(len(times.times), _MOST_ROWS)).astype(int)
    local = times.times.local[rows]
    found: list[tuple[str, Spelling | None]] = []
    for at in times.places:
        texts = [table.rows[row].cells[at] for row in rows]
        # Labels of monthly rows have no day.
        kinds = (local.astype("M8[M]").astype("M8[us]"), local)
        learned = (Spelling.learn(each.tolist(), texts) for each in kinds)
        found.append((table.header[at], next(filter(None, learned), None)))
    return found if all(spelling for _, spelling in found) else [(times.name, None)]


def _decimal(table: SeriesTable, place: int) -> str:
    cells = table.cells(place)
    if table.separator == ";" and not any(mark in cell for cell in cells for mark in ".,"):
        return ","  # programs that write decimal commas separate cells by semicolons
    return decimal_mark(cells, table.separator) or "."
