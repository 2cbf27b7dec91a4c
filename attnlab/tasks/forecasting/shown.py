"""Figures and page sections of forecasting runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from attnlab.config.options import in_prose
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Arrays, Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.time_series import TimeSeries
from attnlab.tasks.shown.attention_by_epoch import attention_sliders
from attnlab.tasks.shown.item_tables import Columns, of_same_items
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.views.records import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Axis,
    Curve,
    Curves,
    Figure,
    Frame,
    Maps,
    Mark,
    Record,
    Strip,
    Strips,
    figure,
    tabs,
)

_LOSS = "loss (scaled units)"
_PANELS = {_LOSS: {"train_loss": ("train", ORANGE), "val_loss": ("validation", BLUE)}}
_COLUMNS = ("index", "time", "step", "target", "prediction")  # of predictions.csv
_MOST = 600  # targets of a chart
_MOST_SERIES = 4
_BAND = "95 % interval"
_NOTE = (
    "Move the slider to see the last layer's weights on a few test windows at another epoch. The "
    "newest value is at the right. Maps are means over the windows."
)
MOST_NEXT = 6  # series of a figure of next values
# A run's label, colour and forecasts.
Forecasts: TypeAlias = tuple[str, "int | None", Columns]


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: loss, forecast and, if recorded, attention."""
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
    """Draw the charts of a page; for several series only the forecasts."""
    by_series = charts_by_series([(in_prose(metrics["attention"]), ORANGE, predictions)], metrics)
    panels = [
        replace(chart, title=series or chart.title, legend="inside")
        for series, records in by_series.items()
        for chart in records[: 1 if series else None]
    ]
    size = (9, 1.4 + 2.1 * len(panels)) if panels[0].wide else (6, 4.6)
    title = f"{run_title(metrics)}: test forecasts"
    return figure(title, result_line(metrics, KIND), [[panel] for panel in panels], size)


def charts_by_series(
    forecasts: Sequence[Forecasts], metrics: Mapping[str, Any]
) -> dict[str, list[Curves]]:
    """Return the charts of the first few series by id; the id of a single series is ""."""
    if "id" not in forecasts[0][2]:
        return {"": charts(forecasts, metrics)}
    by_series = {}
    for series in [*metrics["series"]][:_MOST_SERIES]:
        rows = []
        for label, colour, columns in forecasts:
            is_row = columns["id"] == series
            rows.append((label, colour, {key: cells[is_row] for key, cells in columns.items()}))
        by_series[series] = charts(rows, metrics)
    return by_series


def charts(forecasts: Sequence[Forecasts], metrics: Mapping[str, Any]) -> list[Curves]:
    """Chart runs with the same targets; `metrics` are those of the first.

    The charts are the first step of the newest forecasts over time, or by target if windows have no
    order, and the error of each step.
    """
    rows = [(label, colour, _first_steps(columns)) for label, colour, columns in forecasts]
    steps, units = int(forecasts[0][2]["step"].max()), str(metrics.get("units", ""))
    title = "Test forecasts" + (f", the first of {steps} steps" if steps > 1 else "")
    index = rows[0][2]["index"]
    if index[0] > 0 and np.all(np.diff(index) > 0):  # random windows start at 0 or are shuffled
        newest = {name: column[-_MOST:] for name, column in rows[0][2].items()}
        curves = [Curve("target", newest["target"], INK)]
        for label, colour, columns in rows:
            curves.append(Curve(label, columns["prediction"][-_MOST:], colour))
        if len(rows) == 1 and "low" in newest:
            curves[1] = curves[1]._replace(low=newest["low"], high=newest["high"])
        times, places = [*map(str, newest["time"])], newest["index"].tolist()
        chart = Curves(title, "time", units, places, curves, times, wide=True, legend="above")
        records = [replace(chart, band=_BAND)]
    else:
        some = np.unique(np.linspace(0, len(index) - 1, _MOST).astype(int))
        records = []
        for label, colour, columns in rows:
            order = np.argsort(columns["target"], kind="stable")[some]
            target = columns["target"][order].tolist()
            dots = Curve(label, columns["prediction"][order], colour, form="dots")
            curves = [dots, Curve("exact", target, GREY)]
            records.append(Curves(title, f"target ({units})", "forecast", target, curves))
    return records + ([_by_step(forecasts, metrics, steps, units)] if steps > 1 else [])


def _first_steps(columns: Columns) -> Columns:
    """Return the rows of predictions.csv with step 1; all rows if there is only one window."""
    first = columns["step"] == 1
    return {name: column[first] for name, column in columns.items()} if first.sum() > 1 else columns


