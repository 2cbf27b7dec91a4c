"""Where a translation model looked: heat maps with the tokens beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.style import COLOUR_MAP, new_figure

FORMATS = (".png", ".pdf", ".svg")
START_LABEL, END_LABEL = "<start>", "<end>"  # as tokenizers name them
_EXPLAINED = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}
# Inches.
_HEADING, _HEAD_NAMES, _MARGIN, _BAR = 0.34, 0.2, 0.15, 0.95
_WIDEST, _TALLEST, _LARGEST_CELL = 14.0, 34.0, 0.34
_NARROWEST_FIGURE, _LOWEST_BAR, _HIGHEST_BAR = 5.2, 0.8, 2.2
_PAD = 0.05  # between a map and its labels
# Points, dots.
_SMALLEST_FONT, _LARGEST_FONT = 5.5, 9.5
_BLURRED_FONT, _MORE_DOTS = 7.5, 150
_LINE = 1.25  # height of a line of text, in font sizes


class Block(NamedTuple):
    """The maps of one kind without padding, (L, H, rows, columns), and their labels."""

    kind: str
    weights: np.ndarray
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
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    *,
    title: str = "attention",
) -> Figure:
    """Attention maps of one sentence.

    A map by itself has its tokens on the left and above it, as in Bahdanau et al. 2015, figure 3.
    Several are small multiples: a block for each kind, a row for each layer, a column for each
    head. All have one scale of colours, from 0 to the largest weight.

    `maps` has "cross", and perhaps "encoder" and "decoder": weights (L, H, T, S); (H, T, S) and (T,
    S) are those of one layer, one head. Step t chooses target token t. Pieces are readable tokens,
    with or without "<end>" as the last one; rows and columns after END are padding.

    Raises:
        ValueError: No map, one smaller than its tokens, or of another kind or shape.
    """
    unknown = sorted(set(maps) - set(_EXPLAINED))
    if unknown or not maps:
        raise ValueError(f"maps: expected some of {', '.join(_EXPLAINED)}, got {unknown or 'none'}")
    source, target = _ended(source_pieces), _ended(target_pieces)
    blocks = [_block(kind, maps[kind], source, target) for kind in _EXPLAINED if kind in maps]
    single = len(blocks) == 1 and blocks[0].weights.shape[:2] == (1, 1)
    return _one_map(blocks[0], title) if single else _many_maps(blocks, title)


def _block(kind: str, weights: np.ndarray, source: list[str], target: list[str]) -> Block:
    """Maps without their padding, and the labels of what is left."""
    table = np.nan_to_num(np.asarray(weights, dtype=np.float64))
    if not 2 <= table.ndim <= 4:
        raise ValueError(f"maps[{kind!r}]: expected weights (L, H, T, S), got {table.shape}")
    table = table.reshape((1,) * (4 - table.ndim) + table.shape)
    rows = source if kind == "encoder" else target
    columns = [START_LABEL, *target[:-1]] if kind == "decoder" else source
    height, width = table.shape[2:]
    if not len(rows) - 1 <= height or not len(columns) - 1 <= width:
        raise ValueError(
            f"maps[{kind!r}]: expected at least {len(rows) - 1} rows and {len(columns) - 1} "
            f"columns, a token each, got {height} and {width}"
        )
    table = table[:, :, : len(rows), : len(columns)]
    return Block(kind, table, rows[:height], columns[:width])


def _ended(pieces: Sequence[str]) -> list[str]:
    return [*pieces, *([] if pieces and pieces[-1] == END_LABEL else [END_LABEL])]


def _one_map(block: Block, title: str) -> Figure:
    """One map with its source above it."""
    rows, columns = block.weights.shape[2:]
    longest = max(rows, columns)
    cell = min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    sizes, labels = _sizes([block], cell, most=24)
    width = max(sizes.left + columns * cell + _BAR + _MARGIN, _NARROWEST_FIGURE)
    top = 0.66 + sizes.bottom
    height = top + max(rows * cell, _LOWEST_BAR) + _MARGIN
    figure = _empty(width, height, title, _EXPLAINED[block.kind], sizes)
    norm = _scale([block])
    axes = _place(figure, sizes.left, top, columns * cell, rows * cell)
    _draw_grid(axes, block, sizes, norm)
    _label_rows(axes, labels[0][0], sizes, 0)
    _label_columns(axes, labels[0][1], sizes, 0, above=True)
    _colour_bar(figure, norm, sizes.left + columns * cell + 0.18, top, rows * cell)
    return figure


def _many_maps(blocks: list[Block], title: str) -> Figure:
    """Blocks below each other, each a grid of layers by heads."""
    shapes = [block.weights.shape for block in blocks]
    longest = max(max(shape[2:]) for shape in shapes)
    across = max(shape[1] * (shape[3] + 1) for shape in shapes)
    down = sum(shape[0] * (shape[2] + 1) for shape in shapes)
    fitting = min(_LARGEST_CELL, _WIDEST / across, _TALLEST / down)
    sizes, labels = _sizes(blocks, max(fitting, min(0.075, 3.2 / longest)), most=14)
    grids = [_grid_inches(block, sizes) for block in blocks]
    above = _HEADING + _HEAD_NAMES
    below = sum(above + height + sizes.bottom for _, height in grids)
    right = sizes.left + max(width for width, _ in grids)
    width = max(right + 0.2 + _BAR + _MARGIN, _NARROWEST_FIGURE)
    top = 0.4
    height = top + max(below, above + _LOWEST_BAR) + _MARGIN
    figure = _empty(width, height, title, "", sizes)
    norm = _scale(blocks)
    _colour_bar(figure, norm, right + 0.3, top + above, height - top - above - _MARGIN)
    for block, names, inches in zip(blocks, labels, grids, strict=True):
        _heading(figure, _EXPLAINED[block.kind], top)
        axes = _place(figure, sizes.left, top + above, *inches)
        _draw_grid(axes, block, sizes, norm)
        _label_grid(axes, block, names, sizes)
        top += above + inches[1] + sizes.bottom
    return figure


def _grid_inches(block: Block, sizes: _Sizes) -> tuple[float, float]:
    """Width and height of a block's maps."""
    layers, heads, rows, columns = block.weights.shape
    across, down = heads * (columns + sizes.gap), layers * (rows + sizes.gap)
    return (across - sizes.gap) * sizes.cell, (down - sizes.gap) * sizes.cell


