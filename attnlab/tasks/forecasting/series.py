"""Forecasting one series from a CSV file, split by time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.forecasting.data import baselines, windows
from attnlab.tasks.forecasting.data.csv_file import read_table
from attnlab.tasks.forecasting.data.csv_series import Reading, TimeSeries, digest, read_series
from attnlab.tasks.forecasting.data.intervals import AHEAD
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.times import season
from attnlab.tasks.forecasting.data.windows import Splits, cut
from attnlab.tasks.forecasting.task import ForecastingTask, refuse

_UNITS_OF = "units of "


class Series(ForecastingTask):
    """The next `horizon` values of any series from its last `history` values.

    Split by time: train, then validation, then test. The scaler is fitted on the train values
    alone; targets stay inside their part, while a history may reach back over the border, as it
    would in use.

    `test` and `validation` (0 for none) are fractions of the values, `scaler` is "standard" or
    "minmax", of each column by itself, and `period` the values of a season, for the seasonal naive
    baseline; None for no season, and "auto" for that of the times' step, see `times.season`, where
    the train values hold two. All else is as of `read_series`: of the columns `inputs` a window
    has the same steps as of the series, none of those that are forecast.

    A value that was interpolated knows the next one, so no window ends in one or forecasts one.

    Raises:
        RequestError: nothing would be left to train on.
    """

    name = "series"

    def __init__(
        self,
        *,
        path: str,
        column: str | int | None = None,
        time_column: str | int | None = "auto",
        time_format: str | None = None,
        inputs: Sequence[str | int] | None = None,
        missing: str = "refuse",
        decimal: str | None = None,
        thousands: str | None = None,
        encoding: str | None = None,
        history: int = 24,
        horizon: int = 1,
        test: float = 0.2,
        validation: float = 0.15,
        scaler: str = "standard",
        period: int | str | None = "auto",
    ):
        self.path, self.column, self.time_column = path, column, time_column
        self.inputs = [*(inputs or ())]
        reading = (time_format, missing, decimal, thousands, encoding)
        self._reading = Reading(self.inputs, *reading)
        self.units = "units of the series"
        self.history, self.horizon = history, horizon
        self.test, self.validation = test, validation
        self.scaler, self._asked_period = scaler, period
        if decimal is not None and decimal == thousands:
            refuse("thousands", f"another mark than task.decimal={decimal}", thousands)
        if test + validation >= 1:
            refuse("validation", f"less than 1 - task.test = {1 - test:g}", validation)

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read the series and split it; the seed changes nothing."""
        series = self._read()
        self._series = series
        count = len(series.values)
        self._borders = self._find_borders(count)
        self.period = self._find_period()
        firsts = {part: self._unfilled(at) for part, at in self._first_targets(count).items()}
        self._check_counts(firsts, count)
        self._scaler, *self._input_scalers = map(self._fit_scaler, series.columns.T)
        scaled = self._in_model_units(series.columns)
        self._last_history = (series.columns if self.inputs else series.values)[-self.history :]
        self._last_time, self._step = series.times[-1], series.step
        sizes = (self.history, self.horizon)
        parts = {
            part: cut(scaled[:, 0], series.values, series.times, index, *sizes, scaled[:, 1:])
            for part, index in firsts.items()
        }
        self._splits = Splits(
            **parts,
            name=self.name,
            source=series.source,
            digest=digest(*series.columns.T),
            scaler=self._scaler.describe(),
        )
        return self._splits

    def _read(self) -> TimeSeries:
        series = read_series(self.path, self.column, self.time_column, self._reading)
        self.units = series.name if series.name.startswith("units") else _UNITS_OF + series.name
        return series

    def read_history(self, path: str, column: str | None = None) -> TimeSeries:
        """Read values as the run's file was read, from its columns where this one has them."""
        named = [name for name in (self.column, self.time_column) if name is not None]
        table = read_table(Path(path).expanduser(), self._reading.encoding, named)
        own = [name for name in named if name != "auto" and table.has(name)]
        learned = self.units.removeprefix(_UNITS_OF)  # where the run found its column by itself
        if column is None and (self.column in own or table.has(learned)):
            column = self.column if self.column in own else learned
        times = self.time_column if self.time_column in (None, *own) else "auto"
        try:
            return read_series(path, column, times, self._reading)
        except RequestError:
            if times != "auto" or self._reading.time_format is None:
                raise
            return read_series(path, column, None, self._reading)  # values without times

    def _find_borders(self, count: int) -> dict[str, int]:
        """Part -> position of its first value, in order of time."""
        tests = round(count * self.test)
        validations = round(count * self.validation)
        borders = {"train": 0}
        if self.validation:
            borders["validation"] = count - tests - validations
        return borders | {"test": count - tests}

    def _find_period(self) -> int | None:
        if isinstance(self._asked_period, int) or self._asked_period is None:
            return self._asked_period
        found = season(self._series.step) if self._series.step else None
        return found if found and 2 * found <= self._train_end else None

    def _first_targets(self, count: int) -> dict[str, np.ndarray]:
        """Part -> positions of its windows' first targets."""
        starts = [*self._borders.values(), count]
        return {
            part: windows.sliding(max(start, self.history), stop, self.horizon)
            for part, start, stop in zip(self._borders, starts, starts[1:], strict=False)
        }

    def _check_counts(self, firsts: dict[str, np.ndarray], count: int) -> None:
        if not len(firsts["train"]):
            raise RequestError(
                f"task.history: expected at most {self._train_end} with task.horizon, since the "
                f"train part has {self._train_end} of the {count} values; got {self.history} "
                f"and a horizon of {self.horizon}"
            )
        for part, index in firsts.items():
            if not len(index):
                refuse(
                    part,
                    f"a fraction of the {count} values that leaves the {part} part a window "
                    f"(task.history {self.history}, task.horizon {self.horizon})",
                    getattr(self, part),
                )

    def _unfilled(self, first: np.ndarray) -> np.ndarray:
        """First targets (N,) without a filled value among the targets or right before them."""
        filled = self._series.filled
        if filled is None:
            return first
        return first[~windows.targets(filled, first - 1, self.horizon + 1).any(axis=1)]

    def _fit_targets(self, order: int) -> np.ndarray:
        """Positions of the first train targets that a linear baseline is fitted on."""
        return windows.sliding(order, self._train_end, self.horizon)

    def _fit_scaler(self, values: np.ndarray) -> Scaler:
        train, filled = values[: self._train_end], self._series.filled
        return Scaler.fit(train if filled is None else train[~filled[: len(train)]], self.scaler)

    @property
    def _train_end(self) -> int:
        return next(start for part, start in self._borders.items() if part != "train")

    def report_units(self, forecast: np.ndarray) -> np.ndarray:
        """Model units to natural units."""
        return self.scaler_for().invert(forecast)

    @property
    def _report_scale(self) -> float:
        return self.scaler_for().scale

    def validation_targets(self) -> np.ndarray:
        """See the base class; inputs end where the history does, and so do forecasts from them."""
        ahead = self.horizon if self.inputs else max(self.horizon, AHEAD)
        values, filled = self._series.values, self._series.filled
        known = np.where(False if filled is None else filled, np.nan, values)
        known = np.append(known[: self._borders["test"]], np.full(ahead, np.nan))
        return windows.targets(known, self.splits.part("validation").index, ahead)

    def _yardstick(self) -> Yardstick:
        values, filled = self._series.values, self._series.filled
        known = values if filled is None else np.where(filled, np.nan, values)
        full_range = float(np.ptp(values))
        return Yardstick.of_series(known[: self._train_end], self.period or 1, full_range)

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        index = self.splits.part(part).index
        values, train_end, horizon = self._series.values, self._train_end, self.horizon

        def past(length: int) -> np.ndarray:
            return windows.histories(values, index, length)

        found = {"persistence": baselines.persistence(past(1), horizon)}
        notes = []
        period = self.period
        if period is not None and period <= index.min():
            found["seasonal_naive"] = baselines.seasonal_naive(past(period), period, horizon)
        elif period is not None:
            notes.append(_left_out("seasonal_naive", period, part))
        mean = self.report_units(np.mean(self.scaler_for().apply(values[:train_end])))
        found["train_mean"] = baselines.constant(mean, len(index), horizon)
        # Least squares of numbers far above their spread, or tiny beside 1, would be rounding.
        scaled = self.scaler_for().apply(values)
        for order in baselines.ORDERS:
            fitted = self._unfilled(self._fit_targets(order))
            if order > index.min() or len(fitted) <= order + 1:
                notes.append(_left_out(f"linear_ar{order}", order, part))
                continue
            known, asked = (windows.histories(scaled, at, order) for at in (fitted, index))
            targets = windows.targets(scaled, fitted, horizon)
            forecast = baselines.autoregression(known, targets, asked)
            found[f"linear_ar{order}"] = self.report_units(forecast)
        fitted = self._unfilled(self._fit_targets(self.history))
        if len(fitted) > self.history:
            found["nlinear"] = self._nlinear(fitted, index)
        else:
            notes.append(_left_out("nlinear", self.history, part))
        return found, notes

    def _nlinear(self, fitted: np.ndarray, index: np.ndarray) -> np.ndarray:
        """NLinear's forecasts from some first targets on, fitted on others."""
        scaled = self.scaler_for().apply(self._series.values)

        def known(index: np.ndarray) -> np.ndarray:
            return windows.histories(scaled, index, self.history)

        def wanted(index: np.ndarray) -> np.ndarray:
            return windows.targets(scaled, index, self.horizon)

        held_out = self.splits.validation
        chosen_on = (known(held_out.index), wanted(held_out.index)) if held_out else None
        forecast = baselines.nlinear(known(fitted), wanted(fitted), known(index), chosen_on)
        return self.report_units(forecast)

    def _notes(self, part: str) -> list[str]:
        return [*self._series.notes]


def _left_out(baseline: str, needed: int, part: str) -> str:
    return (
        f"The baseline {baseline} is left out: it needs {needed} values before every target of "
        f"the {part} part, and enough train targets to be fitted on."
    )
