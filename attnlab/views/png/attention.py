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

from attnlab.views.png.labels import drawable, label_font, widest
from attnlab.views.png.style import COLOUR_MAP, SIGNED_COLOUR_MAP, axes_at, colour, new_figure
from attnlab.views.records import BLUE, ORANGE, AttentionMap, AttentionMaps

# Inches.
_TOP, _UNTITLED, _HEADING, _HEAD_NAMES, _MARGIN = 0.62, 0.4, 0.3, 0.2, 0.15
_BAR, _APART = 0.95, 0.3  # a colour bar with its labels; its distance from the maps
_WIDEST, _TALLEST, _LARGEST_CELL = 14.0, 34.0, 0.34
_NARROWEST_FIGURE, _LOWEST_BAR, _HIGHEST_BAR = 5.2, 0.8, 2.2
_TITLE_FONT = 12.7  # points, at which the title would be as wide as it is in bold
_PAD = 0.05  # between a map and its labels
_MOST = 24  # characters of a word
# Points.
_SMALLEST_FONT, _LARGEST_FONT = 5.5, 9.5
_LINE = 1.25  # height of a line of text, in font sizes


class _Block(NamedTuple):
    """The maps of an item as they are drawn: labels that can be drawn, weights turned."""

    item: AttentionMap
    weights: np.ndarray  # (layers, heads, rows, columns)
    rows: list[str]
    columns: list[str]
    turned: bool  # whether the item's rows are its columns


class _Sizes(NamedTuple):
    """Inches: a cell's side, and the room for labels; points: the font. A label each `every`."""

    cell: float
    gap: int  # cells between maps next to each other
    every: int
    font: float
    left: float
    below: float  # room for column labels
    named: bool  # whether layers and heads are named


def attention_figure(title: str, subtitle: str, record: AttentionMaps) -> Figure:
    """Draw the items one below the other, with one scale of colours.

    Of each item the first map, its columns above it if it is alone, as in Bahdanau et al. 2015,
    figure 3. With `layers` all maps of an item, a row for each layer, a column for each head.
    """
    blocks = [_block(item, record) for item in record.items]
    sizes = _sizes(blocks, record.layers > 0)
    extents = [_extent(block, sizes) for block in blocks]
    alone = len(blocks) == 1 and not record.layers
    has_headings = any(item.heading for item in record.items)
    above = _HEADING * has_headings + _HEAD_NAMES * sizes.named + sizes.below * alone
    below = sizes.below * (not alone)
    top = _TOP if subtitle else _UNTITLED
    whole = max(sum(above + extent[1] + below for extent in extents), above + _LOWEST_BAR)
    right = sizes.left + max(width for width, _ in extents) + _BAR + _MARGIN
    size = max(right, _heading_width(title, subtitle)), top + whole + _MARGIN
    figure = new_figure(*size, drawable(title), subtitle, placed=True)
    norm = _norm(blocks)
    bar = whole - above if record.layers else extents[0][1]
    place = sizes.left + extents[0][0] + _APART, top + above
    for block, extent in zip(blocks, extents, strict=True):
        _heading(figure, block.item, top)
        axes = axes_at(figure, sizes.left, top + above, *extent)
        _draw(axes, block, sizes, norm, above=alone)
        top += above + extent[1] + below
    _colour_bar(figure, norm, *place, bar)
    for text in figure.texts:
        text.set_parse_math(False)
    return figure


def _block(item: AttentionMap, record: AttentionMaps) -> _Block:
    layers = record.layers or 1
    maps = item.weights if record.layers else item.weights[:1]
    weights = np.nan_to_num(np.asarray(maps, np.float64))
    weights = weights.reshape(layers, -1, *weights.shape[1:])
    rows, columns = ([drawable(word, _MOST) for word in side] for side in (item.rows, item.columns))
    if record.across:
        return _Block(item, weights.swapaxes(2, 3), columns, rows, True)
    return _Block(item, weights, rows, columns, False)


def _sizes(blocks: Sequence[_Block], grid: bool) -> _Sizes:
    """Choose the largest cells for a figure of a sensible size, and fonts that fit the cells."""
    shapes = np.array([block.weights.shape for block in blocks])
    layers, heads, rows, columns = shapes.T
    longest = int(shapes[:, 2:].max())
    if not grid:
        cell = min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    else:
        across, down = (heads * (columns + 1)).max(), (layers * (rows + 1)).sum()
        fitting = min(_LARGEST_CELL, _WIDEST / across, _TALLEST / down)
        cell = max(fitting, min(0.075, 3.2 / longest))
    every = math.ceil(_SMALLEST_FONT * _LINE / 72 / cell)
    font = min(_LARGEST_FONT, max(_SMALLEST_FONT, cell * every * 72 / _LINE))
    left = widest((name for block in blocks for name in block.rows), font) + _PAD + _MARGIN
    below = widest((name for block in blocks for name in block.columns), font) + _PAD + 0.07
    return _Sizes(cell, math.ceil(0.08 / cell), every, font, left, below, grid)


def _extent(block: _Block, sizes: _Sizes) -> tuple[float, float]:
    """Return the width and height of a block's maps in inches."""
    layers, heads, rows, columns = block.weights.shape
    width = (heads * (columns + sizes.gap) - sizes.gap) * sizes.cell
    return width, (layers * (rows + sizes.gap) - sizes.gap) * sizes.cell


