"""Figures: each record drawn at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.figure as drawn
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D

from attnlab.records.files import replacing
from attnlab.views.png.curves import draw_curves, draw_intervals, draw_strips
from attnlab.views.png.maps import attention_figure, draw_maps, draw_panels, natural_size
from attnlab.views.png.style import colour, dashes, drawing, marker, new_figure
from attnlab.views.png.words import images_figure, word_map, words_figure
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
    Strips: draw_strips,
}
_WHOLE: dict[type, Callable[[str, str, Any], drawn.Figure]] = {
    AttentionMaps: attention_figure,
    ImageMaps: images_figure,
    Scatter: word_map,
    ShadedWords: words_figure,
}
# Inches of a chart on a page: width, height without rows and legend, height of a row of a group and
# of a baseline, height of a line of a legend.
_NARROW, _WIDE, _HEIGHT, _ROW, _LINE, _LEGEND = 4.4, 11.0, 2.7, 0.46, 0.22, 0.18


def draw(figure: Figure) -> drawn.Figure:
    """Draw a figure with matplotlib."""
    record: Any = figure.grids[0].rows[0][0]
    with drawing():
        if figure.size is None and type(record) in _WHOLE:
            return _WHOLE[type(record)](figure.title, figure.subtitle, record)
        width, height = figure.size or natural_size(record)
        if figure.size is None:
            width = max(width, 0.1 * len(figure.title))  # bold characters
        whole = new_figure(width, height, figure.title, figure.subtitle)
        heights = [grid.height for grid in figure.grids]
        parts = whole.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, grid in zip(parts, figure.grids, strict=True):
            _draw_grid(part, grid)
    return whole


def save(figure: Figure, path: Path) -> Path:
    """Draw a figure into a file, whole or not at all, in the format of the file's name.

    Raises:
        OSError: The file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = draw(figure)
    with drawing(), replacing(path) as temporary:
        if path.suffix == ".png":
            FigureCanvasAgg(picture).print_png(temporary)  # `savefig` would draw twice
        else:
            picture.savefig(temporary)
    return path


def picture(figure: Figure, form: str) -> bytes:
    """Draw a figure as `png` or `svg`."""
    file, drawn_figure = BytesIO(), draw(figure)
    with drawing():
        drawn_figure.savefig(file, format=form)
    return file.getvalue()


def svg_chart(record: Curves | Intervals) -> bytes:
    """Draw a chart of a page, without its title."""
    if isinstance(record, Intervals):
        height = 0.9 + _ROW * max(2, len(record.rows)) + _LINE * len(record.lines)
        width = _NARROW
    else:
        height, width = _HEIGHT, _WIDE if record.wide else _NARROW
        height += 0 if record.wide else _LEGEND * len(record.curves)
        record = replace(record, legend="above")
    file = BytesIO()
    with drawing():
        figure = drawn.Figure(figsize=(width, height), layout="constrained")
        _IN_AXES[type(record)](figure.add_subplot(), replace(record, title=""))
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    return file.getvalue()


def _draw_grid(part: Any, grid: Grid) -> None:
    """Draw records into a part of a figure, with a colour bar for each quantity."""
    rows = grid.rows
    if isinstance(rows[0][0], Maps) and len(rows[0][0].weights) > 1:
        draw_panels(part, rows[0][0])
        return
    columns = max(grid.columns, *map(len, rows))
    table = part.subplots(len(rows), columns, squeeze=False)
    bars: dict[str, Any] = {}  # quantity -> what its colour bar needs, and the columns that have it
    for row, (records, cells) in enumerate(zip(rows, table, strict=True)):
        for column, record in enumerate(records):
            if isinstance(record, Curves) and record.same_x:
                cells[column].sharex(table[row + 1, column])
                cells[column].tick_params(labelbottom=False)
            picture = _IN_AXES[type(record)](cells[column], record)
            if isinstance(record, Maps):
                bars.setdefault(record.quantity, (picture, set()))[1].add(column)
        for axes in cells[len(records) :]:
            axes.set_visible(False)
    for quantity, (picture, places) in bars.items():
        bar = part.colorbar(picture, ax=table[:, sorted(places)], aspect=30)
        bar.set_label(quantity)
    if grid.legend:
        handles = [
            Line2D([], [], color=colour(n), linestyle=dashes(n), marker=marker(n), label=label)
            for label, n in grid.legend.items()
        ]
        part.legend(
            handles=handles,
            title=grid.legend_title or None,
            title_fontproperties={"weight": "bold", "size": 10},
            alignment="left",
            loc="outside upper left",
            ncols=grid.legend_columns,
            handlelength=2.6,
        )
    if grid.warning:
        part.supxlabel(grid.warning, x=0.012, ha="left", fontsize=8, color=colour(ORANGE))