def _draw_grid(axes: Axes, block: Block, sizes: _Sizes, norm: Normalize) -> None:
    """All maps of a block as one picture: an axes for each would take ten times as long."""
    padding = ((0, 0), (0, 0), (0, sizes.gap), (0, sizes.gap))
    spaced = np.pad(block.weights, padding, constant_values=np.nan)
    layers, heads, rows, columns = spaced.shape
    picture = spaced.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    picture = picture[: layers * rows - sizes.gap, : heads * columns - sizes.gap]
    axes.imshow(picture, aspect="auto", cmap=COLOUR_MAP, interpolation="nearest", norm=norm)
    axes.set_axis_off()


def _label_grid(
    axes: Axes, block: Block, labels: tuple[list[str], list[str]], sizes: _Sizes
) -> None:
    """Tokens left of the first heads and below the last layer; the names of heads and layers."""
    layers, heads, rows, columns = block.weights.shape
    pad = _PAD / sizes.cell
    for i in range(layers):
        first = i * (rows + sizes.gap)
        _label_rows(axes, labels[0], sizes, first)
        where = heads * (columns + sizes.gap) - sizes.gap - 0.5 + pad, first + rows / 2 - 0.5
        axes.text(*where, f"layer {i + 1}", rotation=270, va="center", fontsize=8.5)
    for j in range(heads):
        first = j * (columns + sizes.gap)
        _label_columns(axes, labels[1], sizes, first)
        where = first + columns / 2 - 0.5, -0.5 - pad
        axes.text(*where, f"head {j + 1}", ha="center", va="bottom", fontsize=8.5)


def _label_rows(axes: Axes, names: list[str], sizes: _Sizes, first: int) -> None:
    """Tokens left of the picture, beginning at its row `first`."""
    font = label_font(sizes.font)
    options: dict[str, Any] = {"ha": "right", "va": "center_baseline", "parse_math": False}
    for place in range(0, len(names), sizes.every):
        where = -0.5 - _PAD / sizes.cell, first + place
        axes.text(*where, names[place], fontproperties=font, **options)


def _label_columns(
    axes: Axes, names: list[str], sizes: _Sizes, first: int, *, above: bool = False
) -> None:
    """Tokens below or above the picture, beginning at its column `first`."""
    font = label_font(sizes.font)
    options: dict[str, Any] = {"ha": "center", "rotation": 90, "parse_math": False}
    bottom = axes.get_ylim()[0]
    y = -0.5 - _PAD / sizes.cell if above else bottom + _PAD / sizes.cell
    for place in range(0, len(names), sizes.every):
        side = "bottom" if above else "top"
        axes.text(first + place, y, names[place], fontproperties=font, va=side, **options)


def _sizes(
    blocks: list[Block], cell: float, most: int
) -> tuple[_Sizes, list[tuple[list[str], list[str]]]]:
    """Sizes for cells of a side, and each block's labels of rows and columns, cut to `most`."""
    every = math.ceil(_SMALLEST_FONT * _LINE / 72 / cell)
    font = min(_LARGEST_FONT, max(_SMALLEST_FONT, cell * every * 72 / _LINE))
    labels = [
        ([drawable(name, most) for name in b.rows], [drawable(name, most) for name in b.columns])
        for b in blocks
    ]
    left = widest((name for rows, _ in labels for name in rows), font)
    bottom = widest((name for _, columns in labels for name in columns), font)
    gap = math.ceil(0.08 / cell)
    return _Sizes(cell, gap, every, font, left + _PAD + _MARGIN, bottom + _PAD + 0.07), labels


def _empty(width: float, height: float, title: str, subtitle: str, sizes: _Sizes) -> Figure:
    figure = new_figure(width, height, drawable(title), subtitle, placed=True)
    if sizes.font < _BLURRED_FONT:
        figure.set_dpi(_MORE_DOTS)
    for text in figure.texts:
        text.set_parse_math(False)
    return figure


def _heading(figure: Figure, text: str, top: float) -> None:
    """A bold line `top` inches below the upper edge."""
    width, height = figure.get_size_inches()
    where = _MARGIN / width, 1 - (top + 0.06) / height
    figure.text(*where, text, va="top", fontsize=9.5, fontweight="bold")


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
