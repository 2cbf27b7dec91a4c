"""Read series from a CSV file, in order of time and equally spaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.reading.columns import TimeColumns
from attnlab.tasks.forecasting.data.reading.ids import likely_ids, rows_by_id, several_series
from attnlab.tasks.forecasting.data.reading.rows import Columns, Reading, read_columns
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.times import Calendar, Counts
from attnlab.tasks.forecasting.data.writing.layout import layout_of

_MOST_STEPS = 10  # most steps per row if gaps are filled


def read_series(
    path: str | Path,
    column: str | int | None = None,
    time_column: str | int | Sequence[str | int] | None = None,
    reading: Reading | None = None,
) -> TimeSeries:
    """Read one column of a CSV file as a series; see `read_panel`, which raises the same."""
    (series,) = read_panel(path, column, time_column, reading)
    return series


def read_panel(
    path: str | Path,
    column: str | int | None = None,
    time_column: str | int | Sequence[str | int] | None = None,
    reading: Reading | None = None,
) -> list[TimeSeries]:
    """Read one column of a CSV file as a series, or as a series per id if `reading` has ids.

    Series are returned in the order in which the file first names them.

    Raises:
        RequestError: see `read_columns` and `series_of`.
    """
    reading = reading or Reading()
    columns = read_columns(path, column, time_column, reading)
    layout = layout_of(columns.table, columns.place, columns.times, columns.id_places)
    found = []
    for ids, rows in rows_by_id(columns.table, columns.id_places).items():
        try:
            series = series_of(columns.take(rows) if ids else columns, reading)
        except RequestError as error:
            raise RequestError(
                f"{error} (series {'/'.join(ids)})" if ids else str(error)
            ) from error
        found.append(replace(series, ids=ids, layout=layout))
    return found


def series_of(columns: Columns, reading: Reading) -> TimeSeries:
    """Make a series of rows, which must be equally spaced after sorting by time.

    Raises:
        RequestError: a time is repeated or missing, or the first or last row lacks a number.
    """
    path = columns.table.path
    rows = _Timed(columns.numbers, [*map(str, range(len(columns.numbers)))], notes=columns.notes)
    if columns.times is not None:
        rows = _in_order(columns, columns.times, reading)
    filled = np.isnan(rows.numbers).any(axis=1)
    rows = _interpolated(path, rows) if filled.any() else rows
    return TimeSeries(
        values=rows.numbers[:, 0],
        times=rows.labels,
        name=columns.table.header[columns.place],
        source=str(path),
        inputs=rows.numbers[:, 1:] if reading.inputs else None,
        step=rows.step or None,
        filled=filled if filled.any() else None,
        notes=rows.notes,
    )


@dataclass(frozen=True)
class _Timed:
    numbers: np.ndarray  # (n, 1 + K), NaN: to be interpolated
    labels: list[str]
    step: str = ""
    notes: tuple[str, ...] = ()


def _in_order(columns: Columns, found: TimeColumns, reading: Reading) -> _Timed:
    """Sort rows by time, and check that they are equally spaced."""
    place = f"{columns.table.path}: column {found.name!r}"
    if len(columns.numbers) == 1:  # of one of several series
        return _Timed(columns.numbers, found.texts, notes=columns.notes)
    lines, instants = columns.lines, found.times.instants
    order = np.argsort(instants, kind="stable")
    doubled = np.flatnonzero(instants[order][1:] == instants[order][:-1])
    if len(doubled):
        first, second = order[doubled[0] : doubled[0] + 2]
        more = f" ({len(doubled)} such times)" if len(doubled) > 1 else ""
        advice = "task.time_column=null takes the rows in file order"
        if ids := _other_ids(columns, found):
            advice = several_series(ids)
        raise RequestError(
            f"{place}: expected each time once, but rows {lines[first]} and {lines[second]} both "
            f"have {found.texts[first]}{more}; {advice}"
        )
    notes = columns.notes
    if np.any(order[1:] < order[:-1]):
        newest_first = np.all(order[1:] < order[:-1])
        how = "newest first" if newest_first else "out of order"
        notes = (*notes, f"{place}: the rows are {how}, so they were sorted.")
    times, step = found.times.take(order).regular()
    rows = _Timed(columns.numbers[order], times.labels(step), step, notes)
    return _on_grid(place, rows, times, lines[order], reading.missing)


def _other_ids(columns: Columns, found: TimeColumns) -> list[str]:
    """Return columns that would distinguish rows of the same time; see `likely_ids`."""
    table, given = columns.table, columns.id_places
    every = columns.every_time or found
    taken = {*every.places} if columns.by_default else {columns.place, *every.places}
    return likely_ids(table, every.times.instants, taken, given)


def _on_grid(
    place: str, rows: _Timed, times: Calendar | Counts, lines: np.ndarray, missing: str
) -> _Timed:
    """Check that rows are equally spaced; if `missing` is "interpolate", fill gaps with NaN."""
    gaps = times.gaps(rows.step)
    if not len(gaps):
        return rows
    first, expected = gaps[0], times.after(rows.step)
    wanted = expected.labels(rows.step)[first - 1]
    advice = "task.missing=interpolate fills gaps"
    length = (times.axis[-1] - times.axis[0]) / (expected.axis[0] - times.axis[0])
    if missing == "interpolate" and length <= _MOST_STEPS * len(lines):
        grid = times.grid(rows.step)
        if np.isin(times.axis, grid.axis).all():
            numbers = np.full((len(grid), rows.numbers.shape[1]), math.nan)
            numbers[np.isin(grid.axis, times.axis)] = rows.numbers
            return replace(rows, numbers=numbers, labels=grid.labels(rows.step))
        first, advice = (
            int(np.isin(times.axis, grid.axis).argmin()),
            "only gaps of whole steps can be filled",
        )
        wanted = f"a time of the step {rows.step}"
    several = f" ({len(gaps)} such places)" if len(gaps) > 1 else ""
    raise RequestError(
        f"{place}, row {lines[first]}: expected {wanted} after {rows.labels[first - 1]}, got "
        f"{rows.labels[first]}{several}; {advice}, task.time_column=null takes rows in file order"
    )


def _interpolated(path: Path, rows: _Timed) -> _Timed:
    """Replace missing numbers by linear interpolation."""
    import pandas as pd

    lacking = np.isnan(rows.numbers).any(axis=1)
    if lacking[0] or lacking[-1]:
        raise RequestError(
            f"{path}: the first or the last row has a gap; task.missing=interpolate needs a "
            "number before and after each gap"
        )
    note = (
        f"{lacking.sum()} of {len(lacking)} rows are interpolated, the first is "
        f"{rows.labels[lacking.argmax()]}; no window forecasts one or ends with one."
    )
    numbers = pd.DataFrame(rows.numbers).interpolate().to_numpy()
    return replace(rows, numbers=numbers, notes=(*rows.notes, note))
