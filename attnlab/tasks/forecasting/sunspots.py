"""Monthly sunspot numbers, 1749 to 1983."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.csv_series import Panel
from attnlab.tasks.forecasting.series import SplitSeries
from attnlab.tasks.forecasting.task import refuse
from attnlab.tasks.forecasting.time_series import Scaler, TimeSeries
from attnlab.tasks.kinds import Progress


@dataclass(kw_only=True, eq=False)
class Sunspots(SplitSeries):
    """Next month's sunspot number from the months before it.

    The data are R's `datasets::sunspots` (2,820 values); see the comments of the CSV file.

    The protocol "sliding" splits by time as `SplitSeries` does. "book" is the protocol of chapter 7
    of "Building Transformer Models with Attention", with its leaks: min-max scaling over all
    values, train and test split by time, no validation part, histories that don't overlap (of
    length 12 in the book). It ignores `validation` and `scaler`. The period of 132 months is the
    eleven-year cycle.
    """

    name = "sunspots"
    units = "sunspots"

    protocol: str = "sliding"
    history: int = 24
    horizon: int = 1
    test: float = 0.2
    validation: float = 0.15
    scaler: str = "minmax"
    period: int | None = 132

    def __post_init__(self) -> None:
        if self.protocol == "book":
            self.validation, self.scaler = 0.0, "minmax"
            if self.horizon != 1:
                refuse("horizon", "1 if task.protocol is book", self.horizon)

    def read_series(self, progress: Progress | None) -> tuple[Panel, str]:  # noqa: D102
        import pandas as pd

        path = Path(__file__).with_name("sunspots.csv")
        table = pd.read_csv(path, comment="#", dtype={"month": str})
        values = table["sunspots"].to_numpy(np.float64)[:, None]
        series = TimeSeries(values, times=table["month"].tolist(), step="MS")
        source = "R's datasets::sunspots (Andrews and Herzberg, 1985)"
        return Panel([series], "sunspots", []), source

    def fits(self, **changes: Any) -> bool:  # noqa: D102
        return self.protocol != "book" and super().fits(**changes)

    def _first_targets(self, borders: Mapping[str, int], count: int) -> dict[str, range]:
        if self.protocol != "book":
            return super()._first_targets(borders, count)
        border = borders["test"]  # each target is the first value of the next history
        return {
            "train": range(self.history, border, self.history),
            "test": range(border + self.history, count, self.history),
        }

    def _fit_targets(self, series: TimeSeries, order: int) -> np.ndarray:
        if self.protocol != "book":
            return super()._fit_targets(series, order)
        index = series.first["train"]
        return index[index >= order]

    def _fit_scaler(self, series: TimeSeries, values: np.ndarray) -> Scaler:
        if self.protocol != "book":
            return super()._fit_scaler(series, values)
        return Scaler.fit(values, "minmax")

    def notes(self, part: str) -> list[str]:  # noqa: D102
        if self.protocol != "book":
            return []
        count = len(self.splits.parts[part])
        return [
            "As in the book, the scaler knows the values of the test part, and no part is for "
            f"validation. {count} {part} targets are too few to distinguish models."
        ]
