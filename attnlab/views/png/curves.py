"""Charts: curves and points over one x axis, means with intervals, series with weights."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import Formatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from attnlab.views.png.style import (
    BLACK,
    SOFT,
    colour,
    dashes,
    legend_above,
    marker,
    printable,
)
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    Curve,
    Curves,
    IntervalRow,
    Intervals,
    Strips,
)

_MANY = 100  # points from which a curve is thin and its dots are small; weights are not shown
_MOST_LABELS, _CHARACTERS = 8, 90  # of labels below an axis
_TIME = re.compile(r"\d{4}(-\d\d|$)")  # how a year, a month or a moment starts
_LOGARITHMIC = 10.0  # largest / smallest value from which an axis may be logarithmic
_FINE = 200.0  # largest / smallest value below which a logarithmic axis has ticks at 3, 30, ...
_NEAR = 3.0  # times the span of values: a line farther away is left out
_PLAIN = (1e-5, 1e7)  # ticks between are written without an exponent
_NAME, _NAME_WIDTH = 80, 24  # characters of a group's name, and of a line of it
_LABEL_WIDTH = 60  # characters of a line of an axis' label


class _Numbers(Formatter):
    """Writes the numbers of an axis in one form, whole, without an offset at the axis' end."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        sizes = [abs(value) for value in values if value and low <= value <= high]
        is_plain = not sizes or (_PLAIN[0] <= min(sizes) and max(sizes) < _PLAIN[1])
        write = np.format_float_positional if is_plain else np.format_float_scientific
        return [write(float(f"{v:.10g}"), trim="-").replace("0e+00", "0") for v in values]


def draw_curves(axes: Axes, record: Curves) -> None:
    """Draw curves with labels, ticks, marks and a legend."""
    columns = [
        c for curve in record.curves for c in (curve.y, curve.low, curve.high) if c is not None
    ]
    values = [value for column in columns for value in np.array(column, float).tolist()]
    axes.xaxis.set_major_formatter(_Numbers())
    axes.yaxis.set_major_formatter(_Numbers())
    if record.logarithmic and _is_wide(values):
        _use_log_scale(axes, "y", values)
    places = _x_axis(axes, record)
    for curve in record.curves:
        _draw_curve(axes, curve, places, record.band)
    where = dict(zip(record.x, places, strict=True))
    for mark in record.marks:
        form: dict[str, Any] = {"color": colour(mark.colour), "label": mark.label or "_"}
        line: dict[str, Any] = {"linestyle": mark.dashes, "linewidth": 1, "zorder": 0}
        if mark.x is not None and mark.y is not None:
            axes.plot(where[mark.x], mark.y, "o", markersize=5, **form)
        elif mark.x is not None:
            axes.axvline(where[mark.x], **form, **line)
        elif mark.y is not None:
            axes.axhline(mark.y, **form, **line)
    axes.set_xlabel("" if record.same_x else record.x_label)
    axes.set_ylabel(record.y_label)
    axes.set_title(record.title, loc="left", pad=3)
    axes.margins(x=0.02)
    axes.grid(axis="both" if any(curve.form == "dots" for curve in record.curves) else "y")
    if record.legend == "above":
        legend_above(axes, 170 if record.wide else 60)
    elif record.legend == "inside" and any(curve.label for curve in record.curves):
        axes.legend()


def _x_axis(axes: Axes, record: Curves) -> np.ndarray:
    """Return the places of the record's x, dates if all have one; set locator and formatter."""
    x, axis = np.asarray(record.x), axes.xaxis
    if any(str(at) != name for at, name in zip(record.x, record.names, strict=False)):
        with suppress(ValueError):  # of a name that is no date, such as 1990-W05
            if all(map(_TIME.match, record.names)):
                dates = np.array([*record.names], dtype="datetime64[s]")
                locator = AutoDateLocator(maxticks=_MOST_LABELS + 1)
                axis.set_major_locator(locator)
                axis.set_major_formatter(ConciseDateFormatter(locator))
                return dates
        names = dict(zip(map(int, record.x), record.names, strict=True))
        most = min(_MOST_LABELS, _CHARACTERS // (max(map(len, record.names)) + 3))
        axis.set_major_locator(MaxNLocator(max(most, 1), integer=True))
        axis.set_major_formatter(FuncFormatter(lambda at, _: names.get(round(at), "")))
    elif len(x) and np.array_equal(x, np.round(x)):
        axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    return x


def _draw_curve(axes: Axes, curve: Curve, x: np.ndarray, band: str) -> None:
    y = np.array(curve.y, np.float64)  # None becomes NaN
    finite = np.isfinite(y)
    x, y = x[finite], y[finite]
    form: dict[str, Any] = {"color": colour(curve.colour), "label": curve.label}
    if curve.form == "dots":
        size, alpha = (9, 0.5) if len(x) > _MANY else (22, 0.7)
        form["rasterized"] = len(x) > _MANY  # an SVG has an element for each dot otherwise
        axes.scatter(x, y, s=size, alpha=alpha, linewidths=0, **form)
        return
    if curve.low is not None and curve.high is not None:
        low, high = (np.array(edge, np.float64)[finite] for edge in (curve.low, curve.high))
        whole = {"color": form["color"], "alpha": 0.18, "linewidth": 0}
        axes.fill_between(x, low, high, label=band or "_", **whole)
    form |= {"linewidth": 1.0 if len(x) > _MANY else 1.5, "linestyle": dashes(curve.colour)}
    if len(x) < 2 or curve.form == "line and dots":  # a single point is a dot
        form |= {"marker": "o", "markersize": 3 if len(x) > 1 else 6}
    axes.plot(x, y, **form)


def _is_wide(values: Iterable[float]) -> bool:
    """Whether values are above 0 and span more than a decade."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) > _LOGARITHMIC * min(finite)


def _use_log_scale(axes: Axes, direction: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic, with few ticks, and numbers as people write them."""
    finite = [value for value in values if math.isfinite(value)]
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    steps = (1.0, 3.0) if max(finite) < _FINE * min(finite) else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=6))
    axis.set_major_formatter(_Numbers())
    axis.set_minor_formatter(NullFormatter())


