"""Texts whose words are the darker the more weight they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.views.png.labels import drawable, label_font, widest
from attnlab.views.png.style import SOFT, colour, new_figure
from attnlab.views.records import BLUE, ORANGE, ShadedText, ShadedWords

_MOST_LINES = 6
_MOST_CHARACTERS = 24  # of a word, or a name in a heading
DARKEST = 0.8  # of the colour, so that black letters can be read on it
# Inches.
_WIDTH, _MARGIN, _TOP, _LINE, _HEADING, _APART = 9.0, 0.15, 0.72, 0.215, 0.24, 0.16
_SPACE, _PAD = 0.035, 0.025
_FONT = 9.5  # points


class _Line(NamedTuple):
    """Words next to each other: places from the left in inches, and weights from 0 to 1."""

    words: list[str]
    places: list[float]
    widths: list[float]
    weights: list[float]


class _Block(NamedTuple):
    """A text as it is drawn."""

    heading: str
    right: bool
    lines: list[_Line]
    rest: str  # on the words that have no room


def words_figure(title: str, subtitle: str, record: ShadedWords) -> Figure:
    """Draw texts below each other, the first six lines of each, with their first weights.

    The colour of a word is its weight divided by the largest one of its text.
    """
    blocks = [_block(text) for text in record.items]
    height = _TOP + sum(map(_height, blocks)) + _MARGIN
    figure = new_figure(_WIDTH, height, title, subtitle, placed=True)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    top = _TOP
    for block in blocks:
        _draw(axes, block, top)
        top += _height(block)
    return figure


def _block(text: ShadedText) -> _Block:
    own = np.nan_to_num(text.weights[0])
    largest = float(np.abs(own).max(initial=0.0))
    words = [drawable(word, _MOST_CHARACTERS) for word in text.words]
    lines = _lines(words, own / largest if largest else own)
    first = sum(len(line.words) for line in lines[:_MOST_LINES])
    rest = ""
    if len(words) > first:
        rest = f"… {len(words) - first} more words, {own[first:].sum():.0%} of the weight"
    return _Block(_heading(text, largest), text.is_right, lines[:_MOST_LINES], rest)


def _heading(text: ShadedText, largest: float) -> str:
    said = drawable(text.said, _MOST_CHARACTERS)
    if text.label is not None:
        label = drawable(text.label, _MOST_CHARACTERS)
        said = f"right: {label}" if text.is_right else f"wrong: said {said}, is {label}"
    notes = [*[text.note] * bool(text.note), f"largest weight {largest:.2g}"]
    return f"{said}   ({', '.join(notes)})"


def _lines(words: Sequence[str], weights: np.ndarray) -> list[_Line]:
    """Return words in lines that fit the width."""
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


def _height(block: _Block) -> float:
    return _HEADING + _LINE * (len(block.lines) + bool(block.rest)) + _APART


def _draw(axes: Axes, block: _Block, top: float) -> None:
    own = colour(BLUE if block.right else ORANGE)
    plain: dict[str, Any] = {"va": "center", "parse_math": False}
    bold = label_font(9)
    bold.set_weight("bold")
    middle = top + _HEADING / 2
    axes.text(_MARGIN, middle, block.heading, fontproperties=bold, color=own, **plain)
    font = label_font(_FONT)
    top += _HEADING
    for line in block.lines:
        for word, place, width, weight in zip(*line, strict=True):
            corner = _MARGIN + place, top + 0.01
            shade = Rectangle(corner, width, _LINE - 0.02, linewidth=0)
            shade.set(
                facecolor=colour(BLUE if weight >= 0 else ORANGE), alpha=DARKEST * abs(weight)
            )
            axes.add_patch(shade)
            where = _MARGIN + place + width / 2, top + _LINE / 2
            axes.text(*where, word, ha="center", fontproperties=font, **plain)
        top += _LINE
    if block.rest:
        grey: dict[str, Any] = {"fontsize": 8.5, "color": SOFT}
        axes.text(_MARGIN, top + _LINE / 2, block.rest, **grey, **plain)
