"""Where a translation model looked: heat maps with the tokens beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from attnlab.analysis.figures import COLOUR_MAP, GREY, new_figure, save
from attnlab.analysis.labels import drawable, label_font, widest
from attnlab.analysis.map_blocks import EXPLAINED, Block, make_blocks
from attnlab.errors import RequestError

FORMATS = (".png", ".pdf", ".svg")
# Inches.
_GAP, _HEADING, _HEAD_NAMES, _MARGIN, _BAR = 0.1, 0.34, 0.2, 0.15, 0.95
_WIDEST, _TALLEST, _LARGEST_CELL = 14.0, 34.0, 0.34
_NARROWEST_FIGURE, _LOWEST_BAR, _HIGHEST_BAR = 5.2, 0.8, 2.2
_SMALLEST_FONT, _LARGEST_FONT = 5.5, 9.5
_BLURRED_FONT, _MORE_DOTS = 7.5, 150
_LINE = 1.25  # height of a line of text, in font sizes


class _Sizes(NamedTuple):
    """Inches: a cell's side, and the room for labels; points: the font. A label each `every`."""

    cell: float
    every: int
    font: float
    left: float
    bottom: float


def draw_maps(
    maps: Mapping[str, np.ndarray],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    path: Path,
    **options: Any,
) -> Path:
    """Draw `maps_figure` into a file.

    Args:
        maps: As there.
        source_pieces: As there.
        target_pieces: As there.
        path: Ends with .png, .pdf or .svg.
        **options: `layer`, `head`, `title`: as there.

    Returns:
        The path.

    Raises:
        RequestError: Another ending; a layer or head that there isn't.
        OSError: The file can't be written.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise RequestError(f"expected a file that ends with {', '.join(FORMATS)}, got {path}.")
    return save(maps_figure(maps, source_pieces, target_pieces, **options), path)


def maps_figure(
    maps: Mapping[str, np.ndarray],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    *,
    layer: int | None = None,
    head: int | None = None,
    title: str = "attention",
) -> Figure:
    """Attention maps of one sentence.

    A map by itself has its tokens on the left and above it, as in Bahdanau et al. 2015, figure 3.
    Several are small multiples: a block for each kind, a row for each layer, a column for each
    head. All have one scale of colours.

    Args:
        maps: "cross", and perhaps "encoder" and "decoder", to weights (L, H, T, S); (H, T, S) and
            (T, S) are taken as those of one layer, one head. Step t chooses target token t.
        source_pieces: Readable source tokens; a column after them is that of END, others padding.
        target_pieces: Readable target tokens; a row after them is that of END, others padding.
        layer: Only this one, from 1.
        head: Only this one, from 1.
        title: Which model looked.

    Raises:
        RequestError: A layer or head that there isn't.
        ValueError: A map smaller than its tokens, or of another kind or shape.
    """
    blocks = make_blocks(maps, source_pieces, target_pieces, layer=layer, head=head)
    single = len(blocks) == 1 and blocks[0].weights.shape[:2] == (1, 1)
    return _one_map(blocks[0], title) if single else _many_maps(blocks, title)


def _one_map(block: Block, title: str) -> Figure:
    """One map with its source above it."""
    rows, columns = block.weights.shape[2:]
    longest = max(rows, columns)
    cell = min(_LARGEST_CELL, max(10.5 / longest, min(0.1, 16 / longest)))
    sizes, labels = _sizes([block], cell, most=24)
    width = max(sizes.left + columns * cell + _BAR + _MARGIN, _NARROWEST_FIGURE)
    top = _title_room() + sizes.bottom
    height = top + max(rows * cell, _LOWEST_BAR) + _MARGIN
    figure = _empty(width, height, title, _subtitle(block), sizes)
    axes = _place(figure, sizes.left, top, columns * cell, rows * cell)
    norm = _scale([block])
    _draw(axes, block.weights[0, 0], norm)
    axes.xaxis.tick_top()
    _label(axes, "x", labels[0][1], sizes)
    _label(axes, "y", labels[0][0], sizes)
    _colour_bar(figure, norm, sizes.left + columns * cell + 0.18, top, rows * cell)
    return figure


def _many_maps(blocks: list[Block], title: str) -> Figure:
    """Blocks below each other, each a grid of layers by heads."""
    shapes = [block.weights.shape for block in blocks]
    longest = max(max(shape[2:]) for shape in shapes)
    across = max(shape[1] * shape[3] for shape in shapes)
    down = sum(shape[0] * shape[2] for shape in shapes)
    fitting = min(_LARGEST_CELL, _WIDEST / across, _TALLEST / down)
    sizes, labels = _sizes(blocks, max(fitting, min(0.075, 3.2 / longest)), most=14)
    grids = [shape[1] * (shape[3] * sizes.cell + _GAP) for shape in shapes]
    width = max(sizes.left + max(grids) + 0.2 + _BAR + _MARGIN, _NARROWEST_FIGURE)
    heights = [
        _HEADING + _HEAD_NAMES + shape[0] * (shape[2] * sizes.cell + _GAP) + sizes.bottom
        for shape in shapes
    ]
    top = _title_room(subtitle=False)
    below = max(sum(heights), _HEADING + _HEAD_NAMES + _LOWEST_BAR) + _MARGIN
    figure = _empty(width, top + below, title, "", sizes)
    norm = _scale(blocks)
    bar = top + _HEADING + _HEAD_NAMES
    _colour_bar(figure, norm, sizes.left + max(grids) + 0.3, bar, below - _MARGIN - bar + top)
    for block, names, height in zip(blocks, labels, heights, strict=True):
        _draw_block(figure, block, names, sizes, norm, top)
        top += height
    return figure


def _draw_block(
    figure: Figure,
    block: Block,
    labels: tuple[list[str], list[str]],
    sizes: _Sizes,
    norm: Normalize,
    top: float,
) -> None:
    """A heading and the maps of one kind below it, beginning `top` inches from the top."""
    height = figure.get_figheight()
    figure.text(
        _MARGIN / figure.get_figwidth(),
        1 - (top + 0.06) / height,
        EXPLAINED[block.kind],
        va="top",
        fontsize=9.5,
        fontweight="bold",
    )
    rows, columns = (size * sizes.cell for size in block.weights.shape[2:])
    for i, j in np.ndindex(block.weights.shape[:2]):
        x = sizes.left + j * (columns + _GAP)
        y = top + _HEADING + _HEAD_NAMES + i * (rows + _GAP)
        axes = _place(figure, x, y, columns, rows)
        _draw(axes, block.weights[i, j], norm)
        last_row, last_column = i + 1 == len(block.layers), j + 1 == len(block.heads)
        _label(axes, "y", labels[0] if j == 0 else None, sizes)
        _label(axes, "x", labels[1] if last_row else None, sizes)
        if i == 0:
            axes.set_title(f"head {block.heads[j]}", fontsize=8.5, pad=3)
        if last_column:
            axes.yaxis.set_label_position("right")
            axes.set_ylabel(f"layer {block.layers[i]}", fontsize=8.5, rotation=270, va="bottom")


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
    probe = Figure(dpi=100)
    left = widest(probe, (name for rows, _ in labels for name in rows), font)
    bottom = widest(probe, (name for _, columns in labels for name in columns), font)
    return _Sizes(cell, every, font, left + _MARGIN + 0.08, bottom + 0.12), labels


def _title_room(subtitle: bool = True) -> float:
    return 0.66 if subtitle else 0.4


def _subtitle(block: Block) -> str:
    """What the rows and columns of one map are, and which of several maps it is."""
    chosen = "" if block.layers == [1] else f"   layer {block.layers[0]}"
    chosen += "" if block.heads == [1] else f"   head {block.heads[0]}"
    return EXPLAINED[block.kind] + chosen


def _empty(width: float, height: float, title: str, subtitle: str, sizes: _Sizes) -> Figure:
    figure = new_figure(width, height, drawable(title), subtitle)
    if sizes.font < _BLURRED_FONT:
        figure.set_dpi(_MORE_DOTS)
    figure.set_layout_engine("none")  # every place is given in inches
    for text in figure.texts:
        text.set_parse_math(False)
    return figure


def _place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the upper left corner."""
    full_width, full_height = figure.get_size_inches()
    return figure.add_axes(
        (
            left / full_width,
            1 - (top + height) / full_height,
            width / full_width,
            height / full_height,
        )
    )


