"""Texts of which each word is the darker the more weight it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.style import BLUE, ORANGE, new_figure

_MOST_LINES = 6
_MOST_CHARACTERS = 24  # of a word
DARKEST = 0.8  # of the colour, so that black letters can be read on it
# Inches.
_WIDTH, _MARGIN, _TOP, _LINE, _HEADING, _APART = 9.0, 0.15, 0.72, 0.215, 0.24, 0.16
_SPACE, _PAD = 0.035, 0.025
_FONT = 9.5  # points


class ShadedText(NamedTuple):
    """A text, and what is said of it."""

    heading: str
    right: bool  # whether what the model said of it is right: by this the heading has its colour
    words: Sequence[str]  # without padding
    weights: np.ndarray  # one for each word


class _Line(NamedTuple):
    """Words beside each other: places from the left in inches, and weights from 0 to 1."""

    words: list[str]
    places: list[float]
    widths: list[float]
    weights: list[float]


class _Shown(NamedTuple):
    """A text as it is drawn."""

    heading: str
    right: bool
    lines: list[_Line]
    rest: str  # what is said of the words that have no room


def shaded_words_figure(texts: Sequence[ShadedText], title: str, subtitle: str) -> Figure:
    """Texts below each other, of each the first six lines.

    The colour of a word is its weight beside the largest one of its text.
    """
    shown = [_laid_out(text) for text in texts]
    height = _TOP + sum(map(_height, shown)) + _MARGIN
    figure = new_figure(_WIDTH, height, title, subtitle, placed=True)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    top = _TOP
    for each in shown:
        _draw(axes, each, top)
        top += _height(each)
    return figure


def _laid_out(text: ShadedText) -> _Shown:
    own, largest = text.weights, float(text.weights.max(initial=0.0))
    words = [drawable(word, _MOST_CHARACTERS) for word in text.words]
    lines = _lines(words, own / largest if largest else own)
    first = sum(len(line.words) for line in lines[:_MOST_LINES])
    rest = ""
    if len(words) > first:
        rest = f"… {len(words) - first} more words, {own[first:].sum():.0%} of the weight"
    return _Shown(text.heading, text.right, lines[:_MOST_LINES], rest)


def _lines(words: Sequence[str], weights: np.ndarray) -> list[_Line]:
    """Words in lines that fit the width."""
    lines = [_Line([], [], [], [])]
    place = 0.0
    for word, weight in zip(words, weights.tolist(), strict=True):
        width = widest([word], _FONT) + 2 * _PAD
        if lines[-1].words and place + width > _WIDTH - 2 * _MARGIN:
            lines.append(_Line([], [], [], []))
            place = 0.0
        line = lines[-1]
        line.words.append(word)
        line.places.append(place)
        line.widths.append(width)
        line.weights.append(weight)
        place += width + _SPACE
    return lines


def _height(shown: _Shown) -> float:
    return _HEADING + _LINE * (len(shown.lines) + bool(shown.rest)) + _APART


def _draw(axes: Axes, shown: _Shown, top: float) -> None:
    colour = BLUE if shown.right else ORANGE
    plain: dict[str, Any] = {"va": "center", "parse_math": False}
    bold = label_font(9)
    bold.set_weight("bold")
    middle = top + _HEADING / 2
    axes.text(_MARGIN, middle, shown.heading, fontproperties=bold, color=colour, **plain)
    font = label_font(_FONT)
    top += _HEADING
    for line in shown.lines:
        for word, place, width, weight in zip(*line, strict=True):
            corner = _MARGIN + place, top + 0.01
            shade = Rectangle(corner, width, _LINE - 0.02, linewidth=0)
            shade.set(facecolor=BLUE, alpha=DARKEST * weight)
            axes.add_patch(shade)
            where = _MARGIN + place + width / 2, top + _LINE / 2
            axes.text(*where, word, ha="center", fontproperties=font, **plain)
        top += _LINE
    if shown.rest:
        grey: dict[str, Any] = {"fontsize": 8.5, "color": "#444444"}
        axes.text(_MARGIN, top + _LINE / 2, shown.rest, **grey, **plain)
