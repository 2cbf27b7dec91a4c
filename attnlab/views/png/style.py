"""How every figure looks: size, colours, title, and how it is saved. No pyplot, no global state."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter

from attnlab.records.files import replacing
from attnlab.views.records import Colour
from attnlab.views.scales import look, steps_of_decades

# Okabe and Ito (2008), without yellow, which is hard to see on white. Colour-blind readers can
# distinguish these colours, and they differ in lightness when printed in grey.
BLACK, LIGHT, SOFT = "#222222", "#9A9A9A", "#444444"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", BLACK, "#56B4E9", "#E69F00")
# Dashes distinguish groups whose colours are equal; markers do in grey, too.
_DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
COLOUR_MAP = "cividis"
SIGNED_COLOUR_MAP = "RdBu"  # red below 0, white at 0, blue above, as on pages
DOTS_PER_INCH = 150


def colour(number: Colour) -> str:
    """Return a colour by its number; None is that of text, -1 is grey."""
    if number is None:
        return BLACK
    return LIGHT if number < 0 else PALETTE[look(number)[0]]


def dashes(number: Colour) -> Literal["-", "--", ":", "-."]:
    """Return the dashes of a group's curves."""
    return _DASHES[look(max(number or 0, 0))[1]]


def marker(number: Colour) -> str:
    """Return the marker of a group's points."""
    return _MARKERS[(number or 0) % len(_MARKERS)]


def new_figure(
    width: float, height: float, title: str, subtitle: str = "", *, placed: bool = False
) -> Figure:
    """Return an empty figure with a title, in inches; if `placed`, the caller places the axes."""
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    inch = 1 / height
    lines = 0.56 if subtitle else 0.34
    if not placed:
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - lines * inch))
        figure.set_layout_engine(layout)
    figure.text(0.012, 1 - 0.09 * inch, title, va="top", fontsize=11, fontweight="bold")
    figure.text(0.012, 1 - 0.32 * inch, subtitle, va="top", fontsize=9, color=SOFT)
    return figure


def axes_at(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Return axes at a place in inches from the upper left corner."""
    whole = np.array(figure.get_size_inches())
    x, y = np.array([left, whole[1] - top - height]) / whole
    return figure.add_axes((x, y, *(np.array([width, height]) / whole)))


def tidy(axes: Axes, grid: str = "y") -> None:
    """Remove the frame's upper and right side, and draw faint grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#E4E4E4", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


def legend_above(axes: Axes) -> None:
    """Draw a legend in one line above the axes, where it covers no curve."""
    place: dict[str, Any] = dict(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)
    axes.legend(ncols=3, frameon=False, fontsize=9, handlelength=1.5, **place)


def use_log_scale(axes: Axes, values: Iterable[float], direction: Literal["x", "y"] = "y") -> None:
    """Make an axis of such values logarithmic, with numbers as people write them, not too close."""
    known = [value for value in values if math.isfinite(value)]
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=steps_of_decades(min(known), max(known)), numticks=8))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def without_formulas(figure: Figure) -> Figure:
    """Return the figure with each text as it is: names with `$` do not become formulas."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def write(figure: Figure, path: Path) -> Path:
    """Write a figure `without_formulas`, whole or not at all, in the format of the file's name.

    Raises:
        OSError: The file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if engine := without_formulas(figure).get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)  # it would draw everything twice
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return path


def same_style() -> AbstractContextManager[None]:
    """Undo changes of matplotlib's settings at the end of the body."""
    return rc_context()
