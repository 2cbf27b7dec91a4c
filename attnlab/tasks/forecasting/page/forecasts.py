"""Forecasts of the test part beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.parts import Chart, Curve, Part, Text, chosen
from attnlab.page.scales import time_ticks
from attnlab.tasks.base import Shown
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import (
    along_time,
    first_steps,
    rows_of,
    spread_series,
)

_MOST = 600  # targets of a chart
_MOST_SERIES = 8
_MOST_SHOWN = 2  # of the runs at first, for they lie above each other
_COLUMNS = ("index", "time", "step", "target", "prediction")
Columns = Mapping[str, np.ndarray]


def forecast_parts(shown: Sequence[Shown]) -> list[Part]:
    """A chart of all runs where they forecast the same targets in time, else one for each."""
    parts: list[Part] = []
    tables: list[tuple[Shown, Columns]] = []
    for run in shown:
        try:
            tables.append((run, _read(run)))
        except RequestError as error:
            parts.append(Text(f"{run.label}: no forecasts: {error}", "warning"))
    if not tables:
        return parts
    if any("id" in own for _, own in tables):
        return [*parts, *_by_series(tables)]
    if _same(tables):
        return [*parts, *_charts(tables)]
    return [*parts, *chosen({run.label: _charts([(run, own)]) for run, own in tables})]


def _by_series(tables: Sequence[tuple[Shown, Columns]]) -> Sequence[Part]:
    """Some series of the first run that has several, each with all runs that have it."""
    run = next(run for run, own in tables if "id" in own)
    found = {}
    for name in spread_series(run.metrics, _MOST_SERIES):
        own = [(each, rows_of(columns, name)) for each, columns in tables if "id" in columns]
        own = [(each, columns) for each, columns in own if len(columns["step"])]
        found[name] = _charts(own if _same(own) else own[:1])
    return chosen(found)


def _read(run: Shown) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    lacking = [name for name in _COLUMNS if name not in columns]
    numbers = [columns[name].dtype.kind in "if" for name in _COLUMNS if name in columns]
    if lacking or sum(numbers) < len(_COLUMNS) - 1 or not len(columns["step"]):
        raise RequestError(f"{run.run.path / 'predictions.csv'}: damaged: expected forecasts.")
    return columns


def _same(tables: Sequence[tuple[Shown, Columns]]) -> bool:
    first = tables[0][1]
    alike = all(
        np.array_equal(first[name], own[name]) for _, own in tables for name in ("index", "target")
    )
    return alike and along_time(*(first_steps(first)[name] for name in ("index", "time")))


def _charts(tables: Sequence[tuple[Shown, Columns]]) -> list[Part]:
    """Of runs with the same targets: forecasts one step ahead, and the errors of all steps."""
    rows = [(run, first_steps(columns)) for run, columns in tables]
    first = rows[0][1]
    steps = int(tables[0][1]["step"].max())
    if along_time(first["index"], first["time"]):
        parts = _along_time(rows, steps)
    else:
        parts = [_against_target(run, own) for run, own in rows]
    return [*parts, *([_by_step(tables, steps)] if steps > 1 else [])]


def _along_time(rows: Sequence[tuple[Shown, Columns]], steps: int) -> list[Part]:
    first = rows[0][1]
    count = len(first["target"])
    names = [str(time) for time in first["time"]][-_MOST:]
    curves = [Curve("target", _values(first["target"]), None)]
    for number, (run, own) in enumerate(rows):
        shown = number < _MOST_SHOWN
        alone = len(rows) == 1 and "low" in own
        band = (_values(own["low"]), _values(own["high"])) if alone else (None, None)
        curves.append(Curve(run.label, _values(own["prediction"]), run.colour, *band, shown=shown))
    title = "Test forecasts" + (f", the first of {steps} steps" if steps > 1 else "")
    title += f", the last {_MOST:,} of {count:,}" if count > _MOST else ""
    title += ", with the 95 % interval" if curves[-1].low is not None else ""
    units = str(rows[0][0].metrics.get("units", ""))
    places, ticks = list(range(len(names))), time_ticks(names)
    return [Chart(title, "time", units, places, curves, names, ticks, wide=True)]


def _values(column: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in column[-_MOST:]]


def _against_target(run: Shown, rows: Columns) -> Part:
    """What was forecast by what came; on the line where both are the same."""
    order = np.argsort(rows["target"], kind="stable")
    if len(order) > _MOST:
        order = order[np.linspace(0, len(order) - 1, _MOST).astype(int)]
    target = [float(value) for value in rows["target"][order]]
    units = str(run.metrics.get("units", ""))
    forecast = [float(value) for value in rows["prediction"][order]]
    exact = Curve("exact", target, None, dots=True)
    made = Curve(run.label, forecast, run.colour, dots=True)
    return Chart("Test forecasts by target", f"target ({units})", "forecast", target, [made, exact])


def _by_step(tables: Sequence[tuple[Shown, Columns]], steps: int) -> Part:
    """The error of each step ahead, beside the best baseline's."""
    curves = [
        Curve(run.label, _errors(own, "prediction", steps), run.colour) for run, own in tables
    ]
    run, own = tables[0]
    baseline = str(run.metrics.get("best_baseline"))
    if baseline in own:
        curves.append(Curve(baseline, _errors(own, baseline, steps), None))
    units = str(run.metrics.get("units", ""))
    places = list(range(1, steps + 1))
    return Chart("Error by step", "step ahead", f"RMSE ({units})", places, curves)


def _errors(columns: Columns, name: str, steps: int) -> list[float | None]:
    squares = np.square(columns[name] - columns["target"])
    each = [np.sqrt(np.mean(squares[columns["step"] == step])) for step in range(1, steps + 1)]
    return [float(value) if np.isfinite(value) else None for value in each]
