"""Texts whose words are the darker the more weight they have, and images with their maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attnlab.views.png.style import (
    COLOUR_MAP,
    LIGHT,
    SIGNED_COLOUR_MAP,
    SOFT,
    colour,
    new_figure,
    printable,
)
from attnlab.views.records import BLUE, ORANGE, ImageMap, ImageMaps, ShadedText, ShadedWords

_MOST_LINES = 6
_MOST_CHARACTERS = 24  # of a word, or a name in a heading
_MOST_SAID = 16  # characters of an image's class
DARKEST = 0.8  # of the colour, so that black letters can be read on it
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
        own = colour(BLUE if text.is_right else ORANGE)
        heading = _heading(text, largest)
        figure.text(_MARGIN, top, heading, color=own, weight="bold", fontsize=9, **inches)
        x, lines = _MARGIN, 1
        top += _LINE
        for number, (word, weight) in enumerate(zip(text.words, weights, strict=True)):
            shade = {"facecolor": colour(BLUE if weight >= 0 else ORANGE), "linewidth": 0}
            shade |= {"alpha": DARKEST * abs(float(weight)) / (largest or 1.0)}
            box = {"boxstyle": "square,pad=0.15", **shade}
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


def _heading(text: ShadedText, largest: float) -> str:
    said = printable(text.said, _MOST_CHARACTERS)
    if text.label is not None:
        label = printable(text.label, _MOST_CHARACTERS)
        said = f"right: {label}" if text.is_right else f"wrong: said {said}, is {label}"
    notes = [*[text.note] * bool(text.note), f"largest weight {largest:.2g}"]
    return f"{said}   ({', '.join(notes)})"


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
            axes.imshow(picture, interpolation="nearest", aspect="auto", **_colours(picture))
        own = colour(BLUE if item.is_right else ORANGE)
        row[0].set_ylabel(_said(item), rotation=0, ha="right", va="center", color=own)
    for axes, name in zip(table[0], names, strict=True):
        axes.set_title(name, loc="center")
    return figure


def _colours(picture: np.ndarray) -> dict[str, Any]:
    """Return the colours of an image (height, width, channels) or a map of weights."""
    if picture.ndim == 3:
        return {"cmap": "gray", "vmin": 0, "vmax": 255}
    most, signed = np.abs(picture).max() or 1, picture.min() < 0
    colours = SIGNED_COLOUR_MAP if signed else COLOUR_MAP
    return {"cmap": colours, "vmin": -most if signed else 0, "vmax": most}


def _said(item: ImageMap) -> str:
    """Write what an image is, and what the model said."""
    said = printable(item.said, _MOST_SAID)
    lines = [said]
    if not item.is_right:
        lines = [f"said {said}", f"is {printable(str(item.label), _MOST_SAID)}"]
    return "\n".join([*lines, *[f"({item.note})"] * bool(item.note)])
