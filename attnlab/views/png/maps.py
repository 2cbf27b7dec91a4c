"""Maps of numbers as colours, next to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import MaxNLocator

from attnlab.views.png.style import BLACK, COLOUR_MAP, SIGNED_COLOUR_MAP, printable
from attnlab.views.records import Axis, Maps

_FONT = (5.0, 9.0)  # points of labels: the smallest and the largest
_LABEL = 22  # characters
_CELL = (0.16, 1.0)  # inches, of a map of whose rows each has a label
_NARROWEST = 7.0
CHARACTER = 0.62 / 72  # inches of a character in a font of one point


def draw_maps(axes: Axes, record: Maps, number: int = 0) -> ScalarMappable:
    """Draw a map; returns what a colour bar needs."""
    low, high = _limits(record)
    colours = SIGNED_COLOUR_MAP if record.signed or (not record.limits and low < 0) else COLOUR_MAP
    _, rows, columns = record.weights.shape
    picture = axes.imshow(
        record.weights[number],
        aspect="equal" if record.square else "auto",
        cmap=colours,
        interpolation="nearest",
        vmin=low,
        vmax=high,
    )
    axes.set_title(record.names[number] if record.names else "", loc="center")
    axes.set(xlabel=record.x.label, ylabel=record.y.label)
    _set_ticks(axes.xaxis, record.x, columns)
    _set_ticks(axes.yaxis, record.y, rows)
    if _is_turned(record):
        axes.tick_params(axis="x", labelrotation=90)
    if record.x.ticks is not None:
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for row, texts in enumerate(record.texts):
        for column, text in enumerate(texts):
            dark = record.weights[number, row, column] < (low + high) / 2
            form: dict[str, Any] = {"color": "white" if dark else BLACK, "fontsize": _font(columns)}
            axes.text(column, row, text, ha="center", va="center", **form)
    return picture


def draw_panels(part: Any, record: Maps) -> None:
    """Draw each map of a record, at most four in a row, with one scale of colours."""
    count = len(record.weights)
    across = min(count, 4)
    grid = {"sharex": True, "sharey": True, "squeeze": False}
    table = part.subplots(-(-count // across), across, **grid)
    for number, axes in enumerate(table.flat):
        if number < count:
            picture = draw_maps(axes, record, number)
            axes.set(xlabel="", ylabel="" if number else record.y.label)
        else:
            axes.set_visible(False)
    part.supxlabel(record.x.label, fontsize=9)
    bar = part.colorbar(picture, ax=table, aspect=30)
    bar.set_label(record.quantity)


def natural_size(record: Maps) -> tuple[float, float]:
    """Return the inches of a figure of one map whose rows and columns all have labels."""
    columns = record.weights.shape[2]
    left, below = (_longest(axis) * CHARACTER * _font(columns) for axis in (record.y, record.x))
    width = max(2.2 + left + columns * _cell(columns), _NARROWEST)
    return width, 1.5 + (below if _is_turned(record) else 0.2) + columns * _cell(columns)


def _limits(record: Maps) -> tuple[float, float]:
    if record.limits:
        return record.limits
    most = float(np.nanmax(np.abs(record.weights), initial=0.0)) or 1.0
    is_signed = record.signed or np.nanmin(record.weights, initial=0.0) < 0
    return -most if is_signed else 0.0, most


def _cell(columns: int) -> float:
    return float(np.clip(7.0 / columns, *_CELL))


def _font(columns: int) -> float:
    return float(np.clip(11 * _cell(columns) / 0.6, *_FONT))


def _longest(axis: Axis) -> int:
    return min(max((len(name) for _, name in axis.ticks or ()), default=0), _LABEL)


def _is_turned(record: Maps) -> bool:
    """Whether the columns' labels are too wide to be written horizontally."""
    columns = record.weights.shape[2]
    is_labelled = record.square and len(record.x.ticks or ()) == columns
    return is_labelled and _longest(record.x) * CHARACTER * _font(columns) > 0.9 * _cell(columns)


def _set_ticks(axis: DrawnAxis, wanted: Axis, cells: int) -> None:
    if wanted.ticks is None:
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        return
    places, names = [at for at, _ in wanted.ticks], [printable(n, _LABEL) for _, n in wanted.ticks]
    axis.set_ticks(places, names, fontsize=_font(cells) if len(names) == cells else 8.5)
