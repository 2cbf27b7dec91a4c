"""Sinusoidal positions made visible: the matrix, and its distances."""

from __future__ import annotations

import numpy as np

from attnlab.views.records import INK, ORANGE, Axis, Curve, Curves, Figure, Maps, Mark, figure


def positional_figures(encoding: np.ndarray) -> dict[str, Figure]:
    """Return two figures of an encoding by file name.

    positional_matrix.png has the code of each position as a row of colours. The other one,
    positional_distances.png, has the distances between positions, and how a distance grows with the
    steps between: |P(k + o) - P(k)| depends on o alone, because each pair of dimensions only turns;
    the dot product of two codes does too.

    `encoding` is (length, units): sines in even columns, cosines in odd ones.
    """
    length, units = encoding.shape
    place = Axis("position", None)
    dimensions = Axis("dimension (even: sine, odd: cosine)", None)
    matrix = Maps([], encoding[None], dimensions, place, "", (-1.0, 1.0), signed=True)
    subtitle = f"{length} positions, {units} dimensions; rows are the codes"

    table = np.linalg.norm(encoding[:, None] - encoding, axis=-1)
    largest = float(table[0].max())
    near = encoding @ encoding[0] / np.sum(encoding[0] ** 2)
    distances = Maps([], table[None], place, place, "Euclidean distance", square=True)
    curves = [
        Curve(f"distance, of the largest ({largest:.3g})", table[0] / largest),
        Curve("cosine of the angle between the codes", near, ORANGE),
    ]
    steps, zero = range(length), [Mark(y=0, colour=INK)]
    growth = Curves(
        "", "steps between the positions", "", steps, curves, marks=zero, legend="above"
    )
    between, size = "between the codes of two positions", (9.5, 4.4)
    return {
        "positional_matrix.png": figure("Positional encoding", subtitle, [[matrix]], (8, 5)),
        "positional_distances.png": figure(
            "Positional encoding: distances", between, [[distances, growth]], size
        ),
    }
