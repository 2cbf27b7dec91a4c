"""Sinusoidal positions made visible: the matrix, its waves, its distances."""

from __future__ import annotations

import math

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
    Record,
    figure,
)

# Pairs (sine, cosine) of dimensions, as shares of the pairs: from the fastest wave to slow ones.
_WAVES = (0.0, 0.18, 0.36)


def positional_figures(encoding: np.ndarray) -> dict[str, Figure]:
    """Return the figures of an encoding by file name: positional_matrix.png and two others.

    `encoding` is (length, units): sines in even columns, cosines in odd ones.
    """
    drawings = {"matrix": _matrix, "waves": _waves, "distances": _distances}
    return {f"positional_{name}.png": draw(encoding) for name, draw in drawings.items()}


def _matrix(encoding: np.ndarray) -> Figure:
    """Draw the code of each position as a row of colours."""
    length, units = encoding.shape
    x, y = Axis("dimension (even: sine, odd: cosine)", None), Axis("position", None)
    record = Maps([], encoding[None], x, y, "", (-1.0, 1.0), signed=True)
    subtitle = f"{length} positions, {units} dimensions; rows are the codes"
    return figure("Positional encoding", subtitle, [[record]], (8, 5))


def _waves(encoding: np.ndarray) -> Figure:
    """Draw the values of some dimensions along the positions, a panel per dimension."""
    length, units = encoding.shape
    pairs = [round(share * units / 2) for share in _WAVES]
    rows: list[list[Record]] = []
    for column in sorted([2 * pair + side for pair in pairs for side in (0, 1)]):
        name, colour = ("cosine", ORANGE) if column % 2 else ("sine", BLUE)
        pair = column // 2
        sine, cosine = encoding[1, 2 * pair : 2 * pair + 2]
        steps = 2 * math.pi / float(np.arctan2(sine, cosine))
        chart = Curves(
            f"dimension {column}: {name}, {steps:,.1f} positions a wave",
            "position",
            "",
            range(length),
            [Curve("", encoding[:, column], colour, form="line and dots")],
            legend="none",
            same_x=column != 2 * pairs[-1] + 1,
            y_limits=(-1.15, 1.15),
            y_ticks=(-1, 0, 1),
        )
        rows.append([chart])
    subtitle = "each dimension is a wave along the positions; its pair is the same wave shifted"
    return figure("Positional encoding: waves", subtitle, rows, (8, 1.2 + 0.95 * len(rows)))


def _distances(encoding: np.ndarray) -> Figure:
    """Draw the distances between positions, and how a distance grows with the steps between.

    |P(k + o) - P(k)| depends on o alone, because each pair of dimensions only turns; the dot
    product of two codes does too.
    """
    table = np.linalg.norm(encoding[:, None] - encoding, axis=-1)
    largest = float(table[0].max())
    near = encoding @ encoding[0] / np.sum(encoding[0] ** 2)
    place = Axis("position", None)
    left = Maps([], table[None], place, place, "Euclidean distance", square=True)
    right = Curves(
        "",
        "steps between the positions",
        "",
        range(len(encoding)),
        [
            Curve(f"distance, of the largest ({largest:.3g})", table[0] / largest),
            Curve("cosine of the angle between the codes", near, ORANGE),
        ],
        marks=[Mark(y=0, colour=INK)],
        y_limits=(-0.05, 1.35),
        y_ticks=np.linspace(0, 1, 6).tolist(),
    )
    subtitle = "between the codes of two positions"
    return figure("Positional encoding: distances", subtitle, [[left, right]], (9.5, 4.4))
