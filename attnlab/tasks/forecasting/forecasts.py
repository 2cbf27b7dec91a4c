"""Forecast beyond the end of a task's series, and save what this needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.forecasting.by_series import listed
from attnlab.tasks.forecasting.data.csv_series import read_series
from attnlab.tasks.forecasting.data.origin import (
    Origin,
    Predict,
    check_steps,
    newest,
    next_values,
)
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.windows import Splits
from attnlab.tasks.forecasting.data.writing.layout import Layout

if TYPE_CHECKING:
    import keras

_FILE = "scaler.json"


class Forecasts:
    """Base class of forecasting tasks: forecasts from the end of each series, without the data."""

    name: ClassVar[str]
    units: str  # of the reported metrics
    history: int  # values per window (S)
    horizon: int  # values to forecast
    inputs: Sequence[str | int] = ()  # K other columns, known up to the end of the history

    _splits: Splits | None = None
    _origins: Sequence[Origin] = ()  # the end of each series
    layout = Layout()  # the form of the CSV file of the series, or the default form

    @property
    def splits(self) -> Splits:
        """Return what `load` returned.

        Raises:
            RuntimeError: `load` was not called.
        """
        if self._splits is None:
            raise RuntimeError(f"{type(self).__name__}: call load() first")
        return self._splits

    @property
    def origins(self) -> Sequence[Origin]:
        """Return the end of each series: its newest `history` values.

        Raises:
            RuntimeError: neither `load` nor `load_from` was called.
        """
        if not self._origins:
            raise RuntimeError(f"{type(self).__name__}: call load() or load_from() first")
        return self._origins

    def origin(self, name: str | None = None) -> Origin:
        """Return the end of the series with this id, or of the only series.

        Raises:
            RequestError: there is no such series, or there are several and no id is given.
        """
        ids = [each.id for each in self.origins]
        if name in ids:
            return self.origins[ids.index(name)]
        if name is None and len(ids) == 1:
            return self.origins[0]
        if ids == [""]:
            raise RequestError(f"--id: the run has only one series, without an id; got {name}.")
        given = "got none" if name is None else f"got {name}"
        hint = did_you_mean(name or "", ids)
        raise RequestError(
            f"--id: expected one of the {len(ids)} series {listed(ids)}; {given}.{hint}"
        )

    def scaler_for(self, history: np.ndarray | None = None, name: str | None = None) -> Scaler:
        """Return the scaler of a window: the scaler of its series."""
        return self.origin(name).scalers[0]

    def serve(
        self,
        model: keras.Model,
        inputs: Any = None,
        steps: int | None = None,
        id: str | None = None,
    ) -> np.ndarray:
        """Forecast each history, oldest first, in natural units: (N, steps).

        Histories are (N, S), or with inputs (N, S, 1 + K) with the series first; they belong to the
        series `id`. A single history gives (steps,). `inputs=None` forecasts from the end of the
        series: (steps,), or a row per series if there are several and no `id` is given. `steps`
        defaults to the horizon.
        """
        steps = self.horizon if steps is None else steps
        if inputs is None:
            chosen = self.origins if id is None else [self.origin(id)]
            found = self.forecast_from(model, chosen, steps)
            return found if len(chosen) > 1 else found[0]
        try:
            histories = np.asarray(inputs, np.float64)
        except (TypeError, ValueError) as error:
            raise RequestError(f"inputs: can't be read as numbers: {error}.") from error
        if histories.ndim <= 1 + bool(self.inputs):
            return self.forecast(model, histories, steps, id)
        return np.stack([self.forecast(model, row, steps, id) for row in histories])

    def forecast(
        self, model: keras.Model, history_values: np.ndarray, steps: int, id: str | None = None
    ) -> np.ndarray:
        """Forecast with a model; see `forecast_values`."""
        return self.forecast_values(_called(model), history_values, steps, id)

    def forecast_from(
        self, model: keras.Model, origins: Sequence[Origin], steps: int
    ) -> np.ndarray:
        """Forecast several series with a model, (N, steps); raises like `forecast_values`."""
        return self._next(_called(model), origins, steps)

    def forecast_values(
        self, predict: Predict, history_values: Any, steps: int, id: str | None = None
    ) -> np.ndarray:
        """Forecast (steps,) float64; after the horizon, forecasts become history.

        Args:
            predict: maps scaled histories to scaled forecasts, see `Predict`.
            history_values: `history` or more of the newest values, (n,) or with inputs (n, 1 + K).
            steps: how many values to forecast, 1 or more.
            id: of the series whose scaling they have; None: of the only one.

        Raises:
            RequestError: too few history values, one that is not finite, `steps` below 1, or
                `steps` above the horizon with inputs, whose future values are unknown.
            RunFailed: a forecast that is not finite.
        """
        return self._next(predict, [self.origin_of(history_values, id)], steps)[0]

    def _next(self, predict: Predict, origins: Sequence[Origin], steps: int) -> np.ndarray:
        check_steps(steps, self.horizon, self.inputs)
        windows = [newest(origin.values, self.history, self.inputs) for origin in origins]

        def scalers_of(number: int, window: np.ndarray) -> Sequence[Scaler]:
            return origins[number].scalers or (self.scaler_for(window[:, 0]),)

        return next_values(predict, np.stack(windows), scalers_of, steps)

    def origin_of(self, values: Any, name: str | None = None) -> Origin:
        """Make an origin of values (n,) or (n, 1 + K), with the scalers of a series."""
        window = newest(values, self.history, self.inputs)
        return Origin(window, self.scalers_from(window, name))

    def scalers_from(self, values: np.ndarray, name: str | None) -> tuple[Scaler, ...]:
        """Return the scalers for values (n, 1 + K): those of the series with this id."""
        return self.origin(name).scalers

    def interval(
        self, ends: Mapping[str, Sequence[float | None]], origin: Origin, forecast: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the columns `low` and `high` of a forecast (steps,); NaN after the last known end.

        `ends` is the entry of metrics.json; the forecast starts at `origin`.
        """
        offsets = np.full((2, len(forecast)), np.nan)
        steps = min(len(forecast), len(ends["low"]))
        offsets[:, :steps] = np.array([ends["low"], ends["high"]], np.float64)[:, :steps]
        window = newest(origin.values, self.history, self.inputs)
        (scaler, *_) = origin.scalers or (self.scaler_for(window[:, 0]),)
        low, high = forecast + offsets * scaler.scale
        return {"low": low, "high": high}

    def read_origins(self, path: str, column: str | None = None) -> tuple[list[Origin], list[str]]:
        """Read origins from a CSV file, and notes on it; raises like `read_series`."""
        series = read_series(path, column)
        return [Origin.of(series, self.scalers_from(series.columns, None))], [*series.notes]

    def save(self, folder: Path) -> None:
        """Write scaler.json, which forecasts need when the data are not available."""
        content = {
            "task": self.name,
            "history": self.history,
            "horizon": self.horizon,
            "units": self.units,
            "layout": self.layout.to_json(),
            "series": [origin.to_json() for origin in self.origins],
            "digest": self.splits.digest,
        }
        write_json(folder / _FILE, content)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that forecasts work without the data.

        Raises:
            RequestError: the file is missing, damaged, or of other settings.
        """

        def read(content: Mapping[str, Any]) -> tuple[tuple, tuple[list[Origin], str, Layout]]:
            origins = [Origin.from_json(each) for each in content["series"]]
            ((history, columns),) = {each.values.shape for each in origins}
            saved = content["task"], history, content["horizon"], columns
            return saved, (origins, str(content["units"]), Layout.from_json(content["layout"]))

        own = self.name, self.history, self.horizon, 1 + len(self.inputs)
        what = "task, history and horizon, and columns"
        found = read_assets(folder / _FILE, read, expected=own, what=what)
        self._origins, self.units, self.layout = found


def _called(model: keras.Model) -> Predict:
    return lambda history: model(history, training=False)
