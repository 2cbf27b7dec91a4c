"""How groups look in every panel of a comparison, and axes over several decades."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from attnlab.compare.results import Comparison
from attnlab.figures.style import BLACK, BLUE, ORANGE

# Okabe and Ito (2008) without their yellow, which white paper swallows. Markers and dashes tell
# groups apart where colours come round again, and in grey.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", BLACK, "#56B4E9", "#E69F00")
_DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# From how many times the smallest value an axis is logarithmic; up to where it has 2 and 5, too.
_LOGARITHMIC, _FINE = 10.0, 500.0


class Style(NamedTuple):
    """How a group is drawn, in every panel."""

    colour: str
    dashes: Literal["-", "--", ":", "-."]
    marker: str


def styles_of(comparison: Comparison) -> dict[str, Style]:
    """A style for each group, by the order of names, so that it is the same for every metric."""
    labels = sorted(group.label for group in comparison.groups)
    return {
        label: Style(
            _COLOURS[number % len(_COLOURS)],
            _DASHES[number // len(_COLOURS) % len(_DASHES)],
            _MARKERS[number % len(_MARKERS)],
        )
        for number, label in enumerate(labels)
    }


def far_apart(values: Iterable[float]) -> bool:
    """Whether values are above 0 and span more than a decade."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > _LOGARITHMIC * min(known)


def use_log_scale(axes: Axes, direction: Literal["x", "y"], values: Iterable[float]) -> None:
    """Make an axis logarithmic, with numbers as people write them and none too close."""
    known = [value for value in values if math.isfinite(value)]
    fine = max(known) < _FINE * min(known)
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if fine else (1,), numticks=8))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
