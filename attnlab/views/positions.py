"""Sinusoidal positions made visible: the matrix, its waves, its circles, its distances."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from attnlab.views.records import (
    BLUE,
    INK,
    ORANGE,
    Axis,
    Curve,
    Curves,
    Figure,
    Maps,
    Mark,
    Scatter,
    figure,
)

_CIRCLES = 6


def positional_figures(encoding: np.ndarray) -> dict[str, Figure]:
    """Return the figures of an encoding by file name: positional_matrix.png and three others.

    `encoding` is (length, units): sines in even columns, cosines in odd ones.
    """
    figures = {
        "matrix": matrix_figure(encoding),
        "waves": waves_figure(encoding, default_dimensions(encoding)),
        "circles": circles_figure(encoding, min(10, max(len(encoding) // 2, 1))),
        "distances": distances_figure(encoding),
    }
    return {f"positional_{name}.png": drawing for name, drawing in figures.items()}


def default_dimensions(encoding: np.ndarray) -> list[int]:
    """Choose six dimensions, sines and cosines, from the fastest to the slowest visible wave."""
    columns = (column for pair in _pairs(encoding, 3) for column in (2 * pair, 2 * pair + 1))
    return [column for column in columns if column < encoding.shape[1]]


def matrix_figure(encoding: np.ndarray) -> Figure:
    """Draw the code of each position as a row of colours."""
    length, units = encoding.shape
    record = Maps(
        [],
        encoding[None],
        Axis("dimension (even: sine, odd: cosine)", None),
        Axis("position", None),
        quantity="",
        limits=(-1.0, 1.0),
        signed=True,
    )
    subtitle = f"{length} positions, {units} dimensions; rows are the codes"
    return figure("Positional encoding", subtitle, [[record]], (8, 5))


def waves_figure(encoding: np.ndarray, dimensions: Sequence[int]) -> Figure:
    """Draw the values of some dimensions along the positions, a panel per dimension."""
    subtitle = "each dimension is a wave along the positions; its pair is the same wave shifted"
    last = len(dimensions) - 1
    rows = [[_wave(encoding, column, n < last)] for n, column in enumerate(dimensions)]
    size = 8, 1.2 + 0.95 * len(dimensions)
    return figure("Positional encoding: waves", subtitle, rows, size)


def _wave(encoding: np.ndarray, column: int, same_x: bool) -> Curves:
    kind, colour = ("cosine", ORANGE) if column % 2 else ("sine", BLUE)
    step = _step(encoding, column // 2)
    length = f", {2 * math.pi / step:,.1f} positions a wave" if step > 0 else ""
    return Curves(
        f"dimension {column}: {kind}{length}",
        "position",
        "",
        range(len(encoding)),
        [Curve("", encoding[:, column], colour, form="line and dots")],
        legend="none",
        same_x=same_x,
        y_limits=(-1.15, 1.15),
        y_ticks=(-1, 0, 1),
    )


def circles_figure(encoding: np.ndarray, offset: int) -> Figure:
    """Draw pairs (sine, cosine) as points on circles, and what `offset` steps do to them.

    P(k + offset) is P(k) turned by an angle that is the same for every k: shown from two positions.
    """
    pairs = _pairs(encoding[:, : encoding.shape[1] // 2 * 2], _CIRCLES)
    panels = [_circle(encoding, pair, offset) for pair in pairs]
    columns = min(len(panels), 3)
    rows = [panels[n : n + columns] for n in range(0, len(panels), columns)]
    steps = "1 step" if offset == 1 else f"{offset} steps"
    subtitle = f"arrows: {steps} further; every start turns by the same angle"
    size = 2 + 2.5 * columns, 0.8 + 2.9 * len(rows)
    return figure("Positional encoding: circles", subtitle, rows, size)


def _circle(encoding: np.ndarray, pair: int, offset: int) -> Scatter:
    """Draw a pair of dimensions, with arrows from the first and from a middle position."""
    length = len(encoding)
    starts = sorted({0, (length - 1 - offset) // 2})
    angle = math.degrees(_step(encoding, pair) * offset) % 360
    return Scatter(
        f"dimensions {2 * pair}, {2 * pair + 1}: {angle:.3g}°",
        "cosine",
        "sine",
        encoding[:, [2 * pair + 1, 2 * pair]],
        values=range(length),
        quantity="position",
        arrows=[(start, start + offset) for start in starts],
        circle=True,
    )


def distances_figure(encoding: np.ndarray) -> Figure:
    """Draw the distances between positions, and how a distance grows with the steps between.

    |P(k + o) - P(k)| depends on o alone, because each pair of dimensions only turns; the dot
    product of two codes does too. Both are means over k.
    """
    squares = (encoding**2).sum(axis=1)
    products = encoding @ encoding.T
    table = np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0))
    similarity = products / np.maximum(np.sqrt(np.outer(squares, squares)), 1e-12)
    steps = np.arange(len(encoding))
    far, near = (
        np.array([np.diagonal(values, step).mean() for step in steps])
        for values in (table, similarity)
    )
    largest = float(far.max()) or 1.0
    place = Axis("position", None)
    left = Maps([], table[None], place, place, "Euclidean distance", square=True)
    right = Curves(
        "",
        "steps between the positions",
        "",
        steps,
        [
            Curve(f"distance, of the largest ({largest:.3g})", far / largest),
            Curve("cosine of the angle between the codes", near, ORANGE),
        ],
        marks=[Mark(y=0, colour=INK)],
        y_limits=(min(-0.05, float(near.min()) - 0.05), 1.35),
        y_ticks=np.linspace(0, 1, 6).tolist(),
    )
    subtitle = "between the codes of two positions"
    return figure("Positional encoding: distances", subtitle, [[left, right]], (9.5, 4.4))


def _pairs(encoding: np.ndarray, most: int) -> list[int]:
    """Choose some pairs of dimensions, from the fastest to the slowest that makes half a turn."""
    length, units = encoding.shape
    known = range(max(units // 2, 1))
    turned = [pair for pair in known if _step(encoding, pair) * (length - 1) >= math.pi]
    slowest = max(turned, default=min(most, len(known)) - 1)
    return sorted({int(pair) for pair in np.linspace(0, slowest, most)})


def _step(encoding: np.ndarray, pair: int) -> float:
    """Return the angle in radians that a pair of dimensions turns per step."""
    if 2 * pair + 1 >= encoding.shape[1]:
        return float(np.arcsin(encoding[1, 2 * pair]))  # no wave turns by more than 1
    return float(np.arctan2(encoding[1, 2 * pair], encoding[1, 2 * pair + 1]))
