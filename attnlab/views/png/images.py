"""Images and where a model looked on them: the brighter a patch, the more weight it has."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnlab.views.png.labels import drawable, label_font
from attnlab.views.png.style import (
    COLOUR_MAP,
    LIGHT,
    SIGNED_COLOUR_MAP,
    axes_at,
    colour,
    new_figure,
)
from attnlab.views.records import BLUE, ORANGE, ImageMap, ImageMaps

_MOST_CHARACTERS = 16
# Inches.
_CELL, _GAP, _LEFT, _TOP, _NAMES, _BELOW = 1.0, 0.07, 1.45, 0.62, 0.24, 0.1


def images_figure(title: str, subtitle: str, record: ImageMaps) -> Figure:
    """Draw a row for each image: the image, then its maps, each with its own scale."""
    names = ["image", *record.maps]
    width = max(_LEFT + len(names) * (_CELL + _GAP) + _GAP, 6.6)
    height = _TOP + _NAMES + len(record.items) * (_CELL + _GAP) + _BELOW
    figure = new_figure(width, height, title, subtitle, placed=True)
    for row, item in enumerate(record.items):
        top = _TOP + _NAMES + row * (_CELL + _GAP)
        pictures = [item.pixels, *np.nan_to_num(np.asarray(item.weights, np.float64))]
        for column, (name, picture) in enumerate(zip(names, pictures, strict=True)):
            axes = axes_at(figure, _LEFT + column * (_CELL + _GAP), top, _CELL, _CELL)
            _draw(axes, picture)
            if row == 0:
                axes.set_title(name, fontsize=9, pad=4)
            if column == 0:
                _write(axes, item)
    return figure


def _draw(axes: Axes, picture: np.ndarray) -> None:
    """Draw an image of bytes, (height, width, channels), or a map of weights, (rows, columns)."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color(LIGHT)
    axes.spines[:].set_linewidth(0.6)
    style: dict[str, Any] = {"interpolation": "nearest", "aspect": "auto"}
    if picture.ndim == 2:
        most, signed = np.abs(picture).max() or 1, picture.min() < 0
        colours = SIGNED_COLOUR_MAP if signed else COLOUR_MAP
        axes.imshow(picture, cmap=colours, vmin=-most if signed else 0, vmax=most, **style)
    elif picture.shape[-1] == 1:
        axes.imshow(picture[..., 0], cmap="gray", vmin=0, vmax=255, **style)
    else:
        axes.imshow(picture, **style)


def _write(axes: Axes, item: ImageMap) -> None:
    """Write what an image is, and what the model said, at its left."""
    said = drawable(item.said, _MOST_CHARACTERS)
    lines = [said]
    if not item.is_right:
        lines = [f"said {said}", f"is {drawable(str(item.label), _MOST_CHARACTERS)}"]
    lines += [f"({item.note})"] * bool(item.note)
    form: dict[str, Any] = {"ha": "right", "va": "center", "parse_math": False}
    form |= {"color": colour(BLUE if item.is_right else ORANGE), "fontproperties": label_font(9)}
    axes.text(-0.08, 0.5, "\n".join(lines), transform=axes.transAxes, **form)
