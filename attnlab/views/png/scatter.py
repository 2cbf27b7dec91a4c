"""Points in a plane: words at their places, or points on circles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import hsv_to_rgb, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from attnlab.views.png.labels import drawable, label_font
from attnlab.views.png.style import BLACK, COLOUR_MAP, LIGHT, PALETTE, colour, new_figure, tidy
from attnlab.views.records import ORANGE, Scatter

_WIDTH, _HEIGHT = 10.0, 8.6
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.3, 0.15, 0.3, 0.68  # inches around the map
_FONT = 8.0
_MOST_CHARACTERS = 18
_GREY = 0.8  # of a point whose colour has no strength
# Where a label may be next to its point, best first: the side, then the distance.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_DISTANCES = (6.0, 18.0, 30.0)  # pixels


def word_map(title: str, subtitle: str, record: Scatter) -> Figure:
    """Draw a figure of labelled points.

    Labels are placed one by one, the most important first, where they cover neither another label
    nor the legend. The subtitle says how many labels found room.
    """
    figure = new_figure(_WIDTH, _HEIGHT, drawable(title), placed=True)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM - _TOP
    axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / _HEIGHT, width / _WIDTH, height / _HEIGHT))
    points, count = record.points, len(record.labels)
    colours = _colours_of_groups(max(len(record.groups), 1))
    size = 7 + 9 * bool(record.groups)
    own = colours[np.asarray(record.members)] if len(record.members) else colours[:1]
    if len(record.strengths):
        own = _GREY + np.asarray(record.strengths)[:, None] * (own - _GREY)
    axes.scatter(points[:, 0], points[:, 1], s=size, c=own, linewidths=0, zorder=2)
    if record.groups:
        _draw_legend(axes, record.groups, colours)
    axes.set(xlim=_limits(points[:, 0]), ylim=_limits(points[:, 1]), xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LIGHT)
    axes.set_xlabel(record.x_label, fontsize=9)
    axes.set_ylabel(record.y_label, fontsize=9)
    labels = [drawable(word, _MOST_CHARACTERS) for word in record.labels]
    labelled = _place_labels(axes, points, labels)
    room = f"; {labelled} have room for a label" if labelled < count else ""
    figure.texts[1].set_text(f"{subtitle}{room}")
    for each in figure.texts:
        each.set_parse_math(False)
    return figure


def draw_points(axes: Axes, record: Scatter) -> ScalarMappable:
    """Draw points whose colours are their values, and arrows; returns what a colour bar needs."""
    if record.circle:
        circle = Circle((0, 0), 1, fill=False, edgecolor=LIGHT, linewidth=0.8, zorder=1)
        axes.add_patch(circle)
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
    axes.set_title(record.title, fontsize=9)
    axes.set(xlabel=record.x_label, ylabel=record.y_label)
    tidy(axes, grid="both")
    return points


def _colours_of_groups(count: int) -> np.ndarray:
    """Return a colour for each group, (count, 3), from 0 to 1; black is for text only."""
    known = [each for each in PALETTE if each != BLACK]
    if count <= len(known):
        return np.array([to_rgb(each) for each in known[:count]])
    return hsv_to_rgb([(0.9 * place / count, 0.85, 0.8) for place in range(count)])


def _draw_legend(axes: Axes, groups: Sequence[str], colours: np.ndarray) -> None:
    handles = [axes.scatter([], [], s=16, color=[own]) for own in colours]
    names = [drawable(name, _MOST_CHARACTERS) for name in groups]
    font = label_font(_FONT)
    legend = axes.legend(handles, names, loc="upper right", prop=font, frameon=False)
    for each in legend.get_texts():
        each.set_parse_math(False)


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Return the range of values with a margin; the margin is 1 if all values are equal."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _place_labels(axes: Axes, places: np.ndarray, labels: Sequence[str]) -> int:
    """Write labels so that they don't cover each other or the legend, and cover few points.

    Returns how many.
    """
    font = label_font(_FONT)
    renderer = RendererAgg(1, 1, axes.figure.dpi)
    points = axes.transData.transform(places)
    frame = axes.get_window_extent()
    # Each label takes the height of a line with ascenders and descenders, as it is laid out.
    line = renderer.get_text_width_height_descent("lp", font, False)[1]
    legend = axes.get_legend()
    taken = np.array([legend.get_window_extent().extents]) if legend else np.empty((0, 4))
    for point, label in zip(points, labels, strict=True):
        width, height, _ = renderer.get_text_width_height_descent(label, font, False)
        boxes, distances = _candidates(point, width, max(height, line))
        inside = (boxes[:, :2] >= frame.min).all(1) & (boxes[:, 2:] <= frame.max).all(1)
        free = np.flatnonzero(inside & ~_overlaps(boxes, taken).any(axis=1))
        if not len(free) or not label.strip():
            continue
        covered = _overlaps(boxes[free], np.hstack([points - 3, points + 3])).sum(axis=1)
        best = free[np.lexsort((free, covered + distances[free]))[0]]
        box = boxes[best]
        taken = np.vstack([taken, box])
        x, y = axes.transData.inverted().transform((box[:2] + box[2:]) / 2)
        options: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
        axes.text(x, y, label, fontproperties=font, zorder=3, **options)
        if distances[best]:
            ends = np.array([axes.transData.inverted().transform(point), (x, y)])
            axes.plot(ends[:, 0], ends[:, 1], color=LIGHT, linewidth=0.4, zorder=1)
    return len(axes.texts)


def _candidates(point: np.ndarray, width: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (N, 4) around a point (left, bottom, right, top), and how far off each is."""
    half, sides = np.array([width, height]) / 2, np.array(_SIDES)
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    middles = np.concatenate([point + sides * (half + far / lengths) for far in _DISTANCES])
    boxes = np.hstack([middles - half, middles + half])
    return boxes, np.repeat(np.arange(len(_DISTANCES)), len(_SIDES))


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(N, M): whether a box covers a part of another."""
    first, second = boxes[:, None], others[None]
    touching = (first[..., :2] < second[..., 2:]) & (second[..., :2] < first[..., 2:])
    return np.all(touching, axis=-1)
