"""Forecast time series, with parts in order of time; read them from a CSV file."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import TaskData
from attnlab.tasks.forecasting.csv_series import Form, Panel, read_panel
from attnlab.tasks.forecasting.measures import (
    AHEAD,
    FEWEST,
    STEPS,
    Examples,
    Yardstick,
    linear,
    repeat_values,
)
from attnlab.tasks.forecasting.steps import season
from attnlab.tasks.forecasting.task import ForecastingTask, refuse
from attnlab.tasks.forecasting.time_series import (
    Scaler,
    TimeSeries,
    Windows,
    concatenate,
    digest,
    histories,
    join_windows,
    targets,
)
from attnlab.tasks.kinds import Progress

_VALIDATION, _LEAST_TRAIN = 0.15, 0.4  # shares of the values; see `SplitSeries.validation`


class SplitSeries(ForecastingTask):
    """Base class of tasks whose series are split by time: train, validation, test.

    One model learns from the windows of all series. Each window belongs to one series. Each series
    is split and scaled separately, so the model sees all series in the same scale. The scaler is
    fitted only on the train values. Targets are inside their part; a history may start in the
    previous part, as it would in use.

    A subclass defines `read_series`.

    Attributes:
        test: fraction of the values, or number of values if 1 or more.
        validation: likewise; 0 leaves that part out. "auto" is 0.15, but in short series as much as
            prediction intervals need, if 40 % of the values, and a window, are left for train.
        period: values per season, for the seasonal baseline and MASE; None: no season. "auto" is
            the season of the time step (see `steps.season`) if the train values have two of them.
        members: the series with their parts and scalers.
    """

    test: float = 0.2
    validation: Any = "auto"
    scaler: str = "standard"
    period: Any = None

    @abstractmethod
    def read_series(self, progress: Progress | None) -> tuple[Panel, str]:
        """Return the series, and where they come from."""

    def load(self, seed: int = 0, progress: Progress | None = None) -> TaskData:
        """Read the series and split each by time; the seed is ignored."""
        self.panel, source = self.read_series(progress)
        self.lengths = [len(series.columns) for series in self.panel.series]
        self.members = [*map(self._divide, self.panel.series)]
        self.period = self._find_period()
        self.origins = [series.end(self.history) for series in self.members]
        parts = {
            part: join_windows(
                [series.windows(part, self.history, self.horizon) for series in self.members]
            )
            for part in self.members[0].first
        }
        columns = [column for series in self.members for column in series.columns.T]
        is_panel = len(self.lengths) > 1
        data_digest = digest(*columns, *([np.array(self.lengths)] if is_panel else []))
        return self._set_splits(parts, source, data_digest)

    def _divide(self, series: TimeSeries) -> TimeSeries:
        """Split one series; raises `RequestError` if a part has no window."""
        count = len(series.columns)
        borders = self._find_borders(count)
        first = self._first_targets(borders, count)
        for part, stop in zip(first, [*borders.values(), count][1:], strict=True):
            if not first[part]:
                name = f" of series {series.id}" if series.id else ""
                fitting = (
                    f"task.{key}={size}"
                    for key in ("horizon", "history")
                    for size in range(min(getattr(self, key), count), 0, -1)
                    if self.fits(**{key: size})
                )
                raise RequestError(
                    f"task.history={self.history} and task.horizon={self.horizon}: no window fits "
                    f"into the {part} part, {stop - borders[part]} of {count} values{name}. All "
                    "targets of a window are in its part; its history may start earlier. Possible: "
                    f"{next(fitting, 'smaller ones')}, or other parts (task.test, "
                    "task.validation)."
                )
        index = {part: np.array(numbers) for part, numbers in first.items()}
        series = replace(series, borders=borders, first=index)
        scalers = tuple(self._fit_scaler(series, column) for column in series.columns.T)
        return replace(series, scalers=scalers)

    def fits(self, **changes: Any) -> bool:  # noqa: D102
        task = copy(self)
        vars(task).update(changes)
        return all(
            all(task._first_targets(task._find_borders(count), count).values())
            for count in sorted({*task.lengths})
        )

    def _find_borders(self, count: int) -> dict[str, int]:
        """Return part -> position of its first value, in order of time."""
        is_auto = self.validation == "auto"
        tests, validations = (
            int(size) if size >= 1 else round(count * size)
            for size in (self.test, _VALIDATION if is_auto else self.validation)
        )
        if is_auto:
            train = max(round(_LEAST_TRAIN * count), self.history + self.horizon)
            most = count - train - tests
            others = -(-FEWEST // len(self.lengths)) - 1  # errors of all series are pooled
            if validations < self.horizon + others <= most:
                validations = min(max(self.horizon, STEPS) + others, most)
        borders = {"train": 0}
        if self.validation:
            borders["validation"] = max(count - tests - validations, 0)
        return borders | {"test": max(count - tests, 0)}

    def _first_targets(self, borders: Mapping[str, int], count: int) -> dict[str, range]:
        """Return part -> positions of its windows' first targets."""
        starts = [*borders.values(), count]
        return {
            part: range(max(start, self.history), stop - self.horizon + 1)
            for part, start, stop in zip(borders, starts, starts[1:], strict=False)
        }

    def _fit_targets(self, series: TimeSeries, order: int) -> np.ndarray:
        """Return the positions of the first targets on which a linear baseline is fitted."""
        return np.arange(order, series.train_end - self.horizon + 1)

    def _fit_scaler(self, series: TimeSeries, values: np.ndarray) -> Scaler:
        return Scaler.fit(values[: series.train_end], self.scaler)

    def _find_period(self) -> int | None:
        """Return the common season of all series, if each train part has two of them."""
        if self.period != "auto":
            return self.period
        period, *others = {season(series.step) for series in self.members}
        shortest = min(series.train_end for series in self.members)
        return period if period and not others and 2 * period <= shortest else None

    def report_scaler(self, windows: Windows) -> Scaler:
        """Return the scaler of each window's series, as one scaler with arrays."""
        if windows.ids is None:
            return self.origins[0].scalers[0]
        scalers = {origin.id: origin.scalers[0] for origin in self.origins}
        rows = [scalers[name] for name in windows.ids]
        columns = np.array([(row.level, row.offset, row.scale) for row in rows]).T
        return Scaler(self.scaler, *columns[:, :, None])

    def validation_targets(self) -> np.ndarray:
        """See the base class; with inputs, K is the horizon, since their future is unknown."""
        ahead, rows = self.horizon if self.inputs else max(self.horizon, AHEAD), []
        for series in self.members:
            values = np.append(series.values[: series.borders["test"]], np.full(ahead, np.nan))
            rows.append(targets(values, series.first["validation"], ahead))
        return np.concatenate(rows)

    def yardsticks(self) -> dict[str, Yardstick]:  # noqa: D102
        return {series.id: Yardstick.of_series(series, self.period) for series in self.members}

    def baselines(self, part: str) -> dict[str, np.ndarray]:  # noqa: D102
        tested, fitted = self.splits.parts[part], linear(self._samples, part, self.history)
        scaled = {name: self.report_units(values, tested) for name, values in fitted.items()}
        return repeat_values(self.members, part, self.horizon, self.period) | scaled

    def _samples(self, part: str | None, length: int) -> Examples | None:
        """Return windows of all series and their targets; see `measures.Samples`."""
        pasts, futures = [], []
        for series in self.members:
            if part is None:
                first = self._fit_targets(series, length)
            elif part in series.first:
                first = series.first[part]
            else:
                return None
            if np.any(first < length):
                return None
            pasts.append(histories(series.scaled, first, length))
            futures.append(targets(series.scaled, first, self.horizon))
        return concatenate(pasts), concatenate(futures)

    def notes(self, part: str) -> list[str]:  # noqa: D102
        return self.panel.notes


