"""Words at their places in a plane, texts whose words are shaded, and images with their maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from attnlab.views.png.style import (
    BLACK,
    LIGHT,
    PALETTE,
    SOFT,
    colour,
    colours_of,
    new_figure,
    printable,
)
from attnlab.views.records import (
    BLUE,
    ORANGE,
    ImageMaps,
    Scatter,
    ShadedWords,
)

_MOST_LINES = 6
_MOST_CHARACTERS = 24  # of a word, or a name in a heading
_MOST_SAID = 16  # characters of an image's class
DARKEST = 0.8  # of the colour, so that black letters can be read on it
_LABEL = 18  # characters of a point's label
_GREY = 0.8  # of a point whose colour has no strength
# Where a label may be next to its point, best first: right, left, above, below, at the corners.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_APART = 7.0  # pixels between a label and its point
# Inches.
_WIDTH, _MARGIN, _TOP, _LINE, _SPACE = 9.0, 0.15, 0.75, 0.23, 0.09
_IMAGE = 1.1


def words_figure(title: str, subtitle: str, record: ShadedWords) -> Figure:
    """Draw texts below each other, the first six lines of each, with their first weights.

    The colour of a word is its weight divided by the largest one of its text.
    """
    figure = new_figure(_WIDTH, 1.0, title, subtitle)
    figure.set_layout_engine(None)
    inches: dict[str, Any] = {"transform": figure.dpi_scale_trans, "va": "center"}
    top = _TOP
    for text in record.items:
        weights = np.nan_to_num(text.weights[0])
        largest = float(np.abs(weights).max(initial=0.0))
        shade = colour(BLUE if text.is_right else ORANGE)
        heading = printable(text.said, _MOST_CHARACTERS)
        if text.label is not None:
            label = printable(text.label, _MOST_CHARACTERS)
            heading = f"right: {label}" if text.is_right else f"wrong: said {heading}, is {label}"
        notes = [text.note] * bool(text.note) + [f"largest weight {largest:.2g}"]
        heading = f"{heading}   ({', '.join(notes)})"
        figure.text(_MARGIN, top, heading, color=shade, weight="bold", fontsize=9, **inches)
        x, lines = _MARGIN, 1
        top += _LINE
        for number, (word, weight) in enumerate(zip(text.words, weights, strict=True)):
            alpha = DARKEST * abs(float(weight)) / (largest or 1.0)
            face = {"facecolor": colour(BLUE if weight >= 0 else ORANGE), "linewidth": 0}
            box = {"boxstyle": "square,pad=0.15", "alpha": alpha, **face}
            label = printable(word, _MOST_CHARACTERS)
            drawn = figure.text(x, top, label, fontsize=9.5, bbox=box, **inches)
            width = drawn.get_window_extent().width / figure.dpi
            if x > _MARGIN and x + width > _WIDTH - _MARGIN:
                x, lines, top = _MARGIN, lines + 1, top + _LINE
                drawn.set_position((x, top))
            if lines > _MOST_LINES:
                drawn.remove()
                left = len(weights) - number
                more = f"… {left} more words, {weights[number:].sum():.0%} of the weight"
                figure.text(x, top, more, fontsize=8.5, color=SOFT, **inches)
                break
            x += width + _SPACE
        top += 1.6 * _LINE
    for drawn in figure.texts[2:]:
        drawn.set_y(top - drawn.get_position()[1])
    for drawn, y in zip(figure.texts, (0.09, 0.32), strict=False):
        drawn.set_y(1 - y / top)
    figure.set_size_inches(_WIDTH, top)
    return figure


def images_figure(title: str, subtitle: str, record: ImageMaps) -> Figure:
    """Draw a row for each image: the image, then its maps, each with its own scale."""
    names = ["image", *record.maps]
    size = 1.6 + _IMAGE * len(names), 0.8 + _IMAGE * len(record.items)
    figure = new_figure(max(size[0], 6.6), size[1], title, subtitle)
    table = figure.subplots(len(record.items), len(names), squeeze=False)
    for row, item in zip(table, record.items, strict=True):
        pictures = [item.pixels, *np.nan_to_num(np.asarray(item.weights, np.float64))]
        for axes, picture in zip(row, pictures, strict=True):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color=LIGHT, linewidth=0.6)
            gray = {"cmap": "gray", "vmin": 0, "vmax": 255}
            colours = gray if picture is item.pixels else colours_of(picture)
            axes.imshow(picture, interpolation="nearest", aspect="auto", **colours)
        shade = colour(BLUE if item.is_right else ORANGE)
        said = printable(item.said, _MOST_SAID)
        if not item.is_right:
            said = f"said {said}\nis {printable(str(item.label), _MOST_SAID)}"
        said += f"\n({item.note})" if item.note else ""
        row[0].set_ylabel(said, rotation=0, ha="right", va="center", color=shade)
    for axes, name in zip(table[0], names, strict=True):
        axes.set_title(name, loc="center")
    return figure


def word_map(title: str, subtitle: str, record: Scatter) -> Figure:
    """Draw a figure of labelled points; the subtitle says how many labels have room."""
    figure = new_figure(10.0, 8.6, title, subtitle)
    axes = figure.subplots()
    groups = record.groups
    count, palette = max(len(groups), 1), [shade for shade in PALETTE if shade != BLACK]
    colours = np.array([to_rgb(shade) for shade in palette[:count]])
    if count > len(palette):
        colours = colormaps["turbo"](np.linspace(0.05, 0.95, count))[:, :3]
    shades = colours[np.asarray(record.members)] if len(record.members) else colours[:1]
    if len(record.strengths):
        shades = _GREY + np.asarray(record.strengths)[:, None] * (shades - _GREY)
    x, y = record.points.T
    axes.scatter(x, y, s=16 if groups else 7, c=shades, linewidths=0, zorder=2)
    if groups:
        handles = [axes.scatter([], [], s=16, color=[shade]) for shade in colours]
        names = [printable(name, _LABEL) for name in groups]
        axes.legend(handles, names, loc="upper right", fontsize=8)
    axes.set(xticks=[], yticks=[], xlabel=record.x_label, ylabel=record.y_label)
    axes.spines[["left", "bottom"]].set_color(LIGHT)
    axes.margins(0.08)
    figure.draw_without_rendering()  # so that places on the figure are known, and remain
    figure.set_layout_engine("none")
    if (labelled := _label(axes, record.points, record.labels)) < len(record.labels):
        figure.texts[1].set_text(f"{subtitle}; {labelled} have room for a label")
    return figure


def _label(axes: Axes, points: np.ndarray, labels: Sequence[str]) -> int:
    """Write the labels that cover neither another one nor the legend; returns how many."""
    legend, frame = axes.get_legend(), axes.get_window_extent()
    boxes = [legend.get_window_extent()] if legend else []
    for point, label in zip(points, labels, strict=True):
        word = printable(label, _LABEL)
        form: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 3}
        text = axes.annotate(word, point, (0, 0), textcoords="offset pixels", **form)
        middle = text.get_window_extent()
        for side in _SIDES if label.strip() else ():
            x, y = np.array(side) * (np.array(middle.size) / 2 + _APART)
            box = middle.translated(x, y)
            inside = frame.contains(*box.min) and frame.contains(*box.max)
            if inside and not box.count_overlaps(boxes):
                text.set_position((x, y))
                boxes.append(box)
                break
        else:
            text.remove()
    return len(axes.texts)
