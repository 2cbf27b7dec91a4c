"""Where the words of a text looked in the question: a map for each of some questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.style import BLUE, COLOUR_MAP, ORANGE, new_figure, run_title
from attnlab.tasks.accuracy_tests import wrong_first

_MOST_MAPS, _MOST_COLUMNS, _MOST_ROWS = 6, 60, 24
_MOST_CHARACTERS = 18  # of a word
# Inches.
_CELL, _HEADING, _MARGIN, _TOP, _APART, _BAR = 0.175, 0.24, 0.15, 0.74, 0.14, 0.75
_NARROWEST = 7.5
_FONT = 8.5  # points


def looks_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """A map for each of up to six questions, wrong ones first: words of the text ask, across.

    A column is a word of the text, a row one of the question; of several heads the mean is shown.
    A frame is around the words that were said, a line below the right answer. Of long texts the
    60 words around the answer are shown.

    Args:
        kept: what `looked_at` has of some questions; `right` and `index` may be missing.
        metrics: the run's.
    """
    heads = kept["weights"].shape[1]
    right = kept.get("right", np.ones(len(kept["weights"]), bool))
    rows = wrong_first(right, _MOST_MAPS)
    shown = [_Map(kept, row) for row in rows]
    left = max(widest(each.question, _FONT) for each in shown) + 0.1 + _MARGIN
    width = max(left + max(len(each.text) for each in shown) * _CELL + _BAR + _MARGIN, _NARROWEST)
    height = _TOP + sum(each.height for each in shown) + _MARGIN
    subtitle = f"mean over {heads} heads; " if heads > 1 else ""
    subtitle += "each word of the text (across) looks at the question (down); framed: what was said"
    if "right" in kept:
        subtitle += "; line below: the right answer"
    title = f"{run_title(metrics)}: attention on the question"
    figure = new_figure(width, height, title, subtitle, placed=True)
    largest = max(float(each.weights.max(initial=0.0)) for each in shown) or 1.0
    norm = Normalize(0, largest)
    top = _TOP
    for each in shown:
        each.draw(figure, left, top, norm)
        top += each.height
    first = shown[0]
    bar_height = min(max(len(first.question) * _CELL, 0.8), 1.6)
    place = left + len(first.text) * _CELL + 0.2, _TOP + _HEADING
    axes = _axes(figure, *place, 0.12, bar_height)
    figure.colorbar(ScalarMappable(norm, COLOUR_MAP), cax=axes)
    axes.tick_params(labelsize=8)
    axes.set_ylabel("weight", fontsize=8)
    return figure


class _Map:
    """One question's weights without padding, and what is said of them."""

    def __init__(self, kept: Mapping[str, np.ndarray], row: int) -> None:
        question = [str(word) for word in kept["question"][row] if word][:_MOST_ROWS]
        text = [str(word) for word in kept["text"][row] if word]
        self.said = tuple(int(place) for place in kept["prediction"][row])
        self.answer = tuple(int(place) for place in kept["answer"][row])
        around = max(self.said[0], self.answer[0], 0)
        first = max(min(around - _MOST_COLUMNS // 2, len(text) - _MOST_COLUMNS), 0)
        weights = np.nan_to_num(np.asarray(kept["weights"][row], np.float64)).mean(axis=0)
        self.first = first
        self.weights = weights[first : first + _MOST_COLUMNS][
            : len(text) - first, : len(question)
        ].T
        self.question = [drawable(word, _MOST_CHARACTERS) for word in question]
        own = text[first : first + _MOST_COLUMNS]
        self.text = [drawable(word, _MOST_CHARACTERS) for word in own]
        self.known = "right" in kept
        self.right = bool(kept["right"][row]) if self.known else True
        self.number = int(kept["index"][row]) if "index" in kept else None
        self.below = widest(self.text, _FONT) + 0.1

    @property
    def height(self) -> float:
        """Inches, with heading and labels."""
        return _HEADING + len(self.question) * _CELL + self.below + _APART

    def draw(self, figure: Figure, left: float, top: float, norm: Normalize) -> None:
        """Draw the heading at `top`, and the map with its labels below it."""
        if self.known:
            heading = f"{'right' if self.right else 'wrong'}   (test question {self.number})"
            inches = figure.get_size_inches()
            where = _MARGIN / inches[0], 1 - top / inches[1]
            colour = BLUE if self.right else ORANGE
            figure.text(*where, heading, va="top", fontsize=9, fontweight="bold", color=colour)
        rows, columns = self.weights.shape
        axes = _axes(figure, left, top + _HEADING, columns * _CELL, rows * _CELL)
        axes.imshow(
            self.weights, aspect="auto", cmap=COLOUR_MAP, norm=norm, interpolation="nearest"
        )
        axes.set_yticks(range(rows), self.question)
        axes.set_xticks(range(columns), self.text, rotation=90)
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            label.set_fontproperties(label_font(_FONT))
            label.set_parse_math(False)
        axes.tick_params(length=0, pad=3)
        axes.spines[:].set_visible(False)
        self._mark(axes, rows)

    def _mark(self, axes: Axes, rows: int) -> None:
        """The frame around what was said, and the line below the right answer."""
        if self.said[0] >= 0:
            first, last = (place - self.first for place in self.said)
            frame = Rectangle(
                (first - 0.5, -0.5), last - first + 1, rows, fill=False, clip_on=False
            )
            frame.set(edgecolor=BLUE if self.right else ORANGE, linewidth=1.8)
            axes.add_patch(frame)
        if self.known and self.answer[0] >= 0:
            first, last = (place - self.first for place in self.answer)
            ends = [first - 0.4, last + 0.4]
            axes.plot(ends, [rows - 0.3] * 2, color=BLUE, linewidth=2.5, clip_on=False)
            axes.set_xlim(-0.5, len(self.text) - 0.5)
            axes.set_ylim(rows - 0.5, -0.5)


def _axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the upper left corner."""
    whole = figure.get_size_inches()
    corner = left / whole[0], 1 - (top + height) / whole[1]
    return figure.add_axes((*corner, width / whole[0], height / whole[1]))
