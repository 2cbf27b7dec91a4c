"""Means with their intervals, one row per group."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attnlab.views.png.labels import drawable, label_font
from attnlab.views.png.style import BLACK, LIGHT, colour, marker, tidy, use_log_scale
from attnlab.views.records import IntervalRow, Intervals
from attnlab.views.scales import is_logarithmic, near_lines, values_of_intervals

_MOST_TICKS, _LABEL_WIDTH = 6, 24
_NAME = 10  # points, the height of a name above the axes


def draw_intervals(axes: Axes, record: Intervals) -> None:
    """Draw each group's mean and interval, and its values as small dots below them."""
    rows = [*reversed(record.rows)]  # the first one at the top
    for place, row in enumerate(rows):
        _draw_row(axes, place, row)
    near, _ = near_lines(record)
    _draw_lines(axes, record, near)
    if is_logarithmic(record):
        values = [*values_of_intervals(record), *(value for _, value in near)]
        use_log_scale(axes, values, "x")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    axes.set_title(record.title, fontsize=10, loc="left", pad=6 + _NAME * len(near))
    axes.set_xlabel(record.label, fontsize=9)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    if record.limits:
        axes.set_xlim(*record.limits)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _draw_names(axes, record, rows)


def _draw_row(axes: Axes, place: int, row: IntervalRow) -> None:
    own = colour(row.colour)
    if len(row.values) > 1:
        below = [place - 0.24] * len(row.values)
        axes.plot(row.values, below, "o", color=own, alpha=0.45, markersize=3.5, markeredgewidth=0)
    if row.mean is None:
        return
    if row.low is not None and row.high is not None:
        line: dict[str, Any] = {"linewidth": 2.2, "alpha": 0.75, "solid_capstyle": "butt"}
        axes.plot([row.low, row.high], [place, place], color=own, **line)
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.8}
    axes.plot(row.mean, place, marker(row.colour), color=own, markersize=7, zorder=3, **edge)


def _draw_lines(axes: Axes, record: Intervals, near: list[tuple[str, float]]) -> None:
    if record.zero is not None:
        axes.axvline(record.zero, color=BLACK, linewidth=1.2, zorder=1)
    above: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "va": "bottom"}
    above |= {"textcoords": "offset points", "ha": "center", "fontsize": 8, "color": "#666666"}
    for number, (name, value) in enumerate(near):  # a line of text per name: none overlap
        axes.axvline(value, color=LIGHT, linewidth=1.2, linestyle="--", zorder=0)
        axes.annotate(name, (value, 1), (0, 1 + _NAME * number), **above)


def _draw_names(axes: Axes, record: Intervals, rows: list[IntervalRow]) -> None:
    labels = [textwrap.fill(drawable(row.label), _LABEL_WIDTH) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    for text in axes.get_yticklabels():
        text.set_fontproperties(label_font(9))
        text.set_parse_math(False)
    if not record.names:
        axes.tick_params(axis="y", labelleft=False)
    if any(row.note for row in rows):
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), [row.note for row in rows], fontsize=8)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