def _heading(figure: Figure, item: AttentionMap, top: float) -> None:
    if not item.heading:
        return
    width, height = figure.get_size_inches()
    form: dict[str, Any] = {"va": "top", "fontsize": 9.5, "fontweight": "bold"}
    if item.right is not None:
        form["color"] = colour(BLUE if item.right else ORANGE)
    figure.text(_MARGIN / width, 1 - (top + 0.04) / height, item.heading, **form)


def _draw(axes: Axes, block: _Block, sizes: _Sizes, norm: Normalize, *, above: bool) -> None:
    """Draw all maps of a block as one picture: an axes for each would take ten times as long."""
    padding = ((0, 0), (0, 0), (0, sizes.gap), (0, sizes.gap))
    spaced = np.pad(block.weights, padding, constant_values=np.nan)
    layers, heads, rows, columns = spaced.shape
    picture = spaced.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    picture = picture[: layers * rows - sizes.gap, : heads * columns - sizes.gap]
    axes.imshow(picture, aspect="auto", cmap=_colours(norm), interpolation="nearest", norm=norm)
    axes.set_axis_off()
    _label(axes, block, sizes, above)
    _mark(axes, block)


def _label(axes: Axes, block: _Block, sizes: _Sizes, above: bool) -> None:
    """Write words left of the first heads and at the last layer; names of layers and heads."""
    layers, heads, rows, columns = block.weights.shape
    pad = _PAD / sizes.cell
    small: dict[str, Any] = {"fontsize": 8.5}
    for layer in range(layers):
        first = layer * (rows + sizes.gap)
        _label_rows(axes, block.rows, sizes, first)
        if sizes.named and layers > 1:
            where = heads * (columns + sizes.gap) - sizes.gap - 0.5 + pad, first + rows / 2 - 0.5
            axes.text(*where, f"layer {layer + 1}", rotation=270, va="center", **small)
    for head in range(heads):
        first = head * (columns + sizes.gap)
        _label_columns(axes, block.columns, sizes, first, above=above)
        if sizes.named:
            where = first + columns / 2 - 0.5, -0.5 - pad
            axes.text(*where, f"head {head + 1}", ha="center", va="bottom", **small)


def _label_rows(axes: Axes, names: list[str], sizes: _Sizes, first: int) -> None:
    x = -0.5 - _PAD / sizes.cell
    labels = [(x, first + place, name) for place, name in enumerate(names)]
    _write(axes, labels, sizes, ha="right", va="center_baseline")


def _label_columns(axes: Axes, names: list[str], sizes: _Sizes, first: int, *, above: bool) -> None:
    pad = _PAD / sizes.cell
    y, side = (-0.5 - pad, "bottom") if above else (axes.get_ylim()[0] + pad, "top")
    labels = [(first + place, y, name) for place, name in enumerate(names)]
    _write(axes, labels, sizes, ha="center", va=side, rotation=90)


def _write(axes: Axes, labels: list[tuple], sizes: _Sizes, **options: Any) -> None:
    font = label_font(sizes.font)
    for label in labels[:: sizes.every]:
        axes.text(*label, fontproperties=font, parse_math=False, **options)


def _mark(axes: Axes, block: _Block) -> None:
    """Draw frames around links and what the model chose, and a line at the right answer."""
    item, rows = block.item, block.weights.shape[2]
    for row, column in item.links:
        corner = (row, column) if block.turned else (column, row)
        _frame(axes, corner[0] - 0.5, corner[1] - 0.5, 1, 1, ORANGE)
    if item.said:
        first, last = item.said
        _frame(
            axes, first - 0.5, -0.5, last - first + 1, rows, ORANGE if item.right is False else BLUE
        )
    if item.answer:
        limits = axes.get_xlim(), axes.get_ylim()
        ends = [item.answer[0] - 0.4, item.answer[1] + 0.4]
        line: dict[str, Any] = {"color": colour(BLUE), "linewidth": 2.5, "clip_on": False}
        axes.plot(ends, [rows - 0.3] * 2, **line)
        axes.set(xlim=limits[0], ylim=limits[1])


def _frame(axes: Axes, x: float, y: float, width: float, height: float, number: int) -> None:
    frame = Rectangle((x, y), width, height, fill=False, clip_on=False)
    frame.set(edgecolor=colour(number), linewidth=1.6)
    axes.add_patch(frame)


def _norm(blocks: Sequence[_Block]) -> Normalize:
    """Return a scale from 0 to the largest weight; with weights below 0, as far below."""
    most = max(float(np.abs(block.weights).max(initial=0)) for block in blocks) or 1.0
    signed = any((block.weights < 0).any() for block in blocks)
    return Normalize(-most if signed else 0, most)


def _colours(norm: Normalize) -> str:
    return SIGNED_COLOUR_MAP if norm.vmin else COLOUR_MAP


def _heading_width(title: str, subtitle: str) -> float:
    texts = widest([drawable(title)], _TITLE_FONT), widest([subtitle], _LARGEST_FONT)
    return max(max(texts) + 2 * _MARGIN, _NARROWEST_FIGURE)


def _colour_bar(figure: Figure, norm: Normalize, left: float, top: float, height: float) -> None:
    height = min(max(height, _LOWEST_BAR), _HIGHEST_BAR)
    axes = axes_at(figure, left, top, 0.12, height)
    figure.colorbar(ScalarMappable(norm, _colours(norm)), cax=axes)
    axes.set_ylabel("weight", fontsize=9)
    axes.tick_params(labelsize=8)
