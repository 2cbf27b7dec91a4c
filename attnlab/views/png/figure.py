"""Figures: each record drawn at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure as drawn
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from attnlab.views.png.attention import attention_figure
from attnlab.views.png.curves import draw_curves, draw_strips
from attnlab.views.png.images import images_figure
from attnlab.views.png.intervals import draw_intervals
from attnlab.views.png.maps import draw_maps, natural_size, panels
from attnlab.views.png.scatter import draw_points, word_map
from attnlab.views.png.style import colour, dashes, marker, new_figure, without_formulas, write
from attnlab.views.png.words import words_figure
from attnlab.views.records import (
    ORANGE,
    AttentionMaps,
    Curves,
    Figure,
    Grid,
    ImageMaps,
    Intervals,
    Maps,
    Scatter,
    ShadedWords,
    Strips,
)

# Records that are drawn into axes, and those that are a figure of their own size.
_IN_AXES: dict[type, Callable[[Axes, Any], Any]] = {
    Curves: draw_curves,
    Intervals: draw_intervals,
    Maps: draw_maps,
    Scatter: draw_points,
    Strips: draw_strips,
}
_WHOLE: dict[type, Callable[[str, str, Any], drawn.Figure]] = {
    AttentionMaps: attention_figure,
    ImageMaps: images_figure,
    Scatter: word_map,
    ShadedWords: words_figure,
}


def draw(figure: Figure) -> drawn.Figure:
    """Draw a figure with matplotlib."""
    record: Any = figure.grids[0].rows[0][0]
    if figure.size is None and type(record) in _WHOLE:
        return _WHOLE[type(record)](figure.title, figure.subtitle, record)
    size = figure.size or natural_size(record)
    whole = new_figure(*size, figure.title, figure.subtitle)
    if len(figure.grids) == 1:
        _draw_grid(whole, figure.grids[0])
        return without_formulas(whole)
    heights = [grid.height for grid in figure.grids]
    parts = whole.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, grid in zip(parts, figure.grids, strict=True):
        _draw_grid(part, grid)
    return without_formulas(whole)


def save(figure: Figure, path: Path) -> Path:
    """Draw a figure into a file, whole or not at all, in the format of the file's name.

    Raises:
        OSError: The file can't be written.
    """
    return write(draw(figure), path)


def _draw_grid(part: Any, grid: Grid) -> None:
    """Draw records into a part of a figure, with a colour bar for each quantity."""
    rows = grid.rows
    first = rows[0][0]
    if isinstance(first, Maps) and len(first.weights) > 1:
        rows = panels(first)
        part.supxlabel(first.x.label, fontsize=9)
    columns = max(grid.columns, *map(len, rows))
    heights = grid.heights or [1.0] * len(rows)
    table = part.subplots(len(rows), columns, height_ratios=heights, squeeze=False)
    bars: dict[str, Any] = {}  # quantity -> what its colour bar needs, and the columns that have it
    for row, (records, cells) in enumerate(zip(rows, table, strict=True)):
        for column, record in enumerate(records):
            if isinstance(record, Curves) and record.same_x:
                cells[column].sharex(table[row + 1, column])
                cells[column].tick_params(labelbottom=False)
            picture = _IN_AXES[type(record)](cells[column], record)
            if isinstance(record, Maps | Scatter):
                bars.setdefault(record.quantity, (picture, record, set()))[2].add(column)
        for axes in cells[len(records) :]:
            axes.set_visible(False)
    for picture, record, places in bars.values():
        _colour_bar(part, table[:, sorted(places)], picture, record)
    if grid.legend:
        _draw_legend(part, grid)
    if grid.warning:
        part.supxlabel(grid.warning, x=0.012, ha="left", fontsize=8, color=colour(ORANGE))


def _colour_bar(part: Any, axes: np.ndarray, picture: Any, record: Maps | Scatter) -> None:
    form = PercentFormatter(1) if isinstance(record, Maps) and record.percent else None
    bar = part.colorbar(picture, ax=axes, format=form, aspect=30)
    bar.set_label(record.quantity, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def _draw_legend(part: Any, grid: Grid) -> None:
    handles = [
        Line2D([], [], color=colour(number), linestyle=dashes(number), marker=marker(number),
               markersize=5, linewidth=1.8, label=label)
        for label, number in grid.legend.items()
    ]  # fmt: skip
    part.legend(
        handles=handles,
        title=grid.legend_title or None,
        title_fontproperties={"weight": "bold", "size": 10},
        alignment="left",
        loc="outside upper left",
        ncols=grid.legend_columns,
        frameon=False,
        fontsize=9,
        handlelength=2.6,
    )
