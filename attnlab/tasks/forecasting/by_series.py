"""Scores per series, which a report of several series has in addition to the means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.data.measures import Yardstick, errors, mean_errors
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.data.windows import Windows

_FEW = 8  # most series that a note lists
_OF_BASELINES = ("rmse", "mase", "smape")  # errors of baselines that metrics.json has per series
Scores = dict[str, dict[str, float | None]]  # id -> errors


class SeriesScores:
    """Errors per series, of the model (named "") and of each baseline."""

    def __init__(self, windows: Windows, yardsticks: Mapping[str, Yardstick]) -> None:
        self._target, self._rows = windows.exact, windows.by_series()
        self._yardsticks = {name: yardsticks[name] for name in self._rows}
        self._counts = {name: self._target[at].shape[0] for name, at in self._rows.items()}
        self._scores: dict[str, Scores] = {}

    def add(self, name: str, forecast: np.ndarray) -> dict[str, float | None]:
        """Score a forecast (N, horizon) per series, and return the mean; see `mean_errors`."""
        self._scores[name] = {
            series: errors(self._target[at], forecast[at], self._yardsticks[series])
            for series, at in self._rows.items()
        }
        return mean_errors(self._scores[name], self._counts)

    def are_rounding(self, name: str) -> bool:
        """Return whether a baseline's errors are rounding in every series; see `resolution`."""
        scores = self._scores[name]
        return all(
            (scores[series]["rmse"] or 0.0) <= resolution(self._target[at])
            for series, at in self._rows.items()
        )

    def table(self) -> dict[str, Any]:
        """Return the entries of metrics.json per series, by id."""
        return {series: self._entry(series) for series in self._rows}

    def _entry(self, series: str) -> dict[str, Any]:
        others = {
            name: {metric: scores[series][metric] for metric in _OF_BASELINES}
            for name, scores in self._scores.items()
            if name
        }
        yardstick = self._yardsticks[series]
        return {
            "windows": self._counts[series],
            **self._scores[""][series],
            "naive_error": yardstick.naive_error,
            "deviation": yardstick.deviation,
            "baselines": others,
        }

    def summary(self, metric: str, baseline: str) -> str:
        """List the scores of a few series, or summarize those of many, compared with a baseline."""
        own, other = (
            {series: scores[metric] for series, scores in self._scores[name].items()}
            for name in ("", baseline)
        )
        known = {series: value for series, value in own.items() if value is not None}
        better = sum(value < (other[series] or 0.0) for series, value in known.items())
        than = f"better than {baseline} in {better} of {len(known)} series"
        if len(known) <= _FEW:
            each = (f"{name} {value:.3g} ({other[name]:.3g})" for name, value in known.items())
            return f"{metric} of each series ({baseline}): {', '.join(each)}; {than}."
        ranked = sorted(known, key=lambda series: known[series])
        low, high = ranked[0], ranked[-1]
        middle = float(np.median([*known.values()]))
        return (
            f"{metric} by series: best {low} {known[low]:.3g}, median {middle:.3g}, worst {high} "
            f"{known[high]:.3g}; {than}. metrics.json has each under series."
        )

    def undefined(self) -> list[str]:
        """Return notes on errors that are undefined or leave series out, with the reason."""
        if len(self._yardsticks) == 1:
            return [note for each in self._yardsticks.values() for note in each.notes()]
        missing = {
            "mse_z and mae_z": [n for n, y in self._yardsticks.items() if y.deviation is None],
            "mase": [n for n, y in self._yardsticks.items() if y.naive_error is None],
        }
        why = {
            "mse_z and mae_z": "all values of their train part are equal",
            "mase": "before the test part their naive forecast has no error, or too few values",
        }
        return [
            f"{len(names)} of {len(self._yardsticks)} series are left out of {metric}, since "
            f"{why[metric]}: {listed(names)}."
            for metric, names in missing.items()
            if names
        ]


def listed(names: list[str]) -> str:
    """Join the first names for a sentence."""
    return ", ".join(names[:_FEW]) + (", ..." if len(names) > _FEW else "")