def _scale(blocks: list[Block]) -> Normalize:
    """0 to the largest weight of all maps."""
    largest = max(float(block.weights.max(initial=0)) for block in blocks)
    return Normalize(0, largest or 1.0)


def _draw(axes: Axes, weights: np.ndarray, norm: Normalize) -> None:
    axes.imshow(weights, aspect="auto", cmap=COLOUR_MAP, interpolation="nearest", norm=norm)
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set(edgecolor=GREY, linewidth=0.5)


def _label(axes: Axes, side: str, names: list[str] | None, sizes: _Sizes) -> None:
    """Tokens along one side; none if `names` is None."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    if names is None:
        axis.set_ticks([])
        return
    places = range(0, len(names), sizes.every)
    axis.set_ticks(places, [names[place] for place in places])
    for text in axis.get_ticklabels():
        text.set_fontproperties(label_font(sizes.font))
        text.set_parse_math(False)
        if side == "x":
            text.set_rotation(90)


def _colour_bar(figure: Figure, norm: Normalize, left: float, top: float, height: float) -> None:
    height = min(max(height, _LOWEST_BAR), _HIGHEST_BAR)
    axes = _place(figure, left, top, 0.12, height)
    figure.colorbar(ScalarMappable(norm, COLOUR_MAP), cax=axes)
    axes.set_ylabel("weight", fontsize=9)
    axes.tick_params(labelsize=8)
