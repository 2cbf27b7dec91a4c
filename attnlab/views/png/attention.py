"""Attention between words: maps with words at both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.views.png.maps import CHARACTER
from attnlab.views.png.style import COLOUR_MAP, SIGNED_COLOUR_MAP, colour, new_figure, printable
from attnlab.views.records import BLUE, INK, ORANGE, AttentionMap, AttentionMaps

# Inches.
_AROUND = 1.5  # a colour bar with its labels, and margins
_HEADING, _TITLE = 0.3, 0.8
_WIDEST, _TALLEST, _LARGEST_CELL, _NARROWEST = 14.0, 34.0, 0.34, 5.2
_MOST = 24  # characters of a word
_FONT = (5.5, 9.5)  # points: the smallest and the largest
_LINE = 1.4  # height of a line of text, in font sizes
_BOLD = 0.1  # inches of a character of the title


class _Block(NamedTuple):
    """The maps of an item as they are drawn."""

    item: AttentionMap
    weights: np.ndarray  # (layers, heads, rows, columns)
    rows: list[str]
    columns: list[str]


def attention_figure(title: str, subtitle: str, record: AttentionMaps) -> Figure:
    """Draw the items one below the other, with one scale of colours.

    Of each item the first map, its columns above it if it is alone, as in Bahdanau et al. 2015,
    figure 3. With `layers` all maps of an item, a row for each layer, a column for each head.
    """
    blocks = [_block(item, record) for item in record.items]
    cell = _cell(blocks, record.layers > 0)
    every = math.ceil(_FONT[0] * _LINE / 72 / cell)  # rows per label
    font = float(np.clip(cell * every * 72 / _LINE, *_FONT))
    gap = math.ceil(0.08 / cell)  # cells between maps next to each other
    pictures = [_picture(block, gap) for block in blocks]
    left, below = (
        max(len(name) for block in blocks for name in names(block)) * CHARACTER * font
        for names in (lambda block: block.rows, lambda block: block.columns)
    )
    heights = [len(picture) * cell for picture in pictures]
    columns = max(picture.shape[1] for picture in pictures)
    width = columns * cell + left + _AROUND
    texts = _BOLD * len(title), 0.8 * _BOLD * len(subtitle), _NARROWEST
    height = max(sum(heights) + (below + _HEADING) * len(blocks), 1.2) + _TITLE
    figure = new_figure(max(width, *texts), height, title, subtitle, compress=True)
    table = figure.subplots(len(blocks), 1, height_ratios=heights, squeeze=False)[:, 0]
    most = max(float(np.abs(block.weights).max(initial=0)) for block in blocks) or 1.0
    is_signed = any((block.weights < 0).any() for block in blocks)
    norm = Normalize(-most if is_signed else 0, most)
    colours = SIGNED_COLOUR_MAP if is_signed else COLOUR_MAP
    for axes, block, picture in zip(table, blocks, pictures, strict=True):
        axes.imshow(picture, cmap=colours, interpolation="nearest", norm=norm)
        axes.set_xlim(-0.5, columns - 0.5)  # cells of equal size
        axes.spines[:].set_visible(False)
        _label(axes, block, gap, every, font)
        _mark(axes, block, record.across)
        if len(blocks) == 1 and not record.layers:
            axes.xaxis.tick_top()
        axes.tick_params(length=0, pad=5)
        right = block.item.right
        shade = colour(INK if right is None else BLUE if right else ORANGE)
        axes.set_title(block.item.heading, loc="left", fontsize=9.5, color=shade)
    slim = max(6 * sum(heights), 10)  # so that each colour bar is as wide
    figure.colorbar(ScalarMappable(norm, colours), ax=[*table], aspect=slim, label="weight")
    return figure


def _block(item: AttentionMap, record: AttentionMaps) -> _Block:
    layers = record.layers or 1
    maps = item.weights if record.layers else item.weights[:1]
    weights = np.nan_to_num(np.asarray(maps, np.float64))
    weights = weights.reshape(layers, -1, *weights.shape[1:])
    rows, columns = ([printable(w, _MOST) for w in side] for side in (item.rows, item.columns))
    if record.across:
        return _Block(item, weights.swapaxes(2, 3), columns, rows)
    return _Block(item, weights, rows, columns)


def _cell(blocks: Sequence[_Block], grid: bool) -> float:
    """Choose the inches of the largest cells for a figure of a sensible size."""
    layers, heads, rows, columns = np.array([block.weights.shape for block in blocks]).T
    longest = int(max(rows.max(), columns.max()))
    if not grid:
        return min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    across, down = (heads * (columns + 1)).max(), (layers * (rows + 1)).sum()
    return max(min(_LARGEST_CELL, _WIDEST / across, _TALLEST / down), min(0.075, 3.2 / longest))


def _picture(block: _Block, gap: int) -> np.ndarray:
    """Join all maps to one picture: an axes for each would take ten times as long."""
    padding = ((0, 0), (0, 0), (0, gap), (0, gap))
    spaced = np.pad(block.weights, padding, constant_values=np.nan)
    layers, heads, rows, columns = spaced.shape
    picture = spaced.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    return picture[: layers * rows - gap, : heads * columns - gap]


def _label(axes: Axes, block: _Block, gap: int, every: int, font: float) -> None:
    """Write words at the left and below, and the numbers of layers and heads."""
    layers, heads, rows, columns = block.weights.shape
    sides = ((axes.yaxis, layers, block.rows), (axes.xaxis, heads, block.columns))
    for axis, count, names in sides:
        starts = [number * (len(names) + gap) for number in range(count)]
        places = [start + n for start in starts for n in range(0, len(names), every)]
        axis.set_ticks(places, names[::every] * count, fontsize=font)
    axes.tick_params(axis="x", labelrotation=90)
    if layers * heads > 1:
        middles = [head * (columns + gap) + columns / 2 - 0.5 for head in range(heads)]
        top = axes.secondary_xaxis("top")
        top.set_xticks(middles, [f"head {head + 1}" for head in range(heads)])
        middles = [layer * (rows + gap) + rows / 2 - 0.5 for layer in range(layers)]
        right = axes.secondary_yaxis("right")
        names = [f"layer {layer + 1}" for layer in range(layers)]
        right.set_yticks(middles, names, rotation=270, va="center")
        for side in (top, right):
            side.tick_params(length=0)
            side.spines[:].set_visible(False)


def _mark(axes: Axes, block: _Block, across: bool) -> None:
    """Draw frames around links and what the model chose, and a line at the right answer."""
    item, rows = block.item, block.weights.shape[2]
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
