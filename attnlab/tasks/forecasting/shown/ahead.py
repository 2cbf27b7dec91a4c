"""The figure of `attnlab forecast`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnlab.tasks.forecasting.data.origin import Origin
from attnlab.tasks.forecasting.shown.forecasts import BAND
from attnlab.views.records import INK, ORANGE, Curve, Curves, Figure, Mark, figure

MOST = 6  # series of a figure
Next = tuple[Origin, Mapping[str, np.ndarray]]


def next_values_figure(series: Sequence[Next], *, title: str, units: str) -> Figure:
    """The newest known values of each series as a line, and its forecast after them.

    Each of `series` has where its forecast starts and the columns `forecast` and, if known, `low`
    and `high`, (steps,).
    """
    rows = [
        [_ahead(origin, units, legend=number == 0, **columns)]
        for number, (origin, columns) in enumerate(series)
    ]
    return figure(title, "", rows, (8, 1.4 + 2.6 * len(series)))


def _ahead(
    origin: Origin,
    units: str,
    legend: bool,
    forecast: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> Curves:
    history = origin.values[:, 0]
    steps = np.arange(1, len(forecast) + 1)
    known = np.arange(1 - len(history), 1)
    times = origin.labels(len(forecast), before=len(history))
    places = np.concatenate([known, steps])
    unknown = [np.nan] * (len(history) - 1)
    curves = [
        Curve("known", [*history, *[np.nan] * len(steps)], INK),
        Curve("forecast", [*unknown, history[-1], *forecast], ORANGE, form="joined"),
    ]
    if low is not None and high is not None:
        edges = [[*unknown, np.nan, *edge] for edge in (low, high)]
        curves[1] = curves[1]._replace(low=edges[0], high=edges[1])
    label = "step after the last known value" if times[-1].startswith("+") else ""
    return Curves(
        origin.id or "",
        label,
        units,
        places.tolist(),
        curves,
        names=times,
        marks=[Mark(x=0, colour=INK, dashes=":")],
        legend="inside" if legend else "none",
        band=BAND,
    )