def draw_intervals(axes: Axes, record: Intervals) -> None:
    """Draw each group's mean and interval, and its values as small dots below them.

    A single named value is a line across the groups. Each of several has a row below them, which
    says its value if that is too far away.
    """
    near, rows = near_lines(record), [*record.rows]
    for name, value in record.lines if len(record.lines) > 1 else ():
        row = IntervalRow(name, GREY, value)
        is_near = (name, value) in near
        rows.append(row if is_near else row._replace(mean=None, note=f"{value:.4g}"))
    rows.reverse()  # the first one at the top
    if is_logarithmic(record):
        _use_log_scale(axes, "x", [*_interval_values(record), *(value for _, value in near)])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(_Numbers())
    for place, row in enumerate(rows):
        shade = colour(row.colour)
        if len(row.values) > 1:
            below: dict[str, Any] = {"alpha": 0.45, "markersize": 3.5, "markeredgewidth": 0}
            axes.plot(row.values, [place - 0.24] * len(row.values), "o", color=shade, **below)
        if row.low is not None and row.high is not None:
            line: dict[str, Any] = {"linewidth": 2.2, "alpha": 0.75, "solid_capstyle": "butt"}
            axes.plot([row.low, row.high], [place, place], color=shade, **line)
        if row.mean is not None:
            edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.8}
            sign = marker(row.colour)
            axes.plot(row.mean, place, sign, color=shade, markersize=7, zorder=3, **edge)
    if record.zero is not None:
        axes.axvline(record.zero, color=BLACK, linewidth=1.2, zorder=1)
    for name, value in near if len(record.lines) == 1 else ():
        axes.axvline(value, label=name, linestyle="--", color=SOFT, linewidth=1.3, zorder=0)
    axes.set_title(record.title, loc="left")
    axes.set_xlabel(textwrap.fill(record.label, _LABEL_WIDTH))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0, labelleft=record.names)
    axes.spines["left"].set_visible(False)
    names = [textwrap.fill(printable(row.label, _NAME), _NAME_WIDTH) for row in rows]
    axes.set_yticks(range(len(rows)), names)
    if any(row.note for row in rows):
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), [row.note for row in rows], fontsize=8)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
    legend_above(axes)


def _interval_values(record: Intervals) -> list[float]:
    values = (v for row in record.rows for v in (*row.values, row.mean, row.low, row.high))
    return [value for value in values if value is not None]


def is_logarithmic(record: Intervals) -> bool:
    """Whether the axis of intervals is logarithmic: as its groups need, or the lines of one run."""
    lone = sum(len(row.values) for row in record.rows) <= 1
    lines = [value for _, value in record.lines] if lone else []
    return record.logarithmic and _is_wide([*_interval_values(record), *lines])


def near_lines(record: Intervals) -> list[tuple[str, float]]:
    """Return the lines that leave groups room to differ; the others are too far away to draw."""
    values = [value for row in record.rows for value in row.values]
    if len(values) <= 1:  # lines are all that it can be compared with
        return list(record.lines)
    low, high = min(values), max(values)
    if is_logarithmic(record):
        low, high = low / _LOGARITHMIC, high * _LOGARITHMIC
    else:
        room = _NEAR * max(high - low, 0.02 * max(abs(low), abs(high)))
        low, high = low - room, high + room
    return [line for line in record.lines if low <= line[1] <= high]


def draw_strips(axes: Axes, record: Strips) -> None:
    """Draw the first strip as a line, its weights as the areas of dots that don't touch."""
    strip = record.strips[0]
    values, weights = np.asarray(strip.values), np.asarray(strip.weights)
    places, few = np.arange(len(values)), len(values) <= _MANY
    axes.plot(places, values, color=colour(GREY if few else BLUE), linewidth=1)
    if few:
        area = 160 * np.abs(weights) / max(float(np.abs(weights).max()), 1e-12)
        colours = [colour(BLUE if weight >= 0 else ORANGE) for weight in weights]
        axes.scatter(places, values, s=area, color=colours, alpha=0.7, linewidths=0, zorder=3)
    axes.set_title(f"{strip.label}{'; dot: weight' if few else ''}")
    axes.margins(y=0.25)
    axes.tick_params(labelbottom=False)
    axes.grid(axis="y")
