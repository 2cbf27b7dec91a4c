"""Draw forecasts of the test part with their targets, and forecasts of the next values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.kind import KIND
from attnlab.views.records import (
    GREY,
    INK,
    ORANGE,
    Curve,
    Curves,
    Figure,
    Mark,
    Record,
    Text,
    figure,
    tabs,
)

_MOST = 600  # targets of a chart on a page
_MOST_SERIES = 8
_MOST_SHOWN = 2  # runs that are visible at first, because curves hide each other
_COLUMNS = ("index", "time", "step", "target", "prediction")
MOST_NEXT = 6  # series of a figure of next values
BAND = "95 % interval"
Columns: TypeAlias = Mapping[str, np.ndarray]
# The start of a forecast, and its columns `forecast` and, if known, `low` and `high`, (steps,).
Next: TypeAlias = tuple[TimeSeries, Mapping[str, np.ndarray]]
# A run's label, colour and forecasts.
Forecasts: TypeAlias = tuple[str, "int | None", Columns]


def along_time(index: np.ndarray, times: np.ndarray) -> bool:
    """Return whether rows are consecutive in time: they have times, or follow a history.

    Random windows are numbered from 0 or unordered; the test part of a series is neither.
    """
    ordered = bool(np.all(np.diff(index) > 0)) and len(index) > 1
    labelled = any(str(number) != label for number, label in zip(index, times, strict=True))
    return ordered and (labelled or bool(index[0] > 0 and np.all(np.diff(index) == 1)))


def first_steps(columns: Columns) -> dict[str, np.ndarray]:
    """Return the rows of predictions.csv with step 1; all rows if there is only one window."""
    first = columns["step"] == 1
    if first.sum() == 1:
        first[:] = True
    return {name: column[first] for name, column in columns.items()}


def rows_of(columns: Columns, name: str) -> dict[str, np.ndarray]:
    """Return the rows of predictions.csv of one series."""
    rows = columns["id"] == name
    return {key: column[rows] for key, column in columns.items()}


def spread_series(metrics: Mapping[str, Any], most: int) -> list[str]:
    """Return ids of a few series, evenly spread from the best forecast to the worst."""
    metric = str(metrics["metric"])
    scores = {name: scores_of[metric] for name, scores_of in metrics["series"].items()}
    ranked = sorted(
        (name for name, scores_of in scores.items() if scores_of is not None),
        key=scores.__getitem__,
    )
    ranked = ranked or [*scores]
    places = np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(int)
    return [ranked[place] for place in places]


def along_time_chart(forecasts: Sequence[Forecasts], title: str, units: str) -> Curves:
    """Draw forecasts of runs with the same targets over time; a single run has its interval."""
    rows = forecasts[0][2]
    curves = [Curve("target", rows["target"], INK)]
    for number, (label, colour, columns) in enumerate(forecasts):
        curve = Curve(label, columns["prediction"], colour, shown=number < _MOST_SHOWN)
        if len(forecasts) == 1 and "low" in columns:
            curve = curve._replace(low=columns["low"], high=columns["high"])
        curves.append(curve)
    names = [str(time) for time in rows["time"]]
    return Curves(title, "time", units, rows["index"].tolist(), curves, names, wide=True, band=BAND)


def against_target_chart(forecasts: Forecasts, title: str, units: str) -> Curves:
    """Draw forecasts by target, and a line on which exact forecasts would be."""
    label, colour, rows = forecasts
    order = np.argsort(rows["target"], kind="stable")
    target = rows["target"][order].tolist()
    made = Curve(label, rows["prediction"][order], colour, form="dots")
    exact = Curve("exact", target, GREY)
    return Curves(title, f"target ({units})", "forecast", target, [made, exact], legend="above")


def by_step_chart(forecasts: Sequence[Forecasts], baseline: str, title: str, units: str) -> Curves:
    """Draw the error of each step ahead, and that of the best baseline."""
    first = forecasts[0][2]
    steps = int(first["step"].max())
    curves = []
    rows = [(label, colour, columns, "prediction") for label, colour, columns in forecasts]
    rows += [(baseline, INK, first, baseline)] if baseline in first else []
    for label, colour, columns, name in rows:
        squares = np.square(columns[name] - columns["target"])
        means = [np.mean(squares[columns["step"] == step]) for step in range(1, steps + 1)]
        errors = [float(np.sqrt(mean)) if np.isfinite(mean) else None for mean in means]
        curves.append(Curve(label, errors, colour, form="line and dots"))
    most = max((value for curve in curves for value in curve.y if value is not None), default=0.0)
    places = list(range(1, steps + 1))
    limits = (0.0, 1.08 * most or 1.0)
    label = f"RMSE ({units})" if units else "RMSE"
    return Curves(title, "step ahead", label, places, curves, y_limits=limits)


# A page


def forecast_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return one chart if all runs forecast the same targets over time, else a chart per run."""
    texts: list[Record] = []
    tables: list[tuple[ReportedRun, Columns]] = []
    for run in runs:
        try:
            tables.append((run, _read(run)))
        except RequestError as error:
            texts.append(Text(f"{run.label}: no forecasts: {error}", "warning"))
    if not tables:
        return texts
    if any("id" in columns for _, columns in tables):
        return [*texts, *_by_series(tables)]
    if _same(tables):
        return [*texts, *_charts(tables)]
    return [*texts, *tabs({run.label: _charts([(run, columns)]) for run, columns in tables})]


