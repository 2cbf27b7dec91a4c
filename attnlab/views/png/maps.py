"""Maps of numbers as colours, next to each other, and maps between words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from attnlab.views.png.style import (
    BLACK,
    colour,
    colours_of,
    new_figure,
    printable,
)
from attnlab.views.records import BLUE, INK, ORANGE, AttentionMap, AttentionMaps, Axis, Maps

_FONT, _WORD_FONT = (5.0, 9.0), (5.5, 9.5)  # points of labels: the smallest and the largest
_LABEL = 22  # characters
_CELL = (0.16, 1.0)  # inches, of a map of whose rows each has a label
_NARROWEST = 7.0
_CHARACTER = 0.62 / 72  # inches of a character in a font of one point
_ACROSS = 4  # maps in a row
# Of maps between words, in inches.
_AROUND = 1.5  # a colour bar with its labels, and margins
_HEADING, _TITLE = 0.3, 0.8
_LARGEST_CELL, _NARROWEST_FIGURE = 0.34, 5.2
_WORD = 24  # characters
_LINE = 1.4  # height of a line of text, in font sizes
_BOLD = 0.1  # inches of a character of the title


def draw_maps(axes: Axes, record: Maps, number: int = 0) -> ScalarMappable:
    """Draw a map; returns what a colour bar needs."""
    colours = colours_of(record.weights, record.limits, record.signed)
    _, rows, columns = record.weights.shape
    aspect: Any = "equal" if record.square else "auto"
    picture = axes.imshow(record.weights[number], aspect=aspect, interpolation="nearest", **colours)
    axes.set_title(record.names[number] if record.names else "", loc="center")
    axes.set(xlabel=record.x.label, ylabel=record.y.label)
    _set_ticks(axes.xaxis, record.x, columns)
    _set_ticks(axes.yaxis, record.y, rows)
    if _is_turned(record):
        axes.tick_params(axis="x", labelrotation=90)
    if record.x.ticks is not None:
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    middle = (colours["vmin"] + colours["vmax"]) / 2
    for row, texts in enumerate(record.texts):
        for column, text in enumerate(texts):
            dark = record.weights[number, row, column] < middle
            form: dict[str, Any] = {"color": "white" if dark else BLACK, "fontsize": _font(columns)}
            axes.text(column, row, text, ha="center", va="center", **form)
    return picture


def draw_panels(part: Any, record: Maps) -> None:
    """Draw each map of a record, a few in a row, with one scale of colours."""
    count = len(record.weights)
    across = min(count, _ACROSS)
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
    """Return the inches of a figure of maps whose rows and columns all have labels."""
    count, rows, columns = record.weights.shape
    if count > 1:
        cell = float(np.clip(3 / max(rows, columns), 0.1, _LARGEST_CELL))
        left, below = (
            _longest(axis) * _CHARACTER * _font(columns) for axis in (record.y, record.x)
        )
        across = min(count, _ACROSS)
        width = across * (max(columns * cell, 1.4) + 0.2) + left + _AROUND
        return width, -(-count // across) * (rows * cell + _HEADING) + below + _TITLE
    left, below = (_longest(axis) * _CHARACTER * _font(columns) for axis in (record.y, record.x))
    width = max(2.2 + left + columns * _cell(columns), _NARROWEST)
    return width, 1.5 + (below if _is_turned(record) else 0.2) + columns * _cell(columns)


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
    return is_labelled and _longest(record.x) * _CHARACTER * _font(columns) > 0.9 * _cell(columns)


def _set_ticks(axis: DrawnAxis, record: Axis, cells: int) -> None:
    if record.ticks is None:
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        return
    places, names = [at for at, _ in record.ticks], [printable(n, _LABEL) for _, n in record.ticks]
    axis.set_ticks(places, names, fontsize=_font(cells) if len(names) == cells else 8.5)


def attention_figure(title: str, subtitle: str, record: AttentionMaps) -> Figure:
    """Draw the first map of each item, one below the other, with one scale of colours.

    The columns are named above a map that is alone, as in Bahdanau et al. 2015, figure 3.
    """
    maps = [np.nan_to_num(np.asarray(item.weights[0], np.float64)) for item in record.items]
    words = [[printable(w, _WORD) for w in item.rows] for item in record.items]
    others = [[printable(w, _WORD) for w in item.columns] for item in record.items]
    if record.across:
        maps, words, others = [weights.T for weights in maps], others, words
    longest = max(max(weights.shape) for weights in maps)
    cell = min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    every = math.ceil(_WORD_FONT[0] * _LINE / 72 / cell)  # rows per label
    font = float(np.clip(cell * every * 72 / _LINE, *_WORD_FONT))
    left, below = (
        max(len(name) for names in sides for name in names) * _CHARACTER * font
        for sides in (words, others)
    )
    heights = [len(weights) * cell for weights in maps]
    columns = max(weights.shape[1] for weights in maps)
    widths = _BOLD * len(title), 0.8 * _BOLD * len(subtitle), _NARROWEST_FIGURE
    width = max(columns * cell + left + _AROUND, *widths)
    height = max(sum(heights) + (below + _HEADING) * len(maps), 1.2) + _TITLE
    figure = new_figure(width, height, title, subtitle, compress=True)
    table = figure.subplots(len(maps), 1, height_ratios=heights, squeeze=False)[:, 0]
    colours = colours_of(np.concatenate([weights.ravel() for weights in maps]))
    for axes, item, weights, rows, names in zip(
        table, record.items, maps, words, others, strict=True
    ):
        picture = axes.imshow(weights, interpolation="nearest", **colours)
        axes.set_xlim(-0.5, columns - 0.5)  # cells of equal size
        axes.spines[:].set_visible(False)
        axes.set_yticks(range(0, len(rows), every), rows[::every], fontsize=font)
        axes.set_xticks(range(0, len(names), every), names[::every], fontsize=font)
        if len(maps) == 1:
            axes.xaxis.tick_top()
        axes.tick_params(axis="x", labelrotation=90)
        axes.tick_params(length=0, pad=5)
        _mark(axes, item, len(rows), record.across)
        shade = colour(INK if item.right is None else BLUE if item.right else ORANGE)
        axes.set_title(item.heading, loc="left", fontsize=9.5, color=shade)
    slim = max(6 * sum(heights), 10)  # so that each colour bar is as wide
    figure.colorbar(picture, ax=[*table], aspect=slim, label="weight")
    return figure


def _mark(axes: Axes, item: AttentionMap, rows: int, across: bool) -> None:
    """Draw frames around links and what the model chose, and a line at the right answer."""
    frames = [(*(link if across else link[::-1]), 1, 1, ORANGE) for link in item.links]
    if item.said:
        first, last = item.said
        frames.append((first, 0, last - first + 1, rows, ORANGE if item.right is False else BLUE))
    for x, y, width, height, number in frames:
        form: dict[str, Any] = {"edgecolor": colour(number), "linewidth": 1.6, "clip_on": False}
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), width, height, fill=False, **form))
    if item.answer:
        line: dict[str, Any] = {"color": colour(BLUE), "linewidth": 2.5, "clip_on": False}
        axes.hlines(rows - 0.3, item.answer[0] - 0.4, item.answer[1] + 0.4, **line)
        axes.set(ylim=(rows - 0.5, -0.5))
