"""A series split by time: its parts, its scalers, the windows of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attnlab.tasks.forecasting.data import windows
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.origin import Origin, in_model_units
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.windows import Windows, cut


@dataclass(frozen=True, eq=False)
class Divided:
    """A series split into parts. Positions count its values from 0.

    Attributes:
        series: the series.
        borders: part -> position of its first value, in order of time.
        first: part -> positions of the first targets of its windows.
        scalers: one per column (the series, then its inputs), fitted on the train part.
    """

    series: TimeSeries
    borders: Mapping[str, int]
    first: Mapping[str, np.ndarray]
    scalers: tuple[Scaler, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """Return the series, (n,) in natural units."""
        return self.series.values

    @property
    def known(self) -> np.ndarray:
        """Return the series, (n,), with NaN for interpolated values."""
        filled = self.series.filled
        return self.values if filled is None else np.where(filled, np.nan, self.values)

    @property
    def scaled(self) -> np.ndarray:
        """Return the series, (n,) in model units."""
        return self.scalers[0].apply(self.values)

    @property
    def train_end(self) -> int:
        """Return the position of the first value after the train part."""
        return next(start for part, start in self.borders.items() if part != "train")

    def cut(self, part: str, history: int, horizon: int) -> Windows:
        """Return the windows of a part."""
        scaled, series = in_model_units(self.scalers, self.series.columns), self.series
        reported = (self.values, series.times, self.first[part], history, horizon)
        return cut(scaled[:, 0], *reported, scaled[:, 1:], series.id or None)

    def end(self, history: int) -> Origin:
        """Return the newest values, from which the series is forecast."""
        return Origin.of(self.series, self.scalers, history)

    def unfilled(self, first: np.ndarray, horizon: int) -> np.ndarray:
        """Return the first targets whose windows neither forecast nor end with a filled value."""
        filled = self.series.filled
        if filled is None:
            return first
        return first[~windows.targets(filled, first - 1, horizon + 1).any(axis=1)]

    def validation_targets(self, ahead: int) -> np.ndarray:
        """Return `ahead` values from each first validation target on, (N, ahead).

        NaN for interpolated values and after the end of the part.
        """
        known = np.append(self.known[: self.borders["test"]], np.full(ahead, np.nan))
        return windows.targets(known, self.first["validation"], ahead)

    def yardstick(self, period: int | None) -> Yardstick:
        """Return the statistics that normalize its errors."""
        full_range = float(np.ptp(self.values))
        train, known = self.known[: self.train_end], self.known[: self.borders["test"]]
        return Yardstick.of_series(train, known, period or 1, full_range)
