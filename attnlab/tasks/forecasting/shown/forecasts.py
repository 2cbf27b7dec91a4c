"""Draw the figures of a forecasting run, charts of test forecasts, and the next values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.shown.attention import attention_figure
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.views.records import (
    BLUE,
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

_LOSS = "loss (scaled units)"
_PANELS = {_LOSS: {"train_loss": ("train", ORANGE), "val_loss": ("validation", BLUE)}}
_MOST = 600  # targets of a chart
_MOST_SERIES, _MOST_PANELS = 8, 4  # of a page and of a figure
_MOST_SHOWN = 2  # runs that are visible at first, because curves hide each other
_COLUMNS = ("index", "time", "step", "target", "prediction")
MOST_NEXT = 6  # series of a figure of next values
BAND = "95 % interval"
Columns: TypeAlias = Mapping[str, np.ndarray]
# The start of a forecast, and its columns `forecast` and, if known, `low` and `high`, (steps,).
Next: TypeAlias = tuple[TimeSeries, Mapping[str, np.ndarray]]
# A run's label, colour and forecasts.
Forecasts: TypeAlias = tuple[str, "int | None", Columns]


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: loss, forecast and, if it was saved, attention.

    Raises:
        RequestError: a file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    predictions = run.read_predictions(KIND.scoring.text_columns)
    result = result_line(metrics, KIND)
    drawings = {
        "loss.png": learning_figure(run.history.read(), metrics, _PANELS, result, _LOSS),
        "forecast.png": forecast_figure(predictions, metrics),
    }
    if recorded := read_attention(run):
        drawings["attention.png"] = attention_figure(recorded.final(), metrics)
    return drawings


def forecast_figure(predictions: Columns, metrics: Mapping[str, Any]) -> Figure:
    """Draw the charts of a page; for several series the forecasts of a few, the best first."""
    run, result = run_title(metrics), result_line(metrics, KIND)
    name = in_prose(metrics["attention"])
    if "id" in predictions:
        panels: list[Curves] = []
        metric = str(metrics["metric"])
        for series in spread_series(metrics, _MOST_PANELS):
            chart, *_ = charts([(name, ORANGE, rows_of(predictions, series))], metrics)
            score, label = metrics["series"][series][metric], KIND.scoring.metric(metric)
            said = "" if score is None or label is None else f": {label.label} {score:.3g}"
            chart = replace(chart, title=f"{series}{said}", x_label="", y_label="", same_x=False)
            panels.append(replace(chart, legend="none" if panels else "inside"))
        title = f"{run}: test forecasts, {len(panels)} of {len(metrics['series'])} series"
        size = 9, 1.4 + 2.1 * len(panels)
        return figure(title, result, [[chart] for chart in panels], size)
    panels = charts([(name, ORANGE, predictions)], metrics)
    title = f"{run}: {panels[0].title.replace('Test', 'test')}"
    size = (9, 5.4 + 1.8 * (len(panels) - 2)) if len(panels) > 1 else (6, 4.6)
    rows = [[replace(chart, title="")] for chart in panels]  # the legend is there
    return figure(title, result, rows, size, (2, 1, 1)[: len(panels)])


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


def charts(forecasts: Sequence[Forecasts], metrics: Mapping[str, Any]) -> list[Curves]:
    """Chart runs with the same targets; `metrics` are those of the first.

    The charts are: the first step of the newest forecasts over time, or by target if windows have
    no order; the errors of a single run and of the best baseline over time; the error of each step.
    """
    rows = [(label, colour, first_steps(columns)) for label, colour, columns in forecasts]
    first, steps = rows[0][2], int(forecasts[0][2]["step"].max())
    units, baseline = str(metrics.get("units", "")), str(metrics.get("best_baseline"))
    is_single, count = len(rows) == 1, len(first["target"])
    title = "Test forecasts" + (f", the first of {steps} steps" if steps > 1 else "")
    records = []
    if along_time(first["index"], first["time"]):
        title += f", the last {_MOST:,} of {count:,}" if count > _MOST else ""
        first = {name: column[-_MOST:] for name, column in first.items()}
        curves = [Curve("target", first["target"], INK)]
        for number, (label, colour, columns) in enumerate(rows):
            made = columns["prediction"][-_MOST:]
            curves.append(Curve(label, made, colour, shown=number < _MOST_SHOWN))
        if is_single and "low" in first:
            curves[1] = curves[1]._replace(low=first["low"], high=first["high"])
            title += f", with the {BAND}"
        chart = Curves(
            title,
            "time",
            units,
            first["index"].tolist(),
            curves,
            [str(time) for time in first["time"]],
            wide=True,
            legend="above",
            band=BAND,
            same_x=is_single,
        )
        records.append(chart)
        if is_single:
            label, colour, _ = rows[0]
            curves = [Curve(label, first["prediction"] - first["target"], colour)]
            if baseline in first:
                curves.append(Curve(baseline, first[baseline] - first["target"], INK, faint=True))
            marks = [Mark(y=0, colour=INK)]
            chart = replace(chart, title="", x_label="", y_label="error", same_x=False)
            records.append(replace(chart, curves=curves, marks=marks))
    else:
        some = np.unique(np.linspace(0, count - 1, _MOST).astype(int))
        for label, colour, columns in rows:
            order = np.argsort(columns["target"], kind="stable")[some]
            target = columns["target"][order].tolist()
            dots = Curve(label, columns["prediction"][order], colour, form="dots")
            curves, x_label = [dots, Curve("exact", target, GREY)], f"target ({units})"
            records.append(Curves(title, x_label, "forecast", target, curves, legend="above"))
    if steps > 1:
        records.append(_by_step_chart(forecasts, baseline, steps, units))
    return records


def _by_step_chart(forecasts: Sequence[Forecasts], baseline: str, steps: int, units: str) -> Curves:
    """Draw the error of each step ahead, and that of the best baseline."""
    first = forecasts[0][2]
    rows = [(label, colour, columns, "prediction") for label, colour, columns in forecasts]
    rows += [(baseline, INK, first, baseline)] if baseline in first else []
    curves = []
    for label, colour, columns, name in rows:
        squares = np.square(columns[name] - columns["target"])
        means = [np.mean(squares[columns["step"] == step]) for step in range(1, steps + 1)]
        errors = [float(np.sqrt(mean)) if np.isfinite(mean) else None for mean in means]
        curves.append(Curve(label, errors, colour, form="line and dots"))
    most = max((value for curve in curves for value in curve.y if value is not None), default=0.0)
    return Curves(
        "Error by step",
        "step ahead",
        f"RMSE ({units})" if units else "RMSE",
        list(range(1, steps + 1)),
        curves,
        y_limits=(0.0, 1.08 * most or 1.0),
        legend="above",
    )


# A page


def forecast_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return one chart if all runs forecast the same targets over time, else a chart per run."""
    texts: list[Record] = []
    tables: list[tuple[ReportedRun, Columns]] = []
    for run in runs:
        try:
            columns = run.run.read_predictions(KIND.scoring.text_columns)
            numbers = [columns[name].dtype.kind in "if" for name in _COLUMNS if name in columns]
            if not {*_COLUMNS} <= {*columns} or sum(numbers) < 4 or not len(columns["step"]):
                path = run.run.path / "predictions.csv"
                raise RequestError(f"{path}: damaged: expected forecasts.")
            tables.append((run, columns))
        except RequestError as error:
            texts.append(Text(f"{run.label}: no forecasts: {error}", "warning"))
    if not tables:
        return texts
    if panels := [(run, columns) for run, columns in tables if "id" in columns]:
        choices = {}
        for name in spread_series(panels[0][0].metrics, _MOST_SERIES):
            rows = [(run, rows_of(columns, name)) for run, columns in panels]
            rows = [(run, columns) for run, columns in rows if len(columns["step"])]
            choices[name] = _run_charts(rows if _same(rows) else rows[:1])
        return [*texts, *tabs(choices)]
    if _same(tables):
        return [*texts, *_run_charts(tables)]
    return [*texts, *tabs({row[0].label: _run_charts([row]) for row in tables})]


def _same(tables: Sequence[tuple[ReportedRun, Columns]]) -> bool:
    """Return whether all runs forecast the same targets over time."""
    first = tables[0][1]
    alike = all(
        np.array_equal(first[name], columns[name])
        for _, columns in tables
        for name in ("index", "target")
    )
    return alike and along_time(*(first_steps(first)[name] for name in ("index", "time")))


def _run_charts(tables: Sequence[tuple[ReportedRun, Columns]]) -> list[Curves]:
    forecasts = [(run.label, run.colour, columns) for run, columns in tables]
    return charts(forecasts, tables[0][0].metrics)


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
