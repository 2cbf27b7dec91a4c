"""Points in a plane: words at their places, or points on circles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from attnlab.views.png.style import (
    BLACK,
    COLOUR_MAP,
    LIGHT,
    PALETTE,
    colour,
    new_figure,
    printable,
)
from attnlab.views.records import ORANGE, Scatter

_MOST_CHARACTERS = 18
_GREY = 0.8  # of a point whose colour has no strength
# Where a label may be next to its point, best first: right, left, above, below, at the corners.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_APART = 7.0  # pixels between a label and its point


def word_map(title: str, subtitle: str, record: Scatter) -> Figure:
    """Draw a figure of labelled points; the subtitle says how many labels have room."""
    figure = new_figure(10.0, 8.6, title, subtitle)
    axes = figure.subplots()
    points, groups = record.points, record.groups
    colours = _colours_of_groups(max(len(groups), 1))
    own = colours[np.asarray(record.members)] if len(record.members) else colours[:1]
    if len(record.strengths):
        own = _GREY + np.asarray(record.strengths)[:, None] * (own - _GREY)
    x, y = points.T
    axes.scatter(x, y, s=16 if groups else 7, c=own, linewidths=0, zorder=2)
    if groups:
        handles = [axes.scatter([], [], s=16, color=[each]) for each in colours]
        names = [printable(name, _MOST_CHARACTERS) for name in groups]
        axes.legend(handles, names, loc="upper right", fontsize=8)
    axes.set(xticks=[], yticks=[], xlabel=record.x_label, ylabel=record.y_label)
    axes.spines[["left", "bottom"]].set_color(LIGHT)
    axes.margins(0.08)
    figure.draw_without_rendering()  # so that places on the figure are known, and remain
    figure.set_layout_engine("none")
    if (labelled := _label(axes, points, record.labels)) < len(record.labels):
        figure.texts[1].set_text(f"{subtitle}; {labelled} have room for a label")
    return figure


def _label(axes: Axes, points: np.ndarray, labels: Sequence[str]) -> int:
    """Write the labels that cover neither another one nor the legend; returns how many."""
    legend, frame = axes.get_legend(), axes.get_window_extent()
    boxes = [legend.get_window_extent()] if legend else []
    for point, label in zip(points, labels, strict=True):
        word = printable(label, _MOST_CHARACTERS)
        form: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 3}
        text = axes.annotate(word, point, (0, 0), textcoords="offset pixels", **form)
        middle = text.get_window_extent()
        for side in _SIDES if label.strip() else ():
            x, y = np.array(side) * (np.array(middle.size) / 2 + _APART)
            box = middle.translated(x, y)
            inside = frame.contains(*box.min) and frame.contains(*box.max)
            if inside and not box.count_overlaps(boxes):
                text.set_position((x, y))
                boxes.append(box)
                break
        else:
            text.remove()
    return len(axes.texts)


def draw_points(axes: Axes, record: Scatter) -> ScalarMappable:
    """Draw points whose colours are their values, and arrows; returns what a colour bar needs."""
    if record.circle:
        axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor=LIGHT, linewidth=0.8, zorder=1))
        axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
        axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    style: dict[str, Any] = {"s": 14, "linewidths": 0, "zorder": 2, "cmap": COLOUR_MAP}
    x, y = record.points.T
    points = axes.scatter(x, y, c=list(record.values), **style)
    for (start, end), own in zip(record.arrows, (colour(ORANGE), BLACK), strict=False):
        arrow = {"arrowstyle": "->", "color": own, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
        ends = record.points[start], record.points[end]
        axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=arrow, zorder=4)
        axes.plot(*ends[0], "o", color=own, markersize=4, zorder=4)
    axes.set_title(record.title, loc="center")
    axes.set(xlabel=record.x_label, ylabel=record.y_label)
    axes.grid()
    return points


def _colours_of_groups(count: int) -> np.ndarray:
    """Return a colour for each group, (count, 3), from 0 to 1; black is for text only."""
    palette = [each for each in PALETTE if each != BLACK]
    if count <= len(palette):
        return np.array([to_rgb(each) for each in palette[:count]])
    return colormaps["turbo"](np.linspace(0.05, 0.95, count))[:, :3]
