"""Draw the figures of a forecasting run from the files in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.config.options import in_prose
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import (
    along_time,
    first_steps,
    rows_of,
    spread_series,
    window_labels,
)
from attnlab.tasks.forecasting.shown.attention import attention_figure
from attnlab.tasks.forecasting.shown.forecasts import (
    Columns,
    against_target_chart,
    along_time_chart,
    by_step_chart,
)
from attnlab.tasks.shown.run_figures import learning_figure, read_attention, result_line, run_title
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
    figure,
)

_LOSS = "loss (scaled units)"
_PANELS = {_LOSS: {"train_loss": ("train", ORANGE), "val_loss": ("validation", BLUE)}}
_MOST_SERIES = 4


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: loss, forecast and, if it was saved, attention.

    Raises:
        RequestError: a file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    predictions = run.read_predictions(KIND.scoring.text_columns)
    found = {
        "loss.png": loss_figure(run.history.read(), metrics),
        "forecast.png": forecast_figure(predictions, metrics),
    }
    if attention := read_attention(run):
        order = np.argsort(attention["index"], kind="stable")
        ids = attention["ids"][order] if "ids" in attention else None
        found["attention.png"] = attention_figure(
            attention["weights"][order],
            attention["history"][order],
            window_labels(attention["index"][order], predictions, ids),
            metrics,
            attention.get("ahead"),
        )
    return found


def loss_figure(history: Mapping[str, list[float]], metrics: Mapping[str, Any]) -> Figure:
    """Draw the train and validation loss by epoch, and mark the best epoch."""
    return learning_figure(history, metrics, _PANELS, result_line(metrics, KIND), _LOSS)


def forecast_figure(predictions: Columns, metrics: Mapping[str, Any]) -> Figure:
    """Draw the test forecasts: along time, or against the target if windows have no order.

    For several steps, the figure shows the first step, and the error of each step. For several
    series it shows a few.
    """
    steps = int(predictions["step"].max())
    title = f"{run_title(metrics)}: test forecast"
    if "id" in predictions:
        return _few_series(predictions, metrics, title)
    rows = first_steps(predictions)
    if steps > 1 and len(rows["step"]) < len(predictions["step"]):
        title += f", step 1 of {steps}"
    if along_time(rows["index"], rows["time"]):
        return _forecast_along_time(predictions, rows, metrics, title)
    return _forecast_against_target(rows, metrics, title)


def _forecast_along_time(
    predictions: Columns, rows: Columns, metrics: Mapping[str, Any], title: str
) -> Figure:
    name, baseline = in_prose(metrics["attention"]), str(metrics.get("best_baseline"))
    forecast = along_time_chart([("forecast", ORANGE, rows)], "", metrics.get("units", ""))
    curves = [Curve(name, rows["prediction"] - rows["target"], ORANGE)]
    if baseline in rows:
        curves.append(Curve(baseline, rows[baseline] - rows["target"], INK, faint=True))
    errors = replace(
        forecast,
        x_label="",
        y_label="error",
        curves=curves,
        legend="above",
        marks=[Mark(y=0, colour=INK)],
    )
    panels: list[list[Record]] = [[replace(forecast, same_x=True, legend="above")], [errors]]
    if predictions["step"].max() > 1:
        every = [(name, ORANGE, predictions)]
        panels.append([replace(by_step_chart(every, baseline, "", ""), legend="above")])
    size = 9, 5.4 + 1.8 * (len(panels) - 2)
    return figure(title, result_line(metrics, KIND), panels, size, (2, 1, 1)[: len(panels)])


def _few_series(predictions: Columns, metrics: Mapping[str, Any], title: str) -> Figure:
    """Draw a panel per series for a few series, from the best forecast to the worst."""
    names, metric = spread_series(metrics, _MOST_SERIES), str(metrics["metric"])
    title += f", {len(names)} of {len(metrics['series'])} series"
    panels: list[list[Record]] = []
    for name in names:
        rows = first_steps(rows_of(predictions, name))
        score, label = metrics["series"][name][metric], KIND.scoring.metric(metric)
        said = "" if score is None or label is None else f": {label.label} {score:.3g}"
        chart = along_time_chart([("forecast", ORANGE, rows)], f"{name}{said}", "")
        panels.append([replace(chart, x_label="", legend="none" if panels else "inside")])
    size = 9, 1.4 + 2.1 * len(names)
    return figure(title, result_line(metrics, KIND), panels, size)


def _forecast_against_target(rows: Columns, metrics: Mapping[str, Any], title: str) -> Figure:
    forecast = against_target_chart(("", ORANGE, rows), "", metrics.get("units", ""))
    panels = [forecast, _shares_by_error(rows, metrics)]
    return figure(title, result_line(metrics, KIND), [panels], (9, 4.6))


def _shares_by_error(rows: Columns, metrics: Mapping[str, Any]) -> Curves:
    """Draw the share of windows whose absolute error is at most x, for each x."""
    forecasts = {in_prose(metrics["attention"]): (rows["prediction"], ORANGE)}
    baseline = str(metrics.get("best_baseline"))
    if baseline in rows:
        forecasts[baseline] = (rows[baseline], GREY)
    misses = {name: np.abs(values - rows["target"]) for name, (values, _) in forecasts.items()}
    least, most = _error_range(np.concatenate(list(misses.values())), rows["target"])
    count, curves = len(rows["target"]), []
    for name, (_, colour) in forecasts.items():
        places = np.append(np.sort(misses[name]).clip(least), most)
        share = np.append(np.arange(1, count + 1) / count, 1)
        curves.append(Curve(name, share, colour, form="steps", x=places.tolist()))
    return Curves(
        "",
        "absolute error, at most",
        "share of test windows",
        (),
        curves,
        legend="above",
        x_limits=(least, most),
        y_limits=(0.0, 1.02),
        logarithmic_x=least > 0,
    )


def _error_range(errors: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis of errors, which is logarithmic if it starts above 0.

    It is logarithmic if errors differ by more than a factor of ten. It then shows all errors except
    the smallest 1 %, and none that are only rounding, see `resolution`.
    """
    positive = errors[errors > 0]
    if not len(positive) or positive.max() <= 10 * positive.min():
        return 0.0, 1.1 * float(errors.max()) or 1.0
    smallest = max(float(np.quantile(positive, 0.01)) / 2, resolution(target))
    return smallest, max(1.5 * float(errors.max()), 11 * smallest)
