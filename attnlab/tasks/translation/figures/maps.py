"""Where a translation model looked: heat maps with the tokens beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.errors import RequestError
from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.style import COLOUR_MAP, ORANGE, new_figure

START_LABEL = "<start>"  # as tokenizers name it
_EXPLAINED = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}
# Inches.
_HEADING, _HEAD_NAMES, _MARGIN, _BAR = 0.34, 0.2, 0.15, 0.95
_WIDEST, _TALLEST, _LARGEST_CELL = 14.0, 34.0, 0.34
_NARROWEST_FIGURE, _LOWEST_BAR, _HIGHEST_BAR = 5.2, 0.8, 2.2
_TITLE_FONT = 12.7  # points, at which the title would be as wide as it is in bold
_PAD = 0.05  # between a map and its labels
# Points.
_SMALLEST_FONT, _LARGEST_FONT = 5.5, 9.5
_LINE = 1.25  # height of a line of text, in font sizes


class Block(NamedTuple):
    """The maps of one kind without padding, and their labels."""

    kind: str
    weights: np.ndarray  # (L, H, rows, columns)
    rows: list[str]
    columns: list[str]


class _Sizes(NamedTuple):
    """Inches: a cell's side, and the room for labels; points: the font. A label each `every`.

    Maps beside each other stand `gap` cells apart.
    """

    cell: float
    gap: int
    every: int
    font: float
    left: float
    bottom: float


def maps_figure(
    maps: Mapping[str, np.ndarray],
    source: list[str],
    target: list[str],
    gold: np.ndarray | None = None,
    *,
    title: str,
    layer: int | None = None,
    head: int | None = None,
    all_heads: bool = False,
) -> Figure:
    """The attention on one sentence.

    One map, of a layer and head, from 1, or the mean over them, has its tokens on the left and
    above it, as in Bahdanau et al. 2015, figure 3. `all_heads` are small multiples: a block for
    each kind, a row for each layer, a column for each head, with one scale of colours.

    `maps` has "cross", and perhaps "encoder" and "decoder": weights (L, H, T, S). Step t chooses
    target token t. Source and target are readable tokens, END the last one; rows and columns behind
    it are padding. `gold`, (T, S), says which tokens belong together. Raises `RequestError` where
    there is no such layer or head.
    """
    if not all_heads:
        cross, chosen = _chosen(np.nan_to_num(np.asarray(maps["cross"], np.float64)), layer, head)
        weights = cross[:, :, : len(target), : len(source)]
        return _one_map(Block("cross", weights, target, source), gold, title, chosen)
    labels = {
        "encoder": (source, source),
        "decoder": (target, [START_LABEL, *target[:-1]]),
        "cross": (target, source),
    }
    blocks = []
    for kind, (rows, columns) in labels.items():
        if kind not in maps:
            continue
        weights = np.nan_to_num(np.asarray(maps[kind], np.float64))
        blocks.append(Block(kind, weights[:, :, : len(rows), : len(columns)], rows, columns))
    return _many_maps(blocks, title)


def _chosen(weights: np.ndarray, layer: int | None, head: int | None) -> tuple[np.ndarray, str]:
    """The mean (1, 1, T, S) over the layers and heads that are wanted, and which those are."""
    words = []
    for axis, (name, wanted) in enumerate({"layer": layer, "head": head}.items()):
        count = weights.shape[axis]
        if wanted is not None:
            if not 1 <= wanted <= count:
                raise RequestError(f"--{name}: expected 1 to {count}, got {wanted}.")
            weights = np.take(weights, [wanted - 1], axis)
        words += [f"{name} {wanted}"] if wanted else [f"mean of {count} {name}s"] * (count > 1)
        weights = weights.mean(axis=axis, keepdims=True)
    return weights, ", ".join(words)


def _one_map(block: Block, gold: np.ndarray | None, title: str, chosen: str) -> Figure:
    """One map with its source above it, and frames around what belongs together."""
    rows, columns = block.weights.shape[2:]
    longest = max(rows, columns)
    cell = min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    sizes, (block,) = _sizes([block], cell, most=24)
    linked = np.argwhere(gold[:rows, :columns]) if gold is not None else ()
    texts = chosen, "rows: target, columns: source", "frames: gold links" if len(linked) else ""
    subtitle = "; ".join(filter(None, texts))
    width = max(sizes.left + columns * cell + _BAR + _MARGIN, _heading_width(title, subtitle))
    top = 0.66 + sizes.bottom
    height = top + max(rows * cell, _LOWEST_BAR) + _MARGIN
    figure = _empty(width, height, title, subtitle)
    norm = _scale([block])
    axes = _place(figure, sizes.left, top, columns * cell, rows * cell)
    _draw_grid(axes, block, sizes, norm)
    for row, column in linked:
        place = column - 0.5, row - 0.5
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor=ORANGE, linewidth=1.5))
    _label_rows(axes, block.rows, sizes, 0)
    _label_columns(axes, block.columns, sizes, 0, above=True)
    _colour_bar(figure, norm, sizes.left + columns * cell + 0.18, top, rows * cell)
    return figure


def _many_maps(blocks: list[Block], title: str) -> Figure:
    """Blocks below each other, each a grid of layers by heads."""
    shapes = np.array([block.weights.shape for block in blocks])
    layers, heads, rows, columns = shapes.T
    across, down = (heads * (columns + 1)).max(), (layers * (rows + 1)).sum()
    fitting = min(_LARGEST_CELL, _WIDEST / across, _TALLEST / down)
    sizes, blocks = _sizes(blocks, max(fitting, min(0.075, 3.2 / shapes[:, 2:].max())), most=14)
    widths = (heads * (columns + sizes.gap) - sizes.gap) * sizes.cell
    heights = (layers * (rows + sizes.gap) - sizes.gap) * sizes.cell
    above, top = _HEADING + _HEAD_NAMES, 0.4
    below = sum(above + height + sizes.bottom for height in heights)
    right = sizes.left + max(widths)
    whole = top + max(below, above + _LOWEST_BAR) + _MARGIN
    width = max(right + 0.2 + _BAR + _MARGIN, _heading_width(title))
    figure = _empty(width, whole, title, "")
    norm = _scale(blocks)
    _colour_bar(
        figure, norm, sizes.left + widths[0] + 0.35, top + above, whole - top - above - _MARGIN
    )
    for block, *inches in zip(blocks, widths, heights, strict=True):
        where = _MARGIN / width, 1 - (top + 0.06) / whole
        text = _EXPLAINED[block.kind]
        figure.text(*where, text, va="top", fontsize=9.5, fontweight="bold")
        axes = _place(figure, sizes.left, top + above, *inches)
        _draw_grid(axes, block, sizes, norm)
        _label_grid(axes, block, sizes)
        top += above + inches[1] + sizes.bottom
    return figure


def _draw_grid(axes: Axes, block: Block, sizes: _Sizes, norm: Normalize) -> None:
    """All maps of a block as one picture: an axes for each would take ten times as long."""
    padding = ((0, 0), (0, 0), (0, sizes.gap), (0, sizes.gap))
    spaced = np.pad(block.weights, padding, constant_values=np.nan)
    layers, heads, rows, columns = spaced.shape
    picture = spaced.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    picture = picture[: layers * rows - sizes.gap, : heads * columns - sizes.gap]
    axes.imshow(picture, aspect="auto", cmap=COLOUR_MAP, interpolation="nearest", norm=norm)
    axes.set_axis_off()


def _label_grid(axes: Axes, block: Block, sizes: _Sizes) -> None:
    """Tokens left of the first heads and below the last layer; the names of heads and layers."""
    layers, heads, rows, columns = block.weights.shape
    pad = _PAD / sizes.cell
    for i in range(layers):
        first = i * (rows + sizes.gap)
        _label_rows(axes, block.rows, sizes, first)
        where = heads * (columns + sizes.gap) - sizes.gap - 0.5 + pad, first + rows / 2 - 0.5
        axes.text(*where, f"layer {i + 1}", rotation=270, va="center", fontsize=8.5)
    for j in range(heads):
        first = j * (columns + sizes.gap)
        _label_columns(axes, block.columns, sizes, first)
        where = first + columns / 2 - 0.5, -0.5 - pad
        axes.text(*where, f"head {j + 1}", ha="center", va="bottom", fontsize=8.5)


def _label_rows(axes: Axes, names: list[str], sizes: _Sizes, first: int) -> None:
    """Tokens left of the picture, beginning at its row `first`."""
    x = -0.5 - _PAD / sizes.cell
    labels = [(x, first + place, name) for place, name in enumerate(names)]
    _write(axes, labels, sizes, ha="right", va="center_baseline")


def _label_columns(
    axes: Axes, names: list[str], sizes: _Sizes, first: int, *, above: bool = False
) -> None:
    """Tokens below or above the picture, beginning at its column `first`."""
    pad = _PAD / sizes.cell
    y, side = (-0.5 - pad, "bottom") if above else (axes.get_ylim()[0] + pad, "top")
    labels = [(first + place, y, name) for place, name in enumerate(names)]
    _write(axes, labels, sizes, ha="center", va=side, rotation=90)


def _write(axes: Axes, labels: list[tuple], sizes: _Sizes, **options: Any) -> None:
    font = label_font(sizes.font)
    for label in labels[:: sizes.every]:
        axes.text(*label, fontproperties=font, parse_math=False, **options)


def _sizes(blocks: list[Block], cell: float, most: int) -> tuple[_Sizes, list[Block]]:
    """Sizes for cells of a side, and the blocks with labels that can be drawn, cut to `most`."""
    every = math.ceil(_SMALLEST_FONT * _LINE / 72 / cell)
    font = min(_LARGEST_FONT, max(_SMALLEST_FONT, cell * every * 72 / _LINE))
    drawn = []
    for block in blocks:
        rows, columns = ([drawable(name, most) for name in names] for names in block[2:])
        drawn.append(block._replace(rows=rows, columns=columns))
    left = widest((name for block in drawn for name in block.rows), font) + _PAD + _MARGIN
    bottom = widest((name for block in drawn for name in block.columns), font) + _PAD + 0.07
    return _Sizes(cell, math.ceil(0.08 / cell), every, font, left, bottom), drawn


def _empty(width: float, height: float, title: str, subtitle: str) -> Figure:
    figure = new_figure(width, height, drawable(title), subtitle, placed=True)
    for text in figure.texts:
        text.set_parse_math(False)
    return figure


def _heading_width(title: str, subtitle: str = "") -> float:
    texts = widest([drawable(title)], _TITLE_FONT), widest([subtitle], _LARGEST_FONT)
    return max(max(texts) + 2 * _MARGIN, _NARROWEST_FIGURE)


def _place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the upper left corner."""
    whole = np.array(figure.get_size_inches())
    x, y = np.array([left, whole[1] - top - height]) / whole
    return figure.add_axes((x, y, *(np.array([width, height]) / whole)))


def _scale(blocks: list[Block]) -> Normalize:
    """0 to the largest weight of all maps."""
    largest = max(float(block.weights.max(initial=0)) for block in blocks)
    return Normalize(0, largest or 1.0)


def _colour_bar(figure: Figure, norm: Normalize, left: float, top: float, height: float) -> None:
    height = min(max(height, _LOWEST_BAR), _HIGHEST_BAR)
    axes = _place(figure, left, top, 0.12, height)
    figure.colorbar(ScalarMappable(norm, COLOUR_MAP), cax=axes)
    axes.set_ylabel("weight", fontsize=9)
    axes.tick_params(labelsize=8)
