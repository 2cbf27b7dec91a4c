"""The figure of `attnlab forecast`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from attnlab.figures.style import BLACK, ORANGE, new_figure, tidy
from attnlab.tasks.forecasting.data.origin import Origin
from attnlab.tasks.forecasting.figures.run import BAND

MOST = 6  # series of a figure
_MOST_LABELS = 8
_CHARACTERS = 90  # of labels below an axis, side by side
Next = tuple[Origin, Mapping[str, np.ndarray]]


def next_values_figure(series: Sequence[Next], *, title: str, units: str) -> Figure:
    """Draw the newest known values of each series as a line, and its forecast after them.

    Each of `series` has where its forecast starts and the columns `forecast` and, if known, `low`
    and `high`, (steps,).
    """
    figure = new_figure(8, 1.4 + 2.6 * len(series), title)
    for axes, (origin, columns) in zip(
        figure.subplots(len(series), squeeze=False)[:, 0], series, strict=True
    ):
        _draw(axes, origin, **columns)
        axes.set_ylabel(units)
        if origin.id:
            axes.set_title(origin.id, loc="left", fontsize=9)
        tidy(axes)
    figure.axes[0].legend(frameon=False, fontsize=9)
    return figure


def _draw(
    axes: Axes,
    origin: Origin,
    forecast: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> None:
    history = origin.values[:, 0]
    known = np.arange(1 - len(history), 1)
    steps = np.arange(0, len(forecast) + 1)
    axes.plot(known, history, color=BLACK, linewidth=1.3, label="known")
    joined = np.concatenate([history[-1:], forecast])
    drawn: dict[str, Any] = dict(linewidth=1.6, markersize=3, markevery=slice(1, None))
    axes.plot(steps, joined, "o-", color=ORANGE, label="forecast", **drawn)
    if low is not None:
        axes.fill_between(steps[1:], low, high, **BAND)
    axes.axvline(0, color=BLACK, linewidth=0.8, linestyle=":")
    times = origin.labels(len(forecast), before=len(history))

    def label(position: float, _: int) -> str:
        at = round(position) + len(history) - 1
        return times[at] if 0 <= at < len(times) else ""

    axes.set_xlim(known[0] - 0.5, steps[-1] + 0.5)
    most = min(_MOST_LABELS, _CHARACTERS // (max(map(len, times)) + 3))
    axes.xaxis.set_major_locator(MaxNLocator(most, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(label))
    if times[-1].startswith("+"):
        axes.set_xlabel("step after the last known value")
