"""Figures as matplotlib draws them, for tests of their content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from attnlab.views.png.figure import draw


def drawn(function: Callable[..., Any]) -> Callable[..., Figure]:
    """Wrap a function that returns a figure, so that the figure is drawn."""
    return lambda *arguments, **settings: draw(function(*arguments, **settings))
