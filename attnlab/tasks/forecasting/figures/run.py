"""The figures of a forecasting run, drawn from its folder alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from attnlab.config.options import in_prose
from attnlab.figures.learning import panels_figure
from attnlab.figures.run import read_attention
from attnlab.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    legend_above,
    new_figure,
    result_line,
    run_title,
    tidy,
    use_log_scale,
)
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.figures.attention_map import attention_figure
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import (
    along_time,
    first_steps,
    rows_of,
    spread_series,
    window_labels,
)

_PANELS = {
    "loss (scaled units)": {"train_loss": ("train", ORANGE), "val_loss": ("validation", BLUE)}
}
_MOST_LABELS = 8
_MOST_SERIES = 4
BAND: dict[str, Any] = dict(color=ORANGE, alpha=0.2, linewidth=0, label="95 % interval")


def forecast_figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of a run by file name: loss, forecast and, where it was kept, attention.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: Something is missing in one of them.
    """
    predictions = run.read_predictions(KIND.scoring.text_columns)
    figures = {
        "loss.png": loss_figure(run.history.read(), metrics),
        "forecast.png": forecast_figure(predictions, metrics),
    }
    attention = read_attention(run)
    if attention:
        order = np.argsort(attention["index"], kind="stable")
        figures["attention.png"] = attention_figure(
            attention["weights"][order],
            attention["history"][order],
            window_labels(attention["index"][order], predictions, _ordered(attention, order)),
            metrics,
            attention.get("ahead"),
        )
    return figures


def _ordered(attention: Mapping[str, np.ndarray], order: np.ndarray) -> np.ndarray | None:
    return attention["ids"][order] if "ids" in attention else None


def loss_figure(history: Mapping[str, list[float]], metrics: Mapping[str, Any]) -> Figure:
    """Train and validation loss by epoch, the best epoch marked."""
    result = result_line(metrics, KIND)
    return panels_figure(history, metrics, _PANELS, result, "loss (scaled units)")


