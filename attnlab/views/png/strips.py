"""A series with a weight on each value."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from attnlab.views.png.style import colour, tidy
from attnlab.views.records import BLUE, GREY, Strips

_FEW = 100  # values that can be distinguished, and their weights


def draw_strips(axes: Axes, record: Strips) -> None:
    """Draw the first strip as a line, its weights as the areas of dots that don't touch."""
    strip = record.strips[0]
    values, weights = np.asarray(strip.values), np.asarray(strip.weights)
    places, few = np.arange(len(values)), len(values) <= _FEW
    axes.plot(places, values, color=colour(GREY if few else BLUE), linewidth=1)
    if few:
        area = 160 * weights / max(float(weights.max()), 1e-12)
        axes.scatter(places, values, s=area, color=colour(BLUE), alpha=0.7, linewidths=0, zorder=3)
    axes.set_title(f"{strip.label}{'; dot: weight' if few else ''}", fontsize=9)
    axes.margins(y=0.25)
    axes.tick_params(labelbottom=False)
    tidy(axes)
