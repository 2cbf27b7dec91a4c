"""Figures as matplotlib draws them, for tests that look at what was drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from attnlab.views.png.figure import draw


def drawn(function: Callable[..., Any]) -> Callable[..., Figure]:
    """A function that draws the figure which another one returns."""
    return lambda *given, **settings: draw(function(*given, **settings))