def _by_series(tables: Sequence[tuple[ReportedRun, Columns]]) -> Sequence[Record]:
    """Chart a few series of the first run with several, each with all runs that forecast it."""
    run = next(run for run, rows in tables if "id" in rows)
    charts = {}
    for name in spread_series(run.metrics, _MOST_SERIES):
        rows = [(other, rows_of(columns, name)) for other, columns in tables if "id" in columns]
        rows = [(other, columns) for other, columns in rows if len(columns["step"])]
        charts[name] = _charts(rows if _same(rows) else rows[:1])
    return tabs(charts)


def _read(run: ReportedRun) -> Columns:
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    lacking = [name for name in _COLUMNS if name not in columns]
    numbers = [columns[name].dtype.kind in "if" for name in _COLUMNS if name in columns]
    if lacking or sum(numbers) < len(_COLUMNS) - 1 or not len(columns["step"]):
        raise RequestError(f"{run.run.path / 'predictions.csv'}: damaged: expected forecasts.")
    return columns


def _same(tables: Sequence[tuple[ReportedRun, Columns]]) -> bool:
    first = tables[0][1]
    alike = all(
        np.array_equal(first[name], columns[name])
        for _, columns in tables
        for name in ("index", "target")
    )
    return alike and along_time(*(first_steps(first)[name] for name in ("index", "time")))


def _charts(tables: Sequence[tuple[ReportedRun, Columns]]) -> list[Record]:
    """Chart runs with the same targets: forecasts one step ahead, and errors of all steps."""
    rows = [(run, first_steps(columns)) for run, columns in tables]
    run, first = rows[0]
    steps = int(tables[0][1]["step"].max())
    units = str(run.metrics.get("units", ""))
    charts: list[Record] = []
    if along_time(first["index"], first["time"]):
        newest = [
            (other.label, other.colour, {name: column[-_MOST:] for name, column in columns.items()})
            for other, columns in rows
        ]
        count = len(first["target"])
        title = "Test forecasts" + (f", the first of {steps} steps" if steps > 1 else "")
        title += f", the last {_MOST:,} of {count:,}" if count > _MOST else ""
        title += ", with the 95 % interval" if len(rows) == 1 and "low" in first else ""
        charts.append(along_time_chart(newest, title, units))
    else:
        for other, columns in rows:
            some = np.linspace(0, len(columns["target"]) - 1, _MOST).astype(int)
            order = np.argsort(columns["target"], kind="stable")[np.unique(some)]
            drawn = (
                other.label,
                other.colour,
                {name: column[order] for name, column in columns.items()},
            )
            charts.append(against_target_chart(drawn, "Test forecasts by target", units))
    if steps > 1:
        every = [(run.label, run.colour, columns) for run, columns in tables]
        baseline = str(run.metrics.get("best_baseline"))
        charts.append(by_step_chart(every, baseline, "Error by step", units))
    return charts


# The next values


def next_values_figure(series: Sequence[Next], *, title: str, units: str) -> Figure:
    """Draw the newest known values of each series, followed by its forecast.

    A figure has room for `MOST_NEXT` series.
    """
    rows = [
        [_ahead(origin, units, legend=number == 0, **columns)]
        for number, (origin, columns) in enumerate(series)
    ]
    return figure(title, "", rows, (8, 1.4 + 2.6 * len(series)))


def _ahead(
    origin: TimeSeries,
    units: str,
    legend: bool,
    forecast: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> Curves:
    history = origin.values
    steps = np.arange(1, len(forecast) + 1)
    known = np.arange(1 - len(history), 1)
    times = origin.labels(len(forecast), before=len(history))
    places = np.concatenate([known, steps])
    unknown = [np.nan] * (len(history) - 1)
    curves = [
        Curve("known", [*history, *[np.nan] * len(steps)], INK),
        Curve("forecast", [*unknown, history[-1], *forecast], ORANGE, form="joined"),
    ]
    if low is not None and high is not None:
        edges = [[*unknown, np.nan, *edge] for edge in (low, high)]
        curves[1] = curves[1]._replace(low=edges[0], high=edges[1])
    label = "step after the last known value" if times[-1].startswith("+") else ""
    return Curves(
        origin.id or "",
        label,
        units,
        places.tolist(),
        curves,
        names=times,
        marks=[Mark(x=0, colour=INK, dashes=":")],
        legend="inside" if legend else "none",
        band=BAND,
    )
