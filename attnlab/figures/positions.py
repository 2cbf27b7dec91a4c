"""Sinusoidal positions made visible: the matrix, its waves, its circles, its distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from attnlab.figures.style import BLACK, BLUE, COLOUR_MAP, GREY, ORANGE, new_figure, save, tidy

_CIRCLES = 6


def draw_positional_encoding(
    encoding: np.ndarray, folder: Path, *, dimensions: Sequence[int] | None = None, offset: int = 10
) -> list[Path]:
    """Draw positional_matrix.png, and likewise waves, circles and distances, into a folder.

    `encoding` is (length, units): sines in even columns, cosines in odd ones. `dimensions` are the
    waves to draw, see `default_dimensions`; `offset` the steps that the circles show.
    """
    chosen = default_dimensions(encoding) if dimensions is None else dimensions
    figures = {
        "matrix": matrix_figure(encoding),
        "waves": waves_figure(encoding, chosen),
        "circles": circles_figure(encoding, offset),
        "distances": distances_figure(encoding),
    }
    return [save(figure, folder / f"positional_{name}.png") for name, figure in figures.items()]


def default_dimensions(encoding: np.ndarray) -> list[int]:
    """Six dimensions, sines and cosines, from the fastest wave to the slowest that shows."""
    columns = (column for pair in _pairs(encoding, 3) for column in (2 * pair, 2 * pair + 1))
    return [column for column in columns if column < encoding.shape[1]]


def matrix_figure(encoding: np.ndarray) -> Figure:
    """The code of each position as a row of colours."""
    length, units = encoding.shape
    subtitle = f"{length} positions, {units} dimensions; rows are the codes"
    figure = new_figure(8, 5, "Positional encoding", subtitle)
    axes = figure.add_subplot()
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    picture = axes.imshow(encoding, aspect="auto", **colours)
    axes.set_xlabel("dimension (even: sine, odd: cosine)")
    axes.set_ylabel("position")
    _whole_numbers(axes.xaxis, axes.yaxis)
    axes.tick_params(labelsize=9)
    figure.colorbar(picture, ax=axes).ax.tick_params(labelsize=9)
    return figure


def waves_figure(encoding: np.ndarray, dimensions: Sequence[int]) -> Figure:
    """The value of some dimensions along the positions, a panel each."""
    subtitle = "each dimension is a wave along the positions; its pair is the same wave shifted"
    figure = new_figure(8, 1.2 + 0.95 * len(dimensions), "Positional encoding: waves", subtitle)
    panels = figure.subplots(len(dimensions), squeeze=False, sharex=True)[:, 0]
    for axes, column in zip(panels, dimensions, strict=True):
        kind, colour = ("cosine", ORANGE) if column % 2 else ("sine", BLUE)
        axes.plot(encoding[:, column], color=colour, linewidth=1.2, marker=".", markersize=3)
        step = _step(encoding, column // 2)
        length = f", {2 * math.pi / step:,.1f} positions a wave" if step > 0 else ""
        axes.set_title(f"dimension {column}: {kind}{length}", fontsize=9, loc="left", pad=3)
        axes.set(ylim=(-1.15, 1.15), yticks=[-1, 0, 1])
        axes.margins(x=0.01)
        tidy(axes)
    panels[-1].set_xlabel("position")
    _whole_numbers(panels[-1].xaxis)
    return figure


def circles_figure(encoding: np.ndarray, offset: int) -> Figure:
    """Pairs (sine, cosine) as points on circles, and what `offset` steps do to them.

    P(k + offset) is P(k) turned by an angle that is the same for every k: shown from two positions.
    """
    length, units = encoding.shape
    pairs = _pairs(encoding[:, : units // 2 * 2], _CIRCLES)
    lines, columns = math.ceil(len(pairs) / 3), min(len(pairs), 3)
    steps = "1 step" if offset == 1 else f"{offset} steps"
    subtitle = f"arrows: {steps} on; a pair turns by one angle, wherever it starts"
    size = 2 + 2.5 * columns, 0.8 + 2.9 * lines
    figure = new_figure(*size, "Positional encoding: circles", subtitle)
    panels = figure.subplots(lines, columns, squeeze=False)
    for axes, pair in zip(panels.flat, pairs, strict=False):
        sines, cosines = encoding[:, 2 * pair], encoding[:, 2 * pair + 1]
        axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor=GREY, linewidth=0.8, zorder=1))
        points = axes.scatter(
            cosines, sines, c=np.arange(length), cmap=COLOUR_MAP, s=14, linewidths=0, zorder=2
        )
        _draw_turns(axes, sines, cosines, offset)
        angle = math.degrees(_step(encoding, pair) * offset) % 360
        axes.set_title(f"dimensions {2 * pair}, {2 * pair + 1}: {angle:.3g}°", fontsize=9)
        axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
        axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], xlabel="cosine", ylabel="sine")
        tidy(axes, grid="both")
    for axes in panels.flat[len(pairs) :]:
        axes.set_visible(False)
    figure.colorbar(points, ax=panels, shrink=0.8).set_label("position", fontsize=9)
    return figure


def distances_figure(encoding: np.ndarray) -> Figure:
    """How far positions are from each other, and how the distance grows with the steps between.

    |P(k + o) - P(k)| depends on o alone, because each pair of dimensions only turns; the dot
    product of two codes does too. Both are means over k.
    """
    length = len(encoding)
    squares = (encoding**2).sum(axis=1)
    products = encoding @ encoding.T
    table = np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0))
    subtitle = "between the codes of two positions"
    figure = new_figure(9.5, 4.4, "Positional encoding: distances", subtitle)
    left, right = figure.subplots(1, 2)
    picture = left.imshow(table, cmap=COLOUR_MAP, interpolation="nearest")
    figure.colorbar(picture, ax=left, shrink=0.85).set_label("Euclidean distance", fontsize=9)
    left.set(xlabel="position", ylabel="position")
    _whole_numbers(left.xaxis, left.yaxis, right.xaxis)
    left.tick_params(labelsize=9)
    similarity = products / np.maximum(np.sqrt(np.outer(squares, squares)), 1e-12)
    steps = np.arange(length)
    far, near = (
        np.array([np.diagonal(values, step).mean() for step in steps])
        for values in (table, similarity)
    )
    largest = float(far.max()) or 1.0
    right.plot(steps, far / largest, color=BLUE, label=f"distance, of the largest ({largest:.3g})")
    right.plot(steps, near, color=ORANGE, label="cosine of the angle between the codes")
    right.axhline(0, color=BLACK, linewidth=0.8)
    lowest = min(-0.05, float(near.min()) - 0.05)
    right.set(xlabel="steps between the positions", ylim=(lowest, 1.35))
    right.set_yticks(np.linspace(0, 1, 6))
    right.legend(frameon=False, fontsize=9, loc="upper right")
    tidy(right)
    return figure


def _pairs(encoding: np.ndarray, most: int) -> list[int]:
    """Some pairs of dimensions, from the fastest to the slowest that makes half a turn."""
    length, units = encoding.shape
    known = range(max(units // 2, 1))
    turned = [pair for pair in known if _step(encoding, pair) * (length - 1) >= math.pi]
    slowest = max(turned, default=min(most, len(known)) - 1)
    return sorted({int(pair) for pair in np.linspace(0, slowest, most)})


def _step(encoding: np.ndarray, pair: int) -> float:
    """The angle in radians by which a pair of dimensions turns in one step."""
    if 2 * pair + 1 >= encoding.shape[1]:
        return float(np.arcsin(encoding[1, 2 * pair]))  # no wave turns by more than 1
    return float(np.arctan2(encoding[1, 2 * pair], encoding[1, 2 * pair + 1]))


def _draw_turns(axes: Axes, sines: np.ndarray, cosines: np.ndarray, offset: int) -> None:
    """Arrows from the first and from a middle position to those `offset` steps on."""
    starts = sorted({0, (len(sines) - 1 - offset) // 2})
    for start, colour in zip(starts, (ORANGE, BLACK), strict=False):
        ends = [(cosines[place], sines[place]) for place in (start, start + offset)]
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=arrow, zorder=4)
        axes.plot(*ends[0], "o", color=colour, markersize=4, zorder=4)


def _whole_numbers(*axes: Axis) -> None:
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