@dataclass(kw_only=True, eq=False)
class Series(Form, SplitSeries):
    """The next `horizon` values of the series in a CSV file from the last `history` values.

    For the form of the file see `read_panel`, for the other settings `SplitSeries`. `scaler` is
    "standard" or "minmax", fitted per column. `inputs` are further columns, which a window has for
    its history only.
    """

    name = "series"
    units = "units of the series"

    path: str
    history: int = 24
    horizon: int = 1
    test: float = 0.2
    validation: Any = "auto"
    scaler: str = "standard"
    period: Any = "auto"

    def __post_init__(self) -> None:
        self.form, self.inputs = self, [*(self.inputs or ())]
        for key, size in (("test", self.test), ("validation", self.validation)):
            if isinstance(size, float) and size >= 1:
                refuse(key, "a fraction below 1 or a whole number of values", size)

    def read_series(self, progress: Progress | None) -> tuple[Panel, str]:  # noqa: D102
        panel = read_panel(self.path, self)
        self.units = panel.name if panel.name.startswith("units") else f"units of {panel.name}"
        return panel, self.path

    def interval_advice(self, steps: int) -> str:  # noqa: D102
        horizon = max(steps, self.horizon)
        changes = {"validation": -(-FEWEST // len(self.origins)) + horizon - 1}
        if steps > max(self.horizon, AHEAD):
            changes["horizon"] = steps
        advice = "a run with " + " ".join(f"task.{key}={size}" for key, size in changes.items())
        if self.fits(**changes):
            return advice
        needed = next(n for n in itertools.count() if self.fits(lengths=[n], **changes))
        return f"{advice} and series of at least {needed:,} values (not {min(self.lengths):,})"
