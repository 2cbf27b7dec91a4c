"""Sinusoidal codes of positions, without TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np


def sinusoidal(length: int, width: int, base: float = 10000.0) -> np.ndarray:
    """Tabulate `P(k, 2i) = sin(k / base^(2i/width))`, `P(k, 2i+1) = cos(k / base^(2i/width))`.

    For a fixed offset, P(k + offset) is a rotation of P(k) that doesn't depend on k.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5. Difference: an odd width is
    allowed; its last column is a sine without its cosine. (length, width) float64.
    """
    return waves(np.arange(length, dtype="float64")[:, None], width, np, base)


def waves(positions: Any, width: int, xp: Any, base: float = 10000.0) -> Any:
    """Return sines in the even columns and cosines in the odd ones, for float64 positions.

    In float32 the angle would have an error of 5e-4 at position 10,000. `xp` is the library of
    `positions` (T, 1): NumPy, or one with the same functions.
    """
    columns = np.arange(width)
    angles = positions * base ** (-(columns - columns % 2) / width)
    return xp.where(columns % 2 == 0, xp.sin(angles), xp.cos(angles))
