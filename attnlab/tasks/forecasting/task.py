"""Base class of forecasting tasks: model, loss, reports, and forecasts beyond a series' end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, RunFailed
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.data.corpus import listed
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.forecasting.data.csv_series import Form, read_panel
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.scaling import Scaler, scale_columns
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.windows import Splits, Windows
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import build_report
from attnlab.tasks.models import build_model

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option

_FILE = "scaler.json"
Predict = Callable[[np.ndarray], Any]  # (N, S, 1 + K) float32 -> (N, horizon), in model units


class ForecastingTask(Task):
    """Base class of tasks that map a window of numbers to the next one or more.

    A subclass takes exactly the settings of its YAML, keyword-only, and implements `load` and
    the methods `_baselines`, `_yardsticks` and `_notes`. `load` must set `_splits` and `_origins`.
    """

    kind: ClassVar[Kind] = KIND
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")  # selects the best epoch
    units: str  # of the reported metrics
    series_units: str | None = None  # units of the raw series; None: `units`
    oracles: ClassVar[tuple[str, ...]] = ()  # baselines that know the rule; the skill ignores them
    license: ClassVar[str] = ""  # of the data; "" if unknown
    history: int  # values per window (S)
    horizon: int  # values to forecast
    form = Form(time_column=None)  # of files from which forecasts can start
    scaler: str = ""  # the kind that is fitted on a new series of a file with ids
    inputs: Sequence[str | int] = ()  # K other columns, known up to the end of the history

    _splits: Splits | None = None
    _origins: Sequence[TimeSeries] = ()  # the end of each series

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read or generate the data, split them, and fit the scaling.

        Only tasks that generate data use `seed`. Only downloads call `progress`.

        Raises:
            RequestError: the settings don't fit the data, or the data can't be read.
        """
        raise NotImplementedError

    @property
    def splits(self) -> Splits:
        """Return what `load` returned.

        Raises:
            RuntimeError: `load` was not called.
        """
        if self._splits is None:
            raise RuntimeError(f"{type(self).__name__}: call load() first")
        return self._splits

    def build(self, attention: Callable[..., Attention], model: Option) -> keras.Model:
        """Build the forecaster with random weights: (B, S, 1 + K) -> (B, horizon), in model units.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        shape = (None, self.history, 1 + len(self.inputs))
        classes = self.kind.models.classes
        return build_model(
            classes, model.name, model.settings, attention, shape, horizon=self.horizon
        )

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build`, before the data are read."""
        self.build(attention, model)

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Return the squared error averaged over the horizon, (B,), of two arrays (B, horizon)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

    # Reports

    def report(
        self, forecast: np.ndarray, part: str = "test", ends: np.ndarray | None = None
    ) -> Report:
        """Score a model's forecast of one part, (N, horizon) in model units, and the baselines.

        `ends` (2, K) is the prediction interval in model units; see `interval_ends`.

        Raises:
            ValueError: no such part, or a forecast of another shape.
        """
        windows = self.splits.part(part)
        forecast = np.asarray(forecast, dtype=np.float64)
        if forecast.shape != windows.target.shape:
            raise ValueError(
                f"expected a forecast of shape {windows.target.shape} for the {part} part, "
                f"got {forecast.shape}"
            )
        baselines, missing = self._baselines(part)
        return build_report(
            windows,
            self.report_units(forecast, windows),
            baselines,
            oracles=self.oracles,
            units=self.units,
            yardsticks=self._yardsticks(),
            notes=self._notes(part) + missing,
            ends=ends,
            scale=self.report_scaler(windows).scale,
        )

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Score a model's forecast of one part; see `report`.

        Raises:
            RequestError: the run has no such part.
        """
        require_part([*self.splits.parts], part)
        windows = self.splits.part(part)
        return self.report(model.predict(windows.history, batch_size=256, verbose=0), part)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part([*self.splits.parts], part)
        windows = self.splits.part(part)
        return windows.take(windows.spread(count)).history, None

    def validation_targets(self) -> np.ndarray:
        """Return the targets of the validation part, (n, K) in `units`.

        K is the horizon, or more if forecasts can be fed back as history. NaN after the part's end.
        """
        return self.splits.part("validation").exact

    def report_scaler(self, windows: Windows) -> Scaler:
        """Return the scaler from model units to `units` of each window; by default the identity."""
        return Scaler("none", 0.0, 0.0, 1.0)

    def report_units(self, values: np.ndarray, windows: Windows) -> np.ndarray:
        """Convert values (N, K) of some windows from model units to `units`."""
        return self.report_scaler(windows).invert(values)

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return each baseline's forecasts, (N, horizon) in `units`, and notes on missing ones."""
        raise NotImplementedError

    def _yardsticks(self) -> dict[str, Yardstick]:
        """Return the statistics that normalize the errors of each series, by id.

        By default they come from the first targets and the last inputs of the train windows.
        """
        train = self.splits.train
        targets = train.exact[:, 0]
        last = self.report_units(train.history[:, -1, :1], train)[:, 0]
        return {"": Yardstick.of(targets, targets - last)}

    def _notes(self, part: str) -> list[str]:
        """Return caveats for the report of a part."""
        return []

    # Forecasts beyond the end of each series, which don't need the data

    @property
    def origins(self) -> Sequence[TimeSeries]:
        """Return the end of each series: its newest `history` values.

        Raises:
            RuntimeError: neither `load` nor `load_from` was called.
        """
        if not self._origins:
            raise RuntimeError(f"{type(self).__name__}: call load() or load_from() first")
        return self._origins

    def origin(self, name: str | None = None) -> TimeSeries:
        """Return the end of the series with this id, or of the only series.

        Raises:
            RequestError: there is no such series, or there are several and no id is given.
        """
        ids = [origin.id for origin in self.origins]
        if name in ids:
            return self.origins[ids.index(name)]
        if name is None and len(ids) == 1:
            return self.origins[0]
        if ids == [""]:
            raise RequestError(f"--id: the run has only one series, without an id; got {name}.")
        answer = "got none" if name is None else f"got {name}"
        hint = did_you_mean(name or "", ids)
        raise RequestError(
            f"--id: expected one of the {len(ids)} series {listed(ids)}; {answer}.{hint}"
        )

    def origin_of(self, values: Any, name: str | None = None) -> TimeSeries:
        """Make an origin of values (n,) or (n, 1 + K), with the scalers of a series."""
        window = self._newest(values)
        return TimeSeries(window, self.scalers_from(window, name))

    def scalers_from(self, values: np.ndarray, name: str | None) -> tuple[Scaler, ...]:
        """Return the scalers of the series with this id; a new series gets its own."""
        scalers = {origin.id: origin.scalers for origin in self.origins}
        if self.form.id_column is None or name in scalers:
            return self.origin(name or None).scalers
        return tuple(Scaler.fit(column, self.scaler) for column in values.T)

    def read_origins(self, path: str) -> tuple[list[TimeSeries], list[str]]:
        """Read origins from a CSV file of the run's form, and notes on it; see `read_panel`."""
        panel = read_panel(path, self.form, "--history")
        origins = [
            replace(series, scalers=self.scalers_from(series.columns, series.id))
            for series in panel.series
        ]
        return origins, panel.notes

    def forecast_values(
        self, predict: Predict, values: Any, steps: int, id: str | None = None
    ) -> np.ndarray:
        """Forecast (steps,) from values (n,) or (n, 1 + K) of the series `id`; see `forecast`."""
        return self.forecast(predict, [self.origin_of(values, id)], steps)[0]

    def forecast(self, predict: Predict, origins: Sequence[TimeSeries], steps: int) -> np.ndarray:
        """Forecast several series, (N, steps) float64; after the horizon, forecasts become history.

        Args:
            predict: the model, or any other `Predict`.
            origins: the ends of the series, with at least `history` values each.
            steps: how many values to forecast, 1 or more.

        Raises:
            RequestError: too few history values, one that is not finite, `steps` below 1, or
                `steps` above the horizon with inputs, whose future values are unknown.
            RunFailed: a forecast that is not finite.
        """
        if not isinstance(steps, Integral) or int(steps) < 1:
            raise RequestError(f"steps: expected a whole number of at least 1, got {steps!r}")
        if self.inputs and steps > self.horizon:
            raise RequestError(
                f"steps: expected at most task.horizon={self.horizon}, since the future of the "
                f"inputs ({', '.join(map(str, self.inputs))}) isn't known, got {steps}; "
                f"task.horizon={steps} trains for it"
            )
        windows = np.stack([self._newest(origin.columns) for origin in origins])
        forecast = np.empty((len(windows), 0))
        while forecast.shape[1] < steps:
            pairs = zip(origins, windows, strict=True)
            scalers = [origin.scalers_of(window) for origin, window in pairs]
            with np.errstate(over="ignore"):
                scaled = np.stack([*map(scale_columns, scalers, windows)]).astype(np.float32)
                outputs = zip(scalers, predict(scaled), strict=True)
                values = np.stack([series[0].invert(row) for series, row in outputs])
            if not np.all(np.isfinite(values)):
                raise RunFailed(f"the forecast is not finite from step {forecast.shape[1] + 1} on")
            forecast = np.hstack([forecast, values])
            if not self.inputs:  # otherwise the steps end at the horizon
                windows = np.hstack([windows, values[:, :, None]])[:, -self.history :]
        return forecast[:, :steps]

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
            origins = self.origins if id is None else [self.origin(id)]
            forecasts = self.forecast(model, origins, steps)
            return forecasts if len(origins) > 1 else forecasts[0]
        try:
            histories = np.asarray(inputs, np.float64)
        except (TypeError, ValueError) as error:
            raise RequestError(f"inputs: can't be read as numbers: {error}.") from error
        if histories.ndim <= 1 + bool(self.inputs):
            return self.forecast_values(model, histories, steps, id)
        return self.forecast(model, [self.origin_of(values, id) for values in histories], steps)

    def _newest(self, values: Any) -> np.ndarray:
        """Return the newest `history` values as a window (S, 1 + K)."""
        rows = np.asarray(values, dtype=np.float64)
        columns = 1 + len(self.inputs)
        if rows.ndim > 2 or rows.size % columns or (columns > 1 and rows.shape[-1] != columns):
            names = ", ".join(map(str, self.inputs))
            raise RequestError(f"history: expected rows of the series and its inputs {names}")
        rows = rows.reshape(-1, columns)
        if len(rows) < self.history:
            raise RequestError(
                f"history: expected the newest {self.history} values, got {len(rows)}"
            )
        if not np.all(np.isfinite(rows[-self.history :])):
            raise RequestError("history: expected finite values, got NaN or infinity among them")
        return rows[-self.history :]

    @property
    def served(self) -> tuple[Any, Any]:  # noqa: D102
        step = [0.0] * (1 + len(self.inputs)) if self.inputs else 0.0
        return [step] * self.history, [0.0] * self.horizon

    def interval(
        self, ends: Mapping[str, Sequence[float | None]], origin: TimeSeries, forecast: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the columns `low` and `high` of a forecast (steps,); NaN after the last known end.

        `ends` is the entry of metrics.json; the forecast starts at `origin`.
        """
        offsets = np.full((2, len(forecast)), np.nan)
        steps = min(len(forecast), len(ends["low"]))
        offsets[:, :steps] = np.array([ends["low"], ends["high"]], np.float64)[:, :steps]
        low, high = forecast + offsets * origin.scalers_of(self._newest(origin.columns))[0].scale
        return {"low": low, "high": high}

    def save(self, folder: Path) -> None:
        """Write scaler.json, which forecasts need when the data are not available."""
        content = {
            "task": self.name,
            "history": self.history,
            "horizon": self.horizon,
            "units": self.units,
            "series": [origin.to_json() for origin in self.origins],
            "digest": self.splits.digest,
        }
        write_json(folder / _FILE, content)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that forecasts work without the data.

        Raises:
            RequestError: the file is missing, damaged, or of other settings.
        """

        def read(content: Mapping[str, Any]) -> tuple[tuple, tuple[list[TimeSeries], str]]:
            origins = [TimeSeries.from_json(series) for series in content["series"]]
            ((history, columns),) = {origin.columns.shape for origin in origins}
            saved = content["task"], history, content["horizon"], columns
            return saved, (origins, str(content["units"]))

        self._origins, self.units = read_assets(
            folder / _FILE,
            read,
            expected=(self.name, self.history, self.horizon, 1 + len(self.inputs)),
            what="task, history and horizon, and columns",
        )


def refuse(key: str, expected: str, given: Any) -> NoReturn:
    """Raise a RequestError that says `task.<key>: expected <expected>, got <given>`."""
    raise RequestError(f"task.{key}: expected {expected}, got {given!r}")
