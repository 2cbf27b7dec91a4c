"""Forecast time series from a CSV file, with parts in order of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import listed
from attnlab.tasks.declaration import Progress
from attnlab.tasks.forecasting.data import baselines, windows
from attnlab.tasks.forecasting.data.csv_series import FIRST, Form, Panel, read_panel
from attnlab.tasks.forecasting.data.measures import AHEAD, Yardstick
from attnlab.tasks.forecasting.data.ridge import Known
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.steps import season
from attnlab.tasks.forecasting.data.time_series import TimeSeries, digest
from attnlab.tasks.forecasting.data.windows import Splits, Windows
from attnlab.tasks.forecasting.task import ForecastingTask, refuse


class Series(ForecastingTask):
    """The next `horizon` values of any series from its last `history` values.

    A file may have several series, which `id_column` distinguishes; one model learns from the
    windows of all series. Each window belongs to one series. Each series is split and scaled
    separately, so the model sees all series in the same scale.

    Parts are in order of time: train, validation, test. The scaler is fitted only on the train
    values. Targets are inside their part; a history may start in the previous part, as it would
    in use.

    `test` and `validation` are fractions of the values if below 1, else numbers of values;
    `validation=0` leaves that part out. `scaler` is "standard" or "minmax", fitted per column.
    `period` is the number of values per season, for the seasonal naive baseline and MASE; None
    means no season, and "auto" the season of the time step (see `steps.season`) if the train
    values have two of them. `inputs` are further columns, which a window has for its history only.
    For the form of the file see `read_panel`.

    Interpolation uses the next value, so no window ends with an interpolated value or
    forecasts one.

    Raises:
        RequestError: nothing would be left to train on.
    """

    name = "series"

    def __init__(
        self,
        *,
        path: str,
        column: str | int | None = None,
        time_column: str | int | None = FIRST,
        time_format: str | None = None,
        id_column: str | int | None = None,
        inputs: Sequence[str | int] | None = None,
        separator: str = "comma",
        decimal: str = "point",
        missing: str = "refuse",
        history: int = 24,
        horizon: int = 1,
        test: float = 0.2,
        validation: float = 0.15,
        scaler: str = "standard",
        period: int | str | None = "auto",
    ):
        self.path, self.inputs = path, [*(inputs or ())]
        self.form = Form(
            column, self.inputs, time_column, time_format, id_column, separator, decimal, missing
        )
        self.units = "units of the series"
        self.history, self.horizon = history, horizon
        self.test, self.validation = test, validation
        self.scaler, self._period_setting = scaler, period
        for key, size in (("test", test), ("validation", validation)):
            if size >= 1 and not isinstance(size, int):
                refuse(key, "a fraction below 1 or a whole number of values", size)
        if max(test, validation) < 1 <= test + validation:
            refuse("validation", f"less than 1 - task.test = {1 - test:g}", validation)

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read the series and split each by time; the seed is ignored."""
        self.panel, source = self._read(progress)
        self.series, self._too_short, reason = [], [], None
        for series in self.panel.series:
            try:
                self.series.append(self._divide(series))
            except RequestError as error:
                self._too_short.append(series.id)
                reason = error
        if reason and not self.series:
            if len(self._too_short) == 1:
                raise reason
            raise RequestError(
                f"None of the {len(self._too_short)} series is long enough: {reason}"
            )
        self.period = self._find_period()
        self._origins = [series.end(self.history) for series in self.series]
        parts = {
            part: windows.joined(
                [series.windows(part, self.history, self.horizon) for series in self.series]
            )
            for part in self.series[0].first
        }
        columns = [column for series in self.panel.series for column in series.columns.T]
        lengths = [len(series.columns) for series in self.panel.series]
        scaling = self.series[0].scalers[0].describe()
        if len(self.series) > 1:
            scaling = f"{self.scaler} (each of {len(self.series)} series by its own train part)"
        self._splits = Splits(
            parts=parts,
            longest=self.history,
            name=self.name,
            source=source,
            digest=digest(*columns, *([np.array(lengths)] if len(lengths) > 1 else [])),
            scaler=scaling,
        )
        return self._splits

    def _read(self, progress: Progress | None) -> tuple[Panel, str]:
        """Return the series, and where they come from."""
        panel = read_panel(self.path, self.form)
        self.units = panel.name if panel.name.startswith("units") else f"units of {panel.name}"
        return panel, self.path

    def _divide(self, series: TimeSeries) -> TimeSeries:
        """Split one series; raises `RequestError` if a part has no window."""
        count = len(series.columns)
        series = replace(series, borders=self._find_borders(count))
        first = {
            part: series.unfilled(targets, self.horizon)
            for part, targets in self._first_targets(series.borders, count).items()
        }
        series = replace(series, first=first)
        self._check_counts(series)
        scalers = tuple(self._fit_scaler(series, column) for column in series.columns.T)
        return replace(series, scalers=scalers)

    def _find_borders(self, count: int) -> dict[str, int]:
        """Return part -> position of its first value, in order of time."""
        tests, validations = (
            int(size) if size >= 1 else round(count * size) for size in (self.test, self.validation)
        )
        borders = {"train": 0}
        if self.validation:
            borders["validation"] = max(count - tests - validations, 0)
        return borders | {"test": max(count - tests, 0)}

    def _first_targets(self, borders: Mapping[str, int], count: int) -> dict[str, np.ndarray]:
        """Return part -> positions of its windows' first targets."""
        starts = [*borders.values(), count]
        return {
            part: windows.sliding(max(start, self.history), stop, self.horizon)
            for part, start, stop in zip(borders, starts, starts[1:], strict=False)
        }

    def _check_counts(self, series: TimeSeries) -> None:
        count, train_end = len(series.columns), series.train_end
        if not len(series.first["train"]):
            raise RequestError(
                f"task.history: expected at most {train_end} with task.horizon, since the "
                f"train part has {train_end} of the {count} values; got {self.history} "
                f"and a horizon of {self.horizon}"
            )
        for part, index in series.first.items():
            if not len(index):
                refuse(
                    part,
                    f"a fraction of the {count} values that leaves the {part} part a window "
                    f"(task.history {self.history}, task.horizon {self.horizon})",
                    getattr(self, part),
                )

    def _fit_targets(self, series: TimeSeries, order: int) -> np.ndarray:
        """Return the positions of the first targets on which a linear baseline is fitted."""
        return windows.sliding(order, series.train_end, self.horizon)

    def _fit_scaler(self, series: TimeSeries, values: np.ndarray) -> Scaler:
        train, filled = values[: series.train_end], series.filled
        return Scaler.fit(train if filled is None else train[~filled[: len(train)]], self.scaler)

    def _find_period(self) -> int | None:
        """Return the common season of all series, if each train part has two of them."""
        if isinstance(self._period_setting, int) or self._period_setting is None:
            return self._period_setting
        steps = {series.step for series in self.series}
        period, *others = {season(step) if step else None for step in steps}
        shortest = min(series.train_end for series in self.series)
        return period if period and not others and 2 * period <= shortest else None

    def report_scaler(self, windows: Windows) -> Scaler:
        """Return the scaler of each window's series, as one scaler with arrays."""
        if windows.ids is None:
            return self.origins[0].scalers[0]
        scalers = {origin.id: origin.scalers[0] for origin in self.origins}
        columns: list[Any] = [
            np.array([getattr(scalers[name], key) for name in windows.ids])[:, None]
            for key in ("level", "offset", "scale")
        ]
        return Scaler(self.scaler, *columns)

    def validation_targets(self) -> np.ndarray:
        """See the base class; with inputs, K is the horizon, since their future is unknown."""
        ahead = self.horizon if self.inputs else max(self.horizon, AHEAD)
        return np.concatenate([series.validation_targets(ahead) for series in self.series])

    def _yardsticks(self) -> dict[str, Yardstick]:
        return {series.id: series.yardstick(self.period) for series in self.series}

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        forecasts, notes = baselines.repeated(self.series, part, self.horizon, self.period)
        linear, more = baselines.linear(self._samples, part, self.history)
        tested = self.splits.part(part)
        forecasts |= {name: self.report_units(values, tested) for name, values in linear.items()}
        return forecasts, notes + more

    def _samples(self, part: str | None, length: int) -> Known | None:
        """Return windows of all series and their targets; see `baselines.Samples`."""
        histories, targets = [], []
        for series in self.series:
            if part is None:
                first = series.unfilled(self._fit_targets(series, length), self.horizon)
            elif part in series.first:
                first = series.first[part]
            else:
                return None
            if np.any(first < length):
                return None
            histories.append(windows.histories(series.scaled, first, length))
            targets.append(windows.targets(series.scaled, first, self.horizon))
        return windows.concatenate(histories), windows.concatenate(targets)

    def _notes(self, part: str) -> list[str]:
        notes = [*self.panel.notes]
        if short := self._too_short:
            notes.append(
                f"{len(short)} of {len(self.panel.series)} series are left out, since they "
                "are too short for a window in each part (task.history "
                f"{self.history}, task.horizon {self.horizon}): {listed(short)}."
            )
        return notes
