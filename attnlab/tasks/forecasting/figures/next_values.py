"""The figure of `attnlab forecast`: what was, and what may come."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from attnlab.figures.style import BLACK, ORANGE, new_figure, tidy


def next_values_figure(
    history: np.ndarray, times: list[str], forecast: np.ndarray, *, title: str, units: str
) -> Figure:
    """A line of the newest known values (n,), and of the forecast ones (steps,) at `times`."""
    figure = new_figure(8, 4, title)
    axes = figure.add_subplot()
    known = np.arange(1 - len(history), 1)
    steps = np.arange(0, len(forecast) + 1)
    axes.plot(known, history, color=BLACK, linewidth=1.3, label="known")
    joined = np.concatenate([history[-1:], forecast])
    axes.plot(steps, joined, "o-", color=ORANGE, linewidth=1.6, markersize=3, label="forecast")
    axes.axvline(0, color=BLACK, linewidth=0.8, linestyle=":")

    def label(position: float, _: int) -> str:
        step = round(position)
        return times[step - 1] if 1 <= step <= len(times) else f"{step}"

    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(label))
    axes.set_xlabel("step after the last known value")
    axes.set_ylabel(units)
    axes.legend(frameon=False, fontsize=9)
    tidy(axes)
    return figure
