"""Where a classifier looked: the words of test texts, the darker the more weight they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.style import BLUE, ORANGE, new_figure, run_title
from attnlab.tasks.classification.word_weights import word_weights

_MOST_TEXTS, _MOST_LINES = 10, 6
_MOST_CHARACTERS = 24  # of a word
_DARKEST = 0.8  # of the colour, so that black letters can be read on it
# Inches.
_WIDTH, _MARGIN, _TOP, _LINE, _HEADING, _APART = 9.0, 0.15, 0.72, 0.215, 0.24, 0.16
_SPACE, _PAD = 0.035, 0.025
_FONT = 9.5  # points


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


def words_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """The attention on the words of some test texts, those that it got wrong first.

    The colour of a word is its weight beside the largest one of its text. Of several heads and of
    several queries, those of padding left out, the mean is shown. Up to ten texts, half of them
    wrong ones where there are as many; of each the first six lines.

    Args:
        kept: `weights` (N, H, T, S); `tokens` (N, S), "" where there is padding; `prediction` (N,),
            names of classes; of texts whose class is known also `label` (N,), and `index` (N,),
            rows of predictions.csv.
        metrics: the run's.
    """
    weights = np.nan_to_num(np.asarray(kept["weights"], np.float64))
    _, heads, queries, _ = weights.shape
    mean = word_weights(weights, kept["tokens"] != "").mean(axis=1)
    labels = kept.get("label", kept["prediction"])
    rows = _chosen(labels == kept["prediction"])
    shown = [_laid_out(kept, mean[row], row) for row in rows]
    height = _TOP + sum(map(_height, shown)) + _MARGIN
    means = [f"{heads} heads"] * (heads > 1) + ["the queries of a text"] * (queries > 1)
    subtitle = f"mean over {' and '.join(means)}; " if means else ""
    subtitle += "darkest: the largest weight of a text"
    figure = new_figure(
        _WIDTH, height, f"{run_title(metrics)}: attention on words", subtitle, placed=True
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    top = _TOP
    for each in shown:
        _draw(axes, each, top)
        top += _height(each)
    return figure


def _chosen(right: np.ndarray) -> list[int]:
    """Rows of some texts, wrong ones first: half of each where there are as many."""
    wrong, correct = np.flatnonzero(~right).tolist(), np.flatnonzero(right).tolist()
    half = _MOST_TEXTS // 2
    wrong = wrong[: max(half, _MOST_TEXTS - len(correct))]
    return [*wrong, *correct[: _MOST_TEXTS - len(wrong)]]


def _laid_out(kept: Mapping[str, np.ndarray], weights: np.ndarray, row: int) -> _Shown:
    tokens = [str(token) for token in kept["tokens"][row]]
    known = [place for place, token in enumerate(tokens) if token]
    own, largest = weights[known], float(weights[known].max(initial=0.0))
    words = [drawable(tokens[place], _MOST_CHARACTERS) for place in known]
    lines = _lines(words, own / largest if largest else own)
    first = sum(len(line.words) for line in lines[:_MOST_LINES])
    rest = ""
    if len(words) > first:
        rest = f"… {len(words) - first} more words, {own[first:].sum():.0%} of the weight"
    said = drawable(str(kept["prediction"][row]), 40)
    if "label" not in kept:
        heading = f"{said}   (largest weight {largest:.2g})"
        return _Shown(heading, True, lines[:_MOST_LINES], rest)
    label = drawable(str(kept["label"][row]), 40)
    right = label == said
    heading = f"right: {label}" if right else f"wrong: said {said}, is {label}"
    heading += f"   (test text {kept['index'][row]}, largest weight {largest:.2g})"
    return _Shown(heading, right, lines[:_MOST_LINES], rest)


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
            shade.set(facecolor=BLUE, alpha=_DARKEST * weight)
            axes.add_patch(shade)
            where = _MARGIN + place + width / 2, top + _LINE / 2
            axes.text(*where, word, ha="center", fontproperties=font, **plain)
        top += _LINE
    if shown.rest:
        grey: dict[str, Any] = {"fontsize": 8.5, "color": "#444444"}
        axes.text(_MARGIN, top + _LINE / 2, shown.rest, **grey, **plain)
