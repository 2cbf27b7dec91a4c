"""Where a model looked: the attention figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from attnlab.figures.style import (
    BLACK,
    BLUE,
    COLOUR_MAP,
    GREY,
    new_figure,
    result_line,
    run_title,
    tidy,
)
from attnlab.tasks.forecasting.kind import KIND

_MOST_WINDOWS = 8
_MOST_HEADS = 8
_FEW = 100  # steps that can be told apart, and their weights
_HEAT: dict[str, Any] = dict(aspect="auto", cmap=COLOUR_MAP, interpolation="nearest", vmin=0)
_LAG_STEPS = (1, 2, 3, 4, 6, 12, 24, 48, 60, 120, 240, 480, 1200)


def attention_figure(
    weights: np.ndarray,
    history: np.ndarray,
    labels: Sequence[str],
    metrics: Mapping[str, Any],
    ahead: np.ndarray | None = None,
) -> Figure:
    """Attention weights of some test windows.

    With one query a window: the window that varies most, its weights as dots; a heat map with a
    row for each window and head; the mean weight of each lag. With many queries: a heat map of
    queries against memory for each head, mean of the windows, and the same bars.

    `weights` are (N, H, T, S), before dropout; `history` (N, S) in natural units, newest last, its
    first targets at `labels`; `metrics` are the run's. Of a decoder's queries, `ahead` (T,) is the
    first step that each forecasts; None: self-attention, the history's steps ask.
    """
    weights, history = weights[:_MOST_WINDOWS], history[:_MOST_WINDOWS]
    labels = labels[:_MOST_WINDOWS]
    if weights.shape[2] == 1:
        return _one_query(weights[:, :, 0], history, labels, metrics)
    return _many_queries(weights, metrics, ahead)


def _one_query(
    weights: np.ndarray, history: np.ndarray, labels: Sequence[str], metrics: Mapping[str, Any]
) -> Figure:
    windows, heads, steps = weights.shape
    shown = f"{windows} test windows" + (f", a row for each of {heads} heads" if heads > 1 else "")
    subtitle = f"{shown}   {result_line(metrics, KIND)}"
    height = 1.5 + min(max(0.16 * windows * heads, 1.6), 4.2) + 1.3 + 0.6
    figure = new_figure(9, height, f"{run_title(metrics)}: attention", subtitle)
    middle = height - 3.4
    grid = figure.add_gridspec(3, 2, height_ratios=(1.5, middle, 1.3), width_ratios=(60, 1))
    heat = figure.add_subplot(grid[1, 0])
    rows = weights.reshape(windows * heads, steps)
    picture = heat.imshow(rows, **_HEAT)
    figure.colorbar(picture, cax=figure.add_subplot(grid[1, 1])).set_label("weight", fontsize=9)
    heat.set_yticks(np.arange(windows) * heads + (heads - 1) / 2, labels)
    heat.set_ylabel("forecast for")
    for border in range(1, windows) if heads > 1 else ():
        heat.axhline(border * heads - 0.5, color="white", linewidth=1)
    heat.tick_params(labelsize=9, labelbottom=False, length=0, axis="both")
    example = figure.add_subplot(grid[0, 0], sharex=heat)
    most = int(np.ptp(history, axis=1).argmax())  # a flat history would show nothing
    _draw_example(example, history[most], weights[most].mean(axis=0), labels[most], metrics)
    _draw_lags(figure.add_subplot(grid[2, 0], sharex=heat), weights.mean(axis=(0, 1)), "target")
    return figure


def _draw_example(
    axes: Axes, history: np.ndarray, weights: np.ndarray, label: str, metrics: Mapping[str, Any]
) -> None:
    """One window's history as a line, its weights as the areas of dots that don't touch."""
    where, few = np.arange(len(history)), len(history) <= _FEW
    axes.plot(where, history, color=GREY if few else BLUE, linewidth=1)
    if few:
        area = 160 * weights / max(float(weights.max()), 1e-12)
        axes.scatter(where, history, s=area, color=BLUE, alpha=0.7, linewidths=0, zorder=3)
    said = "; dot: weight" if few else ""
    axes.set_title(f"history before {label} ({metrics.get('units', '')}){said}", fontsize=9)
    axes.margins(y=0.25)
    axes.tick_params(labelbottom=False)
    tidy(axes)


def _draw_lags(axes: Axes, mean: np.ndarray, end: str) -> None:
    """The mean weight of each memory position, labelled by its distance from what comes next."""
    steps = len(mean)
    if steps <= _FEW:
        axes.bar(np.arange(steps), mean, color=BLUE, width=0.8)
    else:  # bars of three pixels and the gaps between them would beat
        axes.stairs(mean, np.arange(steps + 1) - 0.5, fill=True, color=BLUE)
    axes.axhline(1 / steps, color=BLACK, linewidth=1, linestyle="--")
    axes.set_title(f"dashed: equal weights, 1/{steps}", fontsize=8, loc="right", pad=3)
    axes.set_ylabel("mean weight")
    axes.set_xlabel(f"steps before the {end}")
    axes.set_xlim(-0.5, steps - 0.5)
    _label_lags(axes.xaxis, steps, most=12)
    tidy(axes)


def _many_queries(
    weights: np.ndarray, metrics: Mapping[str, Any], ahead: np.ndarray | None
) -> Figure:
    windows, all_heads, _, steps = weights.shape
    end = "target" if ahead is None else "forecast"
    mean = weights.mean(axis=0)[:_MOST_HEADS]
    heads = len(mean)
    columns = min(heads, 4)
    lines = math.ceil(heads / columns)
    shown = f"mean of {windows} test windows"
    if all_heads > heads:
        shown += f", {heads} of {all_heads} heads"
    subtitle = f"{shown}   {result_line(metrics, KIND)}"
    figure = new_figure(9, 2.5 * lines + 2.3, f"{run_title(metrics)}: attention", subtitle)
    upper, lower = figure.subfigures(2, squeeze=False, height_ratios=(2.5 * lines, 1.7))[:, 0]
    panels = upper.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for number, axes in enumerate(panels.flat):
        if number >= heads:
            axes.set_visible(False)
            continue
        picture = axes.imshow(mean[number], vmax=float(mean.max()), **_HEAT)
        axes.set_title(f"head {number + 1}" if heads > 1 else "", fontsize=9)
        axes.tick_params(labelsize=8)
        _label_lags(axes.xaxis, steps, most=5)
        if ahead is None:
            _label_lags(axes.yaxis, steps, most=5)
        else:
            shown = np.arange(0, len(ahead), math.ceil(len(ahead) / 6))
            axes.set_yticks(shown, [str(step) for step in ahead[shown]])
    query = "steps before the target" if ahead is None else "its first step ahead"
    panels[0, 0].set_ylabel(f"query, {query}", fontsize=9)
    upper.supxlabel(f"memory, steps before the {end}", fontsize=9)
    upper.colorbar(picture, ax=panels).set_label("weight", fontsize=9)
    _draw_lags(lower.subplots(), weights.mean(axis=(0, 1, 2)), end)
    return figure


def _label_lags(axis: Axis, steps: int, most: int) -> None:
    """Label positions 0 .. S-1 by their lags S .. 1, at multiples of a number that reads well."""
    every = next((step for step in _LAG_STEPS if steps / step <= most), steps)
    lags = range(every, steps + 1, every)
    axis.set_ticks([steps - lag for lag in lags], [str(lag) for lag in lags])
