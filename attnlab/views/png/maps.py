"""Maps of numbers as colours, next to each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import MaxNLocator

from attnlab.views.png.labels import drawable, label_font, widest
from attnlab.views.png.style import BLACK, COLOUR_MAP, SIGNED_COLOUR_MAP
from attnlab.views.records import Axis, Maps

_FONT = (5.0, 9.0)  # points of labels: the smallest and the largest
_LABEL = 22  # characters
_CELL = (0.16, 1.0)  # inches, of a map of whose rows each has a label
_NARROWEST = 7.0


def draw_maps(axes: Axes, record: Maps) -> ScalarMappable:
    """Draw the first map; returns what a colour bar needs."""
    low, high = _limits(record)
    picture = axes.imshow(
        record.weights[0],
        aspect="equal" if record.square else "auto",
        cmap=SIGNED_COLOUR_MAP if _is_signed(record) else COLOUR_MAP,
        interpolation="nearest",
        vmin=low,
        vmax=high,
    )
    axes.set_title(record.names[0] if record.names else "", fontsize=9)
    axes.set(xlabel=record.x.label, ylabel=record.y.label)
    _, rows, columns = record.weights.shape
    _set_ticks(axes.xaxis, record.x, columns)
    _set_ticks(axes.yaxis, record.y, rows)
    if _is_turned(record):
        axes.tick_params(axis="x", labelrotation=90)
    if record.x.ticks is not None:
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for border in range(record.together, rows, record.together) if record.together > 1 else ():
        axes.axhline(border - 0.5, color="white", linewidth=1)
    _write_texts(axes, record)
    return picture


def panels(record: Maps) -> list[list[Maps]]:
    """Split maps into rows of records of one map each, with one scale of colours."""
    limits = _limits(record)
    names = record.names or [""] * len(record.weights)
    count, across = len(names), min(len(names), record.across)
    found = [
        replace(
            record,
            weights=record.weights[n : n + 1],
            names=[name],
            limits=limits,
            signed=_is_signed(record),
            x=record.x._replace(
                label="", ticks=record.x.ticks if n + across >= count else _hidden(record.x)
            ),
            y=record.y._replace(
                label=record.y.label if n == 0 else "",
                ticks=_hidden(record.y) if n % across else record.y.ticks,
            ),
        )
        for n, name in enumerate(names)
    ]
    return [found[n : n + across] for n in range(0, count, across)]


def natural_size(record: Maps) -> tuple[float, float]:
    """Return the inches of a figure of one map whose rows and columns all have labels."""
    columns = record.weights.shape[2]
    cell, font = _cell(columns), _font(columns)
    left, below = (widest(_names(axis), font) for axis in (record.y, record.x))
    width = max(2.2 + left + columns * cell, _NARROWEST)
    return width, 1.5 + (below if _is_turned(record) else 0.2) + columns * cell


def _limits(record: Maps) -> tuple[float, float]:
    if record.limits:
        return record.limits
    most = float(np.nanmax(np.abs(record.weights), initial=0.0)) or 1.0
    return -most if _is_signed(record) else 0.0, most


def _is_signed(record: Maps) -> bool:
    below = record.limits is None and np.nanmin(record.weights, initial=0.0) < 0
    return record.signed or bool(below)


def _cell(columns: int) -> float:
    return float(np.clip(7.0 / columns, *_CELL))


def _font(columns: int) -> float:
    return float(np.clip(11 * _cell(columns) / 0.6, *_FONT))


def _names(axis: Axis) -> list[str]:
    return [drawable(name, _LABEL) for _, name in axis.ticks or ()]


def _hidden(axis: Axis) -> list[tuple[float, str]]:
    return [(at, "") for at, _ in axis.ticks or ()]


def _is_turned(record: Maps) -> bool:
    """Whether the columns' labels are too wide to be written horizontally."""
    columns = record.weights.shape[2]
    is_labelled = record.square and len(record.x.ticks or ()) == columns
    return is_labelled and widest(_names(record.x), _font(columns)) > 0.9 * _cell(columns)


def _set_ticks(axis: DrawnAxis, wanted: Axis, cells: int) -> None:
    axis.set_tick_params(labelsize=8.5)
    if wanted.ticks is None:
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        return
    axis.set_ticks([at for at, _ in wanted.ticks], _names(wanted))
    size = _font(cells) if len(wanted.ticks) == cells else 8.5
    for label in axis.get_ticklabels():
        label.set_fontproperties(label_font(size))
        label.set_parse_math(False)


def _write_texts(axes: Axes, record: Maps) -> None:
    low, high = _limits(record)
    size = _font(record.weights.shape[2])
    for row, texts in enumerate(record.texts):
        for column, text in enumerate(texts):
            if not text:
                continue
            dark = record.weights[0, row, column] < (low + high) / 2
            form: dict[str, Any] = {"color": "white" if dark else BLACK, "fontsize": size}
            axes.text(column, row, text, ha="center", va="center", **form)
