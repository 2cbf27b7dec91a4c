"""Forecast time series from a CSV file, with parts in order of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.forecasting.by_series import listed
from attnlab.tasks.forecasting.data import windows
from attnlab.tasks.forecasting.data.csv_file import read_table
from attnlab.tasks.forecasting.data.csv_series import read_panel
from attnlab.tasks.forecasting.data.divided import Divided
from attnlab.tasks.forecasting.data.intervals import AHEAD
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.origin import Origin
from attnlab.tasks.forecasting.data.reading.rows import Reading
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.series_baselines import linear_maps, repeated
from attnlab.tasks.forecasting.data.time_series import TimeSeries, digest
from attnlab.tasks.forecasting.data.times import season
from attnlab.tasks.forecasting.data.windows import Splits, Windows
from attnlab.tasks.forecasting.task import ForecastingTask, refuse

_UNITS_OF = "units of "


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
    means no season, and "auto" the season of the time step (see `times.season`) if the train
    values have two of them. `inputs` are further columns, which a window has for its history only.
    For the other settings see `read_panel`.

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
        time_column: str | int | None = "auto",
        id_column: str | int | Sequence[str | int] | None = None,
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
        ids = (
            id_column
            if isinstance(id_column, Sequence) and not isinstance(id_column, str)
            else [id_column]
        )
        reading = (time_format, missing, decimal, thousands, encoding)
        self._reading = Reading(self.inputs, *reading, [each for each in ids if each is not None])
        self.units = "units of the series"
        self.history, self.horizon = history, horizon
        self.test, self.validation = test, validation
        self.scaler, self._asked_period = scaler, period
        if decimal is not None and decimal == thousands:
            refuse("thousands", f"another mark than task.decimal={decimal}", thousands)
        for key, size in (("test", test), ("validation", validation)):
            if size >= 1 and not isinstance(size, int):
                refuse(key, "a fraction below 1 or a whole number of values", size)
        if max(test, validation) < 1 <= test + validation:
            refuse("validation", f"less than 1 - task.test = {1 - test:g}", validation)

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read the series and split each by time; the seed is ignored."""
        read = self._read()
        self.divided, self._left_out = self._divide_all(read)
        self.period = self._find_period()
        sizes = (self.history, self.horizon)
        columns = [column for each in read for column in each.columns.T]
        lengths = [np.array([len(each.values) for each in read])] if len(read) > 1 else []
        self.layout = read[0].layout
        self._origins = [each.end(self.history) for each in self.divided]
        parts = {
            part: windows.joined([each.cut(part, *sizes) for each in self.divided])
            for part in self.divided[0].first
        }
        self._splits = Splits(
            **parts,
            name=self.name,
            source=read[0].source,
            digest=digest(*columns, *lengths),
            scaler=self._scaling(),
        )
        return self._splits

    def _read(self) -> Sequence[TimeSeries]:
        series = read_panel(self.path, self.column, self.time_column, self._reading)
        name = series[0].name
        self.units = name if name.startswith("units") else _UNITS_OF + name
        return series

    def _divide_all(self, read: Sequence[TimeSeries]) -> tuple[list[Divided], list[str]]:
        """Return the series that are long enough, and the ids of the others.

        Raises:
            RequestError: no series is long enough.
        """
        found, short, reason = [], [], None
        for series in read:
            try:
                found.append(self._divide(series))
            except RequestError as error:
                short.append(series.id)
                reason = error
        if reason and not found:
            if len(read) == 1:
                raise reason
            raise RequestError(f"None of the {len(read)} series is long enough: {reason}")
        return found, short

    def _divide(self, series: TimeSeries) -> Divided:
        """Split one series; raises `RequestError` if a part has no window."""
        count = len(series.values)
        borders = self._find_borders(count)
        divided = Divided(series, borders, {})
        first = {
            part: divided.unfilled(at, self.horizon)
            for part, at in self._first_targets(borders, count).items()
        }
        divided = replace(divided, first=first)
        self._check_counts(divided)
        scalers = [self._fit_scaler(divided, column) for column in series.columns.T]
        return replace(divided, scalers=tuple(scalers))

    def _scaling(self) -> str:
        if len(self.divided) == 1:
            return self.divided[0].scalers[0].describe()
        return f"{self.scaler} (each of {len(self.divided)} series by its own train part)"

    def read_origins(self, path: str, column: str | None = None) -> tuple[list[Origin], list[str]]:
        """Read series from another file, using the columns of the run's file if it has them."""
        named = [name for name in (self.column, self.time_column) if name is not None]
        table = read_table(Path(path).expanduser(), self._reading.encoding, named)
        own = [name for name in named if name != "auto" and table.has(name)]
        learned = self.units.removeprefix(_UNITS_OF)  # the column that the run found by itself
        if column is None and (self.column in own or table.has(learned)):
            column = self.column if self.column in own else learned
        times = self.time_column if self.time_column in (None, *own) else "auto"
        reading = self._reading
        if not all(map(table.has, reading.ids)):
            reading = replace(reading, ids=())
        try:
            series = read_panel(path, column, times, reading)
        except RequestError:
            if times != "auto" or reading.time_format is None:
                raise
            series = read_panel(path, column, None, reading)  # values without times
        origins = [Origin.of(each, self.scalers_from(each.columns, each.id)) for each in series]
        return origins, [*dict.fromkeys(note for each in series for note in each.notes)]

    def scalers_from(self, values: np.ndarray, name: str | None) -> tuple[Scaler, ...]:
        """Return the scalers of the series with this id; a new series gets its own."""
        known = {origin.id: origin.scalers for origin in self.origins}
        if not self._reading.ids or name in known:
            return self.origin(name or None).scalers
        return tuple(Scaler.fit(column, self.scaler) for column in values.T)

    def _find_borders(self, count: int) -> dict[str, int]:
        """Return part -> position of its first value, in order of time."""
        tests, validations = (
            int(size) if size >= 1 else round(count * size) for size in (self.test, self.validation)
        )
        borders = {"train": 0}
        if self.validation:
            borders["validation"] = max(count - tests - validations, 0)
        return borders | {"test": max(count - tests, 0)}

    def _find_period(self) -> int | None:
        """Return the common season of all series, if each train part has two of them."""
        if isinstance(self._asked_period, int) or self._asked_period is None:
            return self._asked_period
        steps = {each.series.step for each in self.divided}
        found = {season(step) if step else None for step in steps}
        shortest = min(each.train_end for each in self.divided)
        (period, *others) = found
        return period if period and not others and 2 * period <= shortest else None

    def _first_targets(self, borders: Mapping[str, int], count: int) -> dict[str, np.ndarray]:
        """Return part -> positions of its windows' first targets."""
        starts = [*borders.values(), count]
        return {
            part: windows.sliding(max(start, self.history), stop, self.horizon)
            for part, start, stop in zip(borders, starts, starts[1:], strict=False)
        }

    def _check_counts(self, divided: Divided) -> None:
        count, train_end = len(divided.values), divided.train_end
        if not len(divided.first["train"]):
            raise RequestError(
                f"task.history: expected at most {train_end} with task.horizon, since the "
                f"train part has {train_end} of the {count} values; got {self.history} "
                f"and a horizon of {self.horizon}"
            )
        for part, index in divided.first.items():
            if not len(index):
                refuse(
                    part,
                    f"a fraction of the {count} values that leaves the {part} part a window "
                    f"(task.history {self.history}, task.horizon {self.horizon})",
                    getattr(self, part),
                )

    def _fit_targets(self, divided: Divided, order: int) -> np.ndarray:
        """Return the positions of the first targets on which a linear baseline is fitted."""
        return windows.sliding(order, divided.train_end, self.horizon)

    def _fit_scaler(self, divided: Divided, values: np.ndarray) -> Scaler:
        train, filled = values[: divided.train_end], divided.series.filled
        return Scaler.fit(train if filled is None else train[~filled[: len(train)]], self.scaler)

    def report_scaler(self, windows: Windows) -> Scaler:
        """Return the scaler of each window's series, as one scaler with arrays."""
        scalers = {origin.id: origin.scalers[0] for origin in self.origins}
        if windows.ids is None:
            return self.scaler_for()
        own = [scalers[name] for name in windows.ids]
        numbers = ("level", "offset", "scale")
        columns = [np.array([getattr(each, key) for each in own])[:, None] for key in numbers]
        return Scaler(self.scaler, *columns)

    def validation_targets(self) -> np.ndarray:
        """See the base class; with inputs, K is the horizon, since their future is unknown."""
        ahead = self.horizon if self.inputs else max(self.horizon, AHEAD)
        return np.concatenate([each.validation_targets(ahead) for each in self.divided])

    def _yardsticks(self) -> dict[str, Yardstick]:
        return {each.series.id: each.yardstick(self.period) for each in self.divided}

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        found, notes = repeated(self.divided, part, self.horizon, self.period)
        sizes = self.history, self.horizon
        linear, more = linear_maps(self.divided, part, *sizes, self._fit_targets)
        tested = self.splits.part(part)
        found |= {name: self.report_units(made, tested) for name, made in linear.items()}
        return found, notes + more

    def _notes(self, part: str) -> list[str]:
        notes = [*dict.fromkeys(note for each in self.divided for note in each.series.notes)]
        if short := self._left_out:
            notes.append(
                f"{len(short)} of {len(short) + len(self.divided)} series are left out, since they "
                "are too short for a window in each part (task.history "
                f"{self.history}, task.horizon {self.horizon}): {listed(short)}."
            )
        return notes