def forecast_figure(predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """What was forecast for the test part: along time, or for windows without order against target.

    Of several steps in the columns of predictions.csv the first is shown, and each one's error. Of
    several series a few are shown.
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
    predictions: Mapping[str, np.ndarray],
    rows: Mapping[str, np.ndarray],
    metrics: Mapping[str, Any],
    title: str,
) -> Figure:
    several = int(predictions["step"].max() > 1)
    figure = new_figure(9, 5.4 + 1.8 * several, title, result_line(metrics, KIND))
    upper, lower, *more = figure.subplots(2 + several, height_ratios=(2, 1, 1)[: 2 + several])
    upper.sharex(lower)
    upper.tick_params(labelbottom=False)
    where = _dates(lower.xaxis, rows)
    if "low" in rows:
        upper.fill_between(where, rows["low"], rows["high"], **BAND)
    upper.plot(where, rows["target"], color=BLACK, linewidth=1, label="target")
    upper.plot(where, rows["prediction"], color=ORANGE, linewidth=1, label="forecast")
    upper.set_ylabel(metrics.get("units", ""))
    baseline = str(metrics.get("best_baseline"))
    miss = rows["prediction"] - rows["target"]
    lower.plot(where, miss, color=ORANGE, linewidth=1.2, label=in_prose(metrics["attention"]))
    if baseline in rows:
        miss = rows[baseline] - rows["target"]
        lower.plot(where, miss, color=BLACK, linewidth=0.5, label=baseline)
    lower.axhline(0, color=BLACK, linewidth=0.8)
    lower.set_ylabel("error")
    for axes in more:
        _draw_steps(axes, predictions, metrics)
    for axes in (upper, lower, *more):
        legend_above(axes)
        axes.margins(x=0.01)
        tidy(axes)
    return figure


def _few_series(
    predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any], title: str
) -> Figure:
    """A panel for each of some series, from the best forecast one to the worst."""
    names, metric = spread_series(metrics, _MOST_SERIES), str(metrics["metric"])
    title += f", {len(names)} of {len(metrics['series'])} series"
    figure = new_figure(9, 1.4 + 2.1 * len(names), title, result_line(metrics, KIND))
    panels = figure.subplots(len(names), squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        rows = first_steps(rows_of(predictions, name))
        where = _dates(axes.xaxis, rows)
        if "low" in rows:
            axes.fill_between(where, rows["low"], rows["high"], **BAND)
        axes.plot(where, rows["target"], color=BLACK, linewidth=1, label="target")
        axes.plot(where, rows["prediction"], color=ORANGE, linewidth=1, label="forecast")
        score = metrics["series"][name][metric]
        label = KIND.scoring.metric(metric)
        said = "" if score is None or label is None else f": {label.label} {score:.3g}"
        axes.set_title(f"{name}{said}", loc="left", fontsize=9)
        axes.margins(x=0.01)
        tidy(axes)
    panels[0].legend(frameon=False, fontsize=9, loc="upper right", ncols=3)
    return figure


def _draw_steps(
    axes: Axes, predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any]
) -> None:
    """The error of each step, beside the best baseline's."""
    shape, baseline = (-1, predictions["step"].max()), str(metrics.get("best_baseline"))
    curves = {"prediction": (in_prose(metrics["attention"]), ORANGE), baseline: (baseline, BLACK)}
    most = 0.0
    for column, (label, colour) in curves.items():
        if column in predictions:
            errors = (predictions[column] - predictions["target"]).reshape(shape)
            rmse = np.sqrt(np.mean(errors**2, axis=0))
            steps = np.arange(1, len(rmse) + 1)
            axes.plot(steps, rmse, "o-", color=colour, markersize=3, label=label)
            most = max(most, float(rmse.max()))
    axes.set_ylim(0, 1.08 * most or 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step ahead")
    axes.set_ylabel("RMSE")


def _dates(axis: Axis, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Places of the rows on an axis: their dates, or their index with ticks labelled by `time`."""
    labels = {
        int(index): str(time) for index, time in zip(rows["index"], rows["time"], strict=True)
    }
    with suppress(ValueError):
        if any(str(index) != time for index, time in labels.items()):
            dates = np.array([*labels.values()], dtype="datetime64[s]")
            locator = AutoDateLocator(maxticks=_MOST_LABELS + 1)
            axis.set_major_locator(locator)
            axis.set_major_formatter(ConciseDateFormatter(locator))
            return dates
    axis.set_major_locator(MaxNLocator(_MOST_LABELS, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda at, _: labels.get(round(at), "")))
    return rows["index"]


def _forecast_against_target(
    rows: Mapping[str, np.ndarray], metrics: Mapping[str, Any], title: str
) -> Figure:
    figure = new_figure(9, 4.6, title, result_line(metrics, KIND))
    left, right = figure.subplots(1, 2)
    ends = [float(rows["target"].min()), float(rows["target"].max())]
    left.plot(ends, ends, color=GREY, linewidth=1, label="exact", zorder=1)
    left.scatter(rows["target"], rows["prediction"], s=9, color=ORANGE, alpha=0.5, linewidths=0)
    left.set_xlabel(f"target\n({metrics.get('units', '')})")
    left.set_ylabel("forecast")
    legend_above(left)
    curves = {in_prose(metrics["attention"]): (rows["prediction"], ORANGE)}
    baseline = str(metrics.get("best_baseline"))
    if baseline in rows:
        curves[baseline] = (rows[baseline], GREY)
    misses = {name: np.abs(values - rows["target"]) for name, (values, _) in curves.items()}
    least, most = _error_range(np.concatenate(list(misses.values())), rows["target"])
    for name, (_, colour) in curves.items():
        places = np.append(np.sort(misses[name]).clip(least), most)
        share = np.append(np.arange(1, len(rows["target"]) + 1) / len(rows["target"]), 1)
        right.step(places, share, where="post", color=colour, label=name)
    if least > 0:
        use_log_scale(right, (least, most), "x")
    right.set_xlim(least, most)
    right.set_xlabel("absolute error, at most")
    right.set_ylabel("share of test windows")
    right.set_ylim(0, 1.02)
    legend_above(right)
    for axes in (left, right):
        tidy(axes, grid="both")
    return figure


def _error_range(errors: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """The ends of an axis of errors: from 0, or from above 0 for a logarithmic one.

    The axis is logarithmic if errors differ by more than a decade. It starts at the smallest 1 %
    of them, but not below what is rounding, see `resolution`.
    """
    positive = errors[errors > 0]
    if not len(positive) or positive.max() <= 10 * positive.min():
        return 0.0, 1.1 * float(errors.max()) or 1.0
    smallest = max(float(np.quantile(positive, 0.01)) / 2, resolution(target))
    return smallest, max(1.5 * float(errors.max()), 10 * smallest)
