"""How a model learned: curves by epoch, the best epoch marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnlab.figures.style import BLACK, GREY, new_figure, run_title, tidy, use_log_scale

# Label of a panel -> column of the history -> name and colour of the curve.
Panels = Mapping[str, Mapping[str, tuple[str, str]]]


def panels_figure(
    history: Mapping[str, list[float]],
    metrics: Mapping[str, Any],
    panels: Panels,
    result: str,
    wide: str | None = None,
) -> Figure:
    """The panels that have a known curve, beside each other, the best epoch marked.

    Args:
        history: `epoch`, and columns such as `train_loss`; epochs without a score have NaN.
        metrics: metrics.json.
        panels: what may be drawn.
        result: a line below the title.
        wide: the panel with a logarithmic axis where its values differ more than tenfold.
    """
    shown = {}
    for label, curves in panels.items():
        if known := {name: style for name, style in curves.items() if name in history}:
            shown[label] = known
    title = f"{run_title(metrics)}: learning"
    figure = new_figure(max(7.0, 1 + 3.9 * len(shown)), 4, title, result)
    row = figure.subplots(1, max(len(shown), 1), squeeze=False)[0]
    epochs = np.asarray(history["epoch"])
    for axes, (label, curves) in zip(row, shown.items(), strict=False):
        drawn: list[float] = []
        for name, (curve, colour) in curves.items():
            values = np.asarray(history[name], np.float64)
            there = np.isfinite(values)
            form: dict[str, Any] = {"color": colour, "linewidth": 1.4, "label": curve}
            marker = "o" if there.sum() < 2 else None
            axes.plot(epochs[there], values[there], marker=marker, **form)
            drawn.extend(values[there])
        if label == wide and drawn and max(drawn) > 10 * min(drawn) > 0:
            use_log_scale(axes, drawn)
        _mark_best(axes, history, metrics, curves)
        axes.set_ylabel(label)
    return figure


def _mark_best(
    axes: Axes,
    history: Mapping[str, list[float]],
    metrics: Mapping[str, Any],
    curves: Mapping[str, Any],
) -> None:
    """Axes of epochs, with the best one and, where it was chosen by a curve here, its value."""
    epochs, best, monitor = history["epoch"], metrics.get("best_epoch"), str(metrics.get("monitor"))
    if best in epochs:
        axes.axvline(best, color=GREY, linewidth=1, linestyle=":", zorder=0)
        if monitor in curves:
            value = history[monitor][epochs.index(best)]
            label = f"best epoch: {best} ({value:.4g})"
            axes.plot(best, value, "o", color=BLACK, markersize=5, label=label, linestyle="none")
    axes.set_xlim(min(epochs) - 0.5, max(epochs) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlabel("epoch")
    axes.legend(frameon=False, fontsize=8.5)
    tidy(axes)
