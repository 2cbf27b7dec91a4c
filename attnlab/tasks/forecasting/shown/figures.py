"""Draw the figures of a forecasting run from the files in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attnlab.config.options import in_prose
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.shown.attention import attention_figure
from attnlab.tasks.forecasting.shown.forecasts import (
    Columns,
    against_target_chart,
    along_time,
    along_time_chart,
    by_step_chart,
    first_steps,
    rows_of,
    spread_series,
)
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.views.records import BLUE, INK, ORANGE, Curve, Figure, Mark, Record, figure

_LOSS = "loss (scaled units)"
_PANELS = {_LOSS: {"train_loss": ("train", ORANGE), "val_loss": ("validation", BLUE)}}
_MOST_SERIES = 4


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: loss, forecast and, if it was saved, attention.

    Raises:
        RequestError: a file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    result = result_line(metrics, KIND)
    predictions = run.read_predictions(KIND.scoring.text_columns)
    drawings = {
        "loss.png": learning_figure(run.history.read(), metrics, _PANELS, result, _LOSS),
        "forecast.png": forecast_figure(predictions, metrics),
    }
    if recorded := read_attention(run):
        drawings["attention.png"] = attention_figure(recorded.final(), metrics)
    return drawings


def forecast_figure(predictions: Columns, metrics: Mapping[str, Any]) -> Figure:
    """Draw the test forecasts: along time, or against the target if windows have no order.

    For several steps, the figure shows the first step, and the error of each step. For several
    series it shows a few, from the best forecast to the worst.
    """
    steps, units = int(predictions["step"].max()), metrics.get("units", "")
    title, result = f"{run_title(metrics)}: test forecast", result_line(metrics, KIND)
    panels: list[list[Record]] = []
    if "id" in predictions:
        names, metric = spread_series(metrics, _MOST_SERIES), str(metrics["metric"])
        for name in names:
            rows = first_steps(rows_of(predictions, name))
            score, label = metrics["series"][name][metric], KIND.scoring.metric(metric)
            said = "" if score is None or label is None else f": {label.label} {score:.3g}"
            chart = along_time_chart([("forecast", ORANGE, rows)], f"{name}{said}", "")
            panels.append([replace(chart, x_label="", legend="none" if panels else "inside")])
        title += f", {len(names)} of {len(metrics['series'])} series"
        return figure(title, result, panels, (9, 1.4 + 2.1 * len(names)))
    rows = first_steps(predictions)
    if not along_time(rows["index"], rows["time"]):
        chart = against_target_chart(("", ORANGE, rows), "", units)
        return figure(title, result, [[chart]], (6, 4.6))
    if steps > 1 and len(rows["step"]) < len(predictions["step"]):
        title += f", step 1 of {steps}"
    name, baseline = in_prose(metrics["attention"]), str(metrics.get("best_baseline"))
    forecast = along_time_chart([("forecast", ORANGE, rows)], "", units)
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
    panels = [[replace(forecast, same_x=True, legend="above")], [errors]]
    if steps > 1:
        chart = by_step_chart([(name, ORANGE, predictions)], baseline, "", "")
        panels.append([replace(chart, legend="above")])
    size = 9, 5.4 + 1.8 * (len(panels) - 2)
    return figure(title, result, panels, size, (2, 1, 1)[: len(panels)])
