"""A map of a learned vocabulary: words that the model uses alike lie side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure

from attnlab.figures.labels import drawable, label_font
from attnlab.figures.style import BLUE, GREY, new_figure

_WIDTH, _HEIGHT = 10.0, 8.6
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.3, 0.15, 0.3, 0.68  # inches around the map
_FONT = 8.0
_MOST_CHARACTERS = 18
# Where a label may stand beside its point, best first: the side, then farther off.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_DISTANCES = (6.0, 18.0, 30.0)  # pixels


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The plane in which vectors differ most: principal component analysis by SVD.

    Vectors (N, D) become coordinates (N, 2), and the share of the variance along each, (2,). Each
    axis is turned so that its largest loading is positive: equal vectors give equal maps.
    """
    centred = np.asarray(vectors, np.float64)
    centred = centred - centred.mean(axis=0)
    left, sizes, loadings = np.linalg.svd(centred, full_matrices=False)
    largest = np.abs(loadings).argmax(axis=1)
    signs = np.sign(loadings[np.arange(len(loadings)), largest])
    coordinates, shares = np.zeros((len(centred), 2)), np.zeros(2)
    kept = min(2, len(sizes))
    coordinates[:, :kept] = (left * sizes * signs)[:, :kept]
    shares[:kept] = (sizes**2 / max(float((sizes**2).sum()), 1e-300))[:kept]
    return coordinates, shares


def word_map(
    vectors: np.ndarray,
    words: Sequence[str],
    *,
    title: str,
    colours: Sequence[Any] = (),
    legend: Mapping[str, Any] | None = None,
) -> Figure:
    """Words at their places in the plane of the first two principal components.

    Vectors are divided by their length first: else frequent words, whose vectors grow longest, lie
    far out and all others in one spot. Side by side is what points the same way.

    The words of the vectors (N, D) come in their order, the most important ones first. Labels are
    placed one by one, each where it covers no other and no legend; a word whose label finds no
    room keeps its point. `colours` are those of the words, which the `legend` explains; without
    them all are one.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    places, shares = principal_plane(vectors / np.maximum(lengths, 1e-12))
    figure = new_figure(_WIDTH, _HEIGHT, drawable(title), placed=True)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM - _TOP
    axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / _HEIGHT, width / _WIDTH, height / _HEIGHT))
    colours = colours or [BLUE] * len(words)
    axes.scatter(
        places[:, 0], places[:, 1], s=7 + 9 * bool(legend), c=colours, linewidths=0, zorder=2
    )
    if legend:
        handles = [axes.scatter([], [], s=16, color=colour) for colour in legend.values()]
        names = [drawable(name, _MOST_CHARACTERS) for name in legend]
        shown = axes.legend(
            handles, names, loc="upper right", prop=label_font(_FONT), frameon=False
        )
        for each in shown.get_texts():
            each.set_parse_math(False)
    axes.set(xlim=_limits(places[:, 0]), ylim=_limits(places[:, 1]), xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.set_xlabel(f"first component, {shares[0]:.1%} of the variance", fontsize=9)
    axes.set_ylabel(f"second component, {shares[1]:.1%}", fontsize=9)
    labelled = _place_labels(axes, places, [drawable(word, _MOST_CHARACTERS) for word in words])
    text = f"PCA of the {len(words)} most frequent words, their vectors of length 1: "
    text += f"{shares.sum():.1%} of the variance"
    if labelled < len(words):
        text += f"; {labelled} have room for a label"
    figure.texts[1].set_text(text)
    for each in figure.texts:
        each.set_parse_math(False)
    return figure


def _limits(values: np.ndarray) -> tuple[float, float]:
    """The range of values with a margin, of some width even where all are equal."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _place_labels(axes: Axes, places: np.ndarray, labels: Sequence[str]) -> int:
    """Write labels where they cover neither each other, the legend nor many points.

    Returns how many.
    """
    font = label_font(_FONT)
    renderer = RendererAgg(1, 1, axes.figure.dpi)
    points = axes.transData.transform(places)
    frame = axes.get_window_extent()
    # Each label takes the height of a line with ascenders and descenders, as it is laid out.
    line = renderer.get_text_width_height_descent("lp", font, False)[1]
    legend = axes.get_legend()
    taken = np.array([legend.get_window_extent().extents]) if legend else np.empty((0, 4))
    for point, label in zip(points, labels, strict=True):
        width, height, _ = renderer.get_text_width_height_descent(label, font, False)
        boxes, distances = _candidates(point, width, max(height, line))
        inside = (boxes[:, :2] >= frame.min).all(1) & (boxes[:, 2:] <= frame.max).all(1)
        free = np.flatnonzero(inside & ~_overlaps(boxes, taken).any(axis=1))
        if not len(free) or not label.strip():
            continue
        covered = _overlaps(boxes[free], np.hstack([points - 3, points + 3])).sum(axis=1)
        best = free[np.lexsort((free, covered + distances[free]))[0]]
        box = boxes[best]
        taken = np.vstack([taken, box])
        x, y = axes.transData.inverted().transform((box[:2] + box[2:]) / 2)
        options: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
        axes.text(x, y, label, fontproperties=font, zorder=3, **options)
        if distances[best]:
            ends = np.array([axes.transData.inverted().transform(point), (x, y)])
            axes.plot(ends[:, 0], ends[:, 1], color=GREY, linewidth=0.4, zorder=1)
    return len(axes.texts)


def _candidates(point: np.ndarray, width: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (N, 4) around a point: left, bottom, right, top; and how far off each is, from 0."""
    half, sides = np.array([width, height]) / 2, np.array(_SIDES)
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    middles = np.concatenate([point + sides * (half + far / lengths) for far in _DISTANCES])
    boxes = np.hstack([middles - half, middles + half])
    return boxes, np.repeat(np.arange(len(_DISTANCES)), len(_SIDES))


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(N, M): whether a box covers a part of another."""
    first, second = boxes[:, None], others[None]
    touching = (first[..., :2] < second[..., 2:]) & (second[..., :2] < first[..., 2:])
    return np.all(touching, axis=-1)
