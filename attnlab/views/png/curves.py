"""Curves, bars and points over one x axis, and series with a weight on each value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FuncFormatter, MaxNLocator

from attnlab.views.png.style import (
    colour,
    dashes,
    legend_above,
    tidy,
    use_log_scale,
)
from attnlab.views.records import BLUE, GREY, ORANGE, Curve, Curves, Strips, Values
from attnlab.views.scales import are_times, is_wide, values_of_curves

_MANY = 100  # points from which a curve is thin and its dots are small; weights are not shown
_MOST_LABELS, _CHARACTERS = 8, 90  # of labels below an axis
_ERRORS: dict[str, Any] = {"markersize": 4, "linewidth": 1.2, "elinewidth": 1, "marker": "o"}


def draw_curves(axes: Axes, record: Curves) -> None:
    """Draw them with labels, ticks, marks and a legend."""
    places = _x_axis(axes, record)
    for curve in record.curves:
        _draw(axes, curve, places if curve.x is None else np.asarray(curve.x), record.band)
    _marks(axes, record, places)
    if record.logarithmic and is_wide(values := values_of_curves(record.curves)):
        use_log_scale(axes, values)
    if record.logarithmic_x and is_wide(ends := record.x_limits or _places(record)):
        use_log_scale(axes, ends, "x")
    axes.set_xlabel("" if record.same_x else record.x_label)
    axes.set_ylabel(record.y_label)
    if record.title:
        axes.set_title(record.title, loc="left", fontsize=9, pad=3)
    _limits(axes, record)
    if record.legend == "above":
        legend_above(axes)
    elif record.legend == "inside" and any(curve.label for curve in record.curves):
        axes.legend(frameon=False, fontsize=8.5)
    tidy(axes, "both" if record.has_points else "y")


def _x_axis(axes: Axes, record: Curves) -> np.ndarray:
    """Return the places of the record's x, dates if all have one; set locator and formatter."""
    x, axis = np.asarray(record.x), axes.xaxis
    pairs = zip(record.x, record.names, strict=False)
    if record.x_ticks is not None:
        axis.set_ticks(*zip(*record.x_ticks, strict=True))
    elif any(str(at) != name for at, name in pairs):
        if (dates := _dates(record.names)) is not None:
            locator = AutoDateLocator(maxticks=_MOST_LABELS + 1)
            axis.set_major_locator(locator)
            axis.set_major_formatter(ConciseDateFormatter(locator))
            return dates
        names = dict(zip(map(int, record.x), record.names, strict=True))
        most = min(_MOST_LABELS, _CHARACTERS // (max(map(len, record.names)) + 3))
        axis.set_major_locator(MaxNLocator(max(most, 1), integer=True))
        axis.set_major_formatter(FuncFormatter(lambda at, _: names.get(round(at), "")))
    elif len(x) and np.array_equal(x, np.round(x)):
        steps = [1, 2, 5, 10]
        axis.set_major_locator(MaxNLocator(integer=True, steps=steps, min_n_ticks=1))
    return x


def _dates(names: Sequence[str]) -> np.ndarray | None:
    """Return the dates that names are; None if one is something else, such as 1990-W05."""
    if are_times(names):
        with suppress(ValueError):
            return np.array([*names], dtype="datetime64[s]")
    return None


def _draw(axes: Axes, curve: Curve, x: np.ndarray, band: str) -> None:
    y = np.array(curve.y, np.float64)  # None becomes NaN
    known = np.isfinite(y)
    x, y = x[known], y[known]
    low, high = (_edge(edge, known) for edge in (curve.low, curve.high))
    form: dict[str, Any] = {"color": colour(curve.colour), "label": curve.label}
    if curve.form == "bars":
        _bars(axes, x, y, form)
    elif curve.form == "dots":
        size, alpha = (9, 0.5) if len(x) > _MANY else (22, 0.7)
        axes.scatter(x, y, s=size, alpha=alpha, linewidths=0, **form)
    elif curve.form == "steps":
        axes.step(x, y, where="post", **form)
    elif curve.form == "errors":
        axes.errorbar(x, y, np.abs(np.stack([low, high]) - y), **form, **_ERRORS)
    else:
        if curve.low is not None:
            whole = {"color": form["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(x, low, high, label=band or "_", **whole)
        axes.plot(x, y, **form, **_line(curve, len(x)))


def _edge(edge: Values | None, known: np.ndarray) -> np.ndarray:
    return np.array(edge, np.float64)[known] if edge is not None else np.empty(0)


def _line(curve: Curve, points: int) -> dict[str, Any]:
    """Return the width and the dots of a line; a single point is a dot."""
    width = 0.5 if curve.faint else 1.0 if points > _MANY else 1.5
    found: dict[str, Any] = {"linewidth": width, "linestyle": dashes(curve.colour)}
    if points < 2 or curve.form != "line":
        found |= {"marker": "o", "markersize": 3 if points > 1 else 6}
    return found | ({"markevery": slice(1, None)} if curve.form == "joined" else {})


def _bars(axes: Axes, x: np.ndarray, y: np.ndarray, form: dict[str, Any]) -> None:
    step = float(x[1] - x[0]) if len(x) > 1 else 1.0
    if len(x) <= _MANY:
        axes.bar(x, y, 0.85 * step, **form)
    else:  # bars of three pixels and the gaps between them would beat
        axes.stairs(y, np.append(x, x[-1] + step) - step / 2, fill=True, **form)


def _marks(axes: Axes, record: Curves, places: np.ndarray) -> None:
    where = dict(zip(record.x, places, strict=True))
    for mark in record.marks:
        form: dict[str, Any] = {"color": colour(mark.colour), "label": mark.label or "_"}
        line: dict[str, Any] = {"linestyle": mark.dashes, "linewidth": 1, "zorder": 0}
        if mark.x is not None and mark.y is not None:
            axes.plot(
                where.get(mark.x, mark.x), mark.y, "o", markersize=5, linestyle="none", **form
            )
        elif mark.x is not None:
            axes.axvline(where.get(mark.x, mark.x), **form, **line)
        elif mark.y is not None:
            axes.axhline(mark.y, **form, **line)


def _places(record: Curves) -> list[float]:
    return [*record.x, *(value for curve in record.curves for value in curve.x or ())]


def _limits(axes: Axes, record: Curves) -> None:
    if record.x_limits:
        axes.set_xlim(*record.x_limits)
    else:
        axes.margins(x=0.02)
    if record.y_limits:
        axes.set_ylim(*record.y_limits)
    if record.y_ticks is not None:
        axes.set_yticks(record.y_ticks)


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
    axes.set_title(f"{strip.label}{'; dot: weight' if few else ''}", fontsize=9)
    axes.margins(y=0.25)
    axes.tick_params(labelbottom=False)
    tidy(axes)