def _by_step(
    forecasts: Sequence[Forecasts], metrics: Mapping[str, Any], steps: int, units: str
) -> Curves:
    """Draw the error of each step ahead, and that of the best baseline."""
    baseline, first = str(metrics.get("best_baseline")), forecasts[0][2]
    rows = [(label, colour, columns, "prediction") for label, colour, columns in forecasts]
    rows += [(baseline, INK, first, baseline)] if baseline in first else []
    curves = []
    for label, colour, columns, name in rows:
        squares = np.square(columns[name] - columns["target"]).reshape(-1, steps)
        errors = np.sqrt(squares.mean(axis=0)).tolist()
        curves.append(Curve(label, errors, colour, form="line and dots"))
    y_label = f"RMSE ({units})" if units else "RMSE"
    places = range(1, steps + 1)
    return Curves("Error by step", "step ahead", y_label, places, curves, legend="above")


def forecast_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Chart the runs that forecast the same targets as the first; several series have tabs."""
    tables, texts = of_same_items(runs, KIND, _COLUMNS, ["id", "index", "target"])
    shown = [run for run in runs if run.label in tables]
    if not shown:
        return texts
    forecasts = [(run.label, run.colour, tables[run.label]) for run in shown]
    return [*texts, *tabs(charts_by_series(forecasts, shown[0].metrics))]


def attention_figure(example: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention weights of one epoch: those of a page, but only of one window."""
    first, *others = _attention(example)
    size = 9.0, 2.5 * math.ceil(len(example["weights"][0]) / 4) + 1.5
    if isinstance(first, Strips):
        most = int(np.ptp(example["history"], axis=1).argmax())  # a flat one would show nothing
        first, size = Strips([first.strips[most]]), (9.0, 5.0)
    title = f"{run_title(metrics)}: attention"
    rows: list[list[Record]] = [[record] for record in (first, *others)]
    return figure(title, result_line(metrics, KIND), rows, size)


def attention_records(runs: Sequence[ReportedRun]) -> Sequence[Record]:
    """Return a slider over the epochs for each run that attends."""

    def frames(recorded: Recorded, room: int) -> tuple[str, list[list[Frame]]]:
        return _NOTE, [_attention(recorded.at(epoch)) for epoch in recorded.epochs]

    return attention_sliders(runs, frames)


def _attention(example: Arrays) -> list[Frame]:
    """Return what to show of an epoch; see `ForecastLearner.examples`.

    With one query per window: the windows with their weights, and a map of heads by memory. With
    many: a map of queries by memory per head.
    """
    weights, history = np.nan_to_num(example["weights"].astype(float)), example["history"]
    (_, heads, queries, cells), steps = weights.shape, history.shape[1]
    x = _axis("memory, steps before the forecast", cells, steps, 1)
    if queries > 1:
        names = [f"head {number + 1}" for number in range(heads)] if heads > 1 else ["all queries"]
        y = _axis("query, steps before the forecast", queries, steps, 1)
        if "ahead" in example:
            first, *_, last = example["ahead"].tolist()
            y = _axis("query, its first step ahead", queries, first, last)
        return [Maps(names, weights[0], x, y)]
    strips = [
        Strip(f"before {label}", values, row)
        for label, values, row in zip(
            example["labels"], history, weights.mean(axis=(1, 2)), strict=True
        )
    ]
    y = _axis("head", heads, 1, heads)
    return [Strips(strips), Maps(["all windows"], weights.mean(axis=0)[None, :, 0], x, y)]


def _axis(label: str, cells: int, first: int, last: int) -> Axis:
    """Return an axis of a map whose first and last cell have these numbers."""
    ticks = {0: str(first), cells - 1: str(last)}
    return Axis(label, [*ticks.items()], (str(first), str(last)))


def next_values_figure(
    series: Sequence[tuple[TimeSeries, Mapping[str, np.ndarray]]],
    title: str,
    units: str,
    note: str = "",
) -> Figure:
    """Draw the newest values of each series, followed by its forecast.

    A series is given by its end and the columns `forecast` and, if known, `low` and `high`,
    (steps,). A figure has room for `MOST_NEXT` series. `note` is below the title.
    """
    rows: list[list[Record]] = []
    for end, columns in series:
        past, future = end.values, columns["forecast"]
        before = [np.nan] * (len(past) - 1)
        joined = Curve("forecast", [*before, past[-1], *future], ORANGE, form="line and dots")
        if "low" in columns:
            low, high = ([*before, past[-1], *columns[name]] for name in ("low", "high"))
            joined = joined._replace(low=low, high=high)
        curves = [Curve("known", [*past, *[np.nan] * len(future)], INK), joined]
        times = end.labels(len(future), before=len(past))
        chart = Curves(
            end.id,
            "step after the last known value" if times[-1].startswith("+") else "",
            units,
            range(1 - len(past), len(future) + 1),
            curves,
            names=times,
            marks=[Mark(x=0, colour=INK, dashes=":")],
            legend="none" if rows else "inside",
            band=_BAND,
        )
        rows.append([chart])
    return figure(title, note, rows, (8, 1.4 + 2.6 * len(rows)))


VIEWS = Views(figures, {"Forecasts": forecast_records, "Attention": attention_records})
