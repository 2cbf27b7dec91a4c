"""What all forecasting tasks share: scaling, reports, forecasts, and what they leave behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from attnlab.errors import RequestError, RunFailed
from attnlab.records.files import write_json
from attnlab.tasks.base import Kind, Progress, Report, require_part
from attnlab.tasks.forecasting.data.csv_series import TimeSeries, read_series
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.times import next_labels
from attnlab.tasks.forecasting.data.windows import Splits
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import build_report

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option

_FILE = "scaler.json"


class ForecastingTask:
    """Base class of tasks that map a window of numbers to the next one or more.

    A subclass takes exactly the settings of its YAML, keyword-only, and gives the hooks at the
    end of this class. `load` must set `_splits`, `_scaler` and `_last_history`.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str]
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")  # what chooses the best epoch
    units: str  # what reported numbers count
    series_units: str | None = None  # what the series' own numbers count; None: `units`, too
    oracles: ClassVar[tuple[str, ...]] = ()  # baselines that know the rule; no skill counts them
    history: int  # numbers a window (S)
    horizon: int  # numbers to forecast
    inputs: Sequence[str | int] = ()  # K other columns, known as far as the history goes

    _splits: Splits | None = None
    _scaler: Scaler | None = None
    _input_scalers: Sequence[Scaler] = ()
    _last_history: np.ndarray | None = None
    _last_time: str = ""
    _step: str | None = None  # between times, as pandas names it; None: they are no times

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read or make the data, split them, and fit the scaling.

        Only tasks that draw their data use the run's `seed`; `progress` is not called, as nothing
        here takes long.

        Raises:
            RequestError: the settings don't fit the data, or the data can't be read.
        """
        raise NotImplementedError

    @property
    def splits(self) -> Splits:
        """What `load` returned.

        Raises:
            RuntimeError: `load` was not called.
        """
        if self._splits is None:
            raise RuntimeError(f"{type(self).__name__}: call load() first")
        return self._splits

    def scaler_for(self, history: np.ndarray | None = None) -> Scaler:
        """The scaler of a window in natural units; the task's one scaler where there is one."""
        if self._scaler is None:
            raise RuntimeError(f"{type(self).__name__}: call load() or load_from() first")
        return self._scaler

    def build(self, attention: Callable[[], Attention], model: Option) -> keras.Model:
        """The forecaster, its weights drawn: (B, S, 1 + K) -> (B, horizon) in model units.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        from attnlab.tasks.forecasting.models.build import build_forecaster

        sizes = {"history": self.history, "horizon": self.horizon, "inputs": len(self.inputs)}
        return build_forecaster(model.name, model.settings, attention, **sizes)

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Squared error, the mean over the horizon: (B, horizon) twice to (B,)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

    def report(
        self, forecast: np.ndarray, part: str = "test", ends: np.ndarray | None = None
    ) -> Report:
        """Score a model's forecast of one part, (N, horizon) in model units, beside baselines.

        `ends` (2, K) are those of its prediction interval, in `units`; see `interval_ends`.

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
        baselines, left_out = self._baselines(part)
        return build_report(
            windows,
            self.report_units(forecast),
            baselines,
            oracles=self.oracles,
            units=self.units,
            yardstick=self._yardstick(),
            notes=self._notes(part) + left_out,
            ends=ends,
        )

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Score a model's forecast of one part; see `report`.

        Raises:
            RequestError: the run has no such part.
        """
        parts = self.splits.parts() | self.splits.extra
        require_part(parts, part)
        windows = self.splits.part(part)
        return self.report(model.predict(windows.history, batch_size=256, verbose=0), part)

    def serve(self, model: keras.Model, inputs: Any = None, steps: int | None = None) -> np.ndarray:
        """Forecast each history, oldest first, in natural units: (N, steps).

        They are (N, S), or with inputs (N, S, 1 + K), the series first. A history alone, or None
        for the end of the run's series, gives (steps,); without `steps` the horizon is forecast.
        """
        try:
            histories = np.asarray(self.last_history() if inputs is None else inputs, np.float64)
        except (TypeError, ValueError) as error:
            raise RequestError(f"inputs: expected histories of numbers, but: {error}.") from error
        steps = self.horizon if steps is None else steps
        if histories.ndim <= self.last_history().ndim:
            return self.forecast(model, histories, steps)
        return np.stack([self.forecast(model, row, steps) for row in histories])

    def forecast(self, model: keras.Model, history_values: np.ndarray, steps: int) -> np.ndarray:
        """The next values by a model; see `forecast_values`."""
        return self.forecast_values(
            lambda history: model(history, training=False), history_values, steps
        )

    def last_history(self) -> np.ndarray:
        """The newest `history` values, natural units: where a forecast goes on from.

        They are (S,), or with inputs (S, 1 + K), the series first.
        """
        if self._last_history is None:
            raise RuntimeError(f"{type(self).__name__}: call load() or load_from() first")
        return self._last_history

    def forecast_values(
        self, predict: Callable[[np.ndarray], np.ndarray], history_values: np.ndarray, steps: int
    ) -> np.ndarray:
        """The next values, (steps,) float64; beyond the horizon, forecasts become history.

        Args:
            predict: maps a scaled history (1, S, 1 + K) float32 to scaled forecasts (1, horizon).
            history_values: as of `last_history`, with `history` or more of the newest values.
            steps: how many values to forecast, 1 or more.

        Raises:
            RequestError: too few history values, one that is not finite, or steps below 1; steps
                beyond the horizon where there are inputs, whose future nobody knows.
            RunFailed: a forecast that is not finite.
        """
        rows = np.asarray(history_values, dtype=np.float64)
        columns = 1 + len(self.inputs)
        if rows.ndim > 2 or rows.size % columns or (columns > 1 and rows.shape[-1] != columns):
            names = ", ".join(map(str, self.inputs))
            raise RequestError(f"history: expected rows of the series and its inputs {names}")
        self._check_forecast(rows := rows.reshape(-1, columns), steps)
        known = len(rows)
        while len(rows) < known + steps:
            window = rows[-self.history :]
            with np.errstate(over="ignore"):
                scaled = self._in_model_units(window).astype(np.float32)[None]
                forecast = self.scaler_for(window[:, 0]).invert(predict(scaled))
            if not np.all(np.isfinite(forecast)):
                raise RunFailed(f"the forecast is not finite from step {len(rows) - known + 1} on")
            if self.inputs:  # they end here, and so do the steps
                return forecast.reshape(-1)[:steps]
            rows = np.concatenate([rows, forecast.reshape(self.horizon, 1)])
        return rows[known : known + steps, 0]

    def _check_forecast(self, rows: np.ndarray, steps: int) -> None:
        if len(rows) < self.history:
            raise RequestError(
                f"history: expected the newest {self.history} values, got {len(rows)}"
            )
        if not np.all(np.isfinite(rows[-self.history :])):
            raise RequestError("history: expected finite values, got NaN or infinity among them")
        if not isinstance(steps, Integral) or steps < 1:
            raise RequestError(f"steps: expected a whole number of at least 1, got {steps!r}")
        if self.inputs and steps > self.horizon:
            names = ", ".join(map(str, self.inputs))
            raise RequestError(
                f"steps: expected at most task.horizon={self.horizon}, since the future of the "
                f"inputs ({names}) isn't known, got {steps}; task.horizon={steps} trains for it"
            )

    def _in_model_units(self, columns: np.ndarray) -> np.ndarray:
        """The series and its inputs, (n, 1 + K), in model units."""
        scalers = [self.scaler_for(columns[:, 0]), *self._input_scalers]
        applied = [scaler.apply(own) for scaler, own in zip(scalers, columns.T, strict=True)]
        return np.column_stack(applied)

    def interval(
        self, ends: Mapping[str, Sequence[float | None]], history: np.ndarray, forecast: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The columns `low` and `high` around a forecast (steps,); NaN where `ends` end before.

        `ends` are as metrics.json has them, `history` (n, 1 + K) is what the forecast goes on from.
        """
        offsets = np.full((2, len(forecast)), np.nan)
        steps = min(len(forecast), len(ends["low"]))
        offsets[:, :steps] = np.array([ends["low"], ends["high"]], np.float64)[:, :steps]
        scale = self.scaler_for(history[-self.history :, 0]).scale / self._report_scale
        low, high = forecast + offsets * scale
        return {"low": low, "high": high}

    def read_history(self, path: str, column: str | None = None) -> TimeSeries:
        """Values of a CSV file to go on from; raises `RequestError`, as `read_series`."""
        return read_series(path, column)

    def forecast_times(
        self, steps: int, after: TimeSeries | None = None, before: int = 0
    ) -> list[str]:
        """Labels of the values after the last, or after others; without times +1, +2, ...

        In front stand those of as many known values as `before` says.
        """
        step = after.step if after else self._step
        with suppress(ValueError, OverflowError):  # beyond what pandas has of years
            if step is not None:
                last = after.times[-1] if after else self._last_time
                return next_labels(last, step, steps, before)
        return [f"{ahead:+d}" for ahead in range(1 - before, steps + 1)]

    def save(self, folder: Path) -> None:
        """Write scaler.json: what `forecast_values` needs when the data are not at hand."""
        content = {
            "task": self.name,
            "history": self.history,
            "horizon": self.horizon,
            "units": self.units,
            "scaler": None if self._scaler is None else self._scaler.to_json(),
            "last_history": self.last_history().tolist(),
            "last_time": self._last_time,
            "step": self._step,
            "input_scalers": [scaler.to_json() for scaler in self._input_scalers],
            "digest": self.splits.digest,
        }
        write_json(folder / _FILE, content)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote; then `scaler_for` and `forecast_values` work.

        Raises:
            RequestError: the file is missing, damaged, or of other settings.
        """
        path = folder / _FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            scaler = content["scaler"] and Scaler.from_json(content["scaler"])
            last = np.array(content["last_history"], dtype=np.float64)
            saved = (content["task"], content["history"], content["horizon"])
            last_time, units = str(content["last_time"]), str(content["units"])
            inputs = [Scaler.from_json(each) for each in content.get("input_scalers", [])]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{path}: expected what a run saves, but: {error!r}") from error
        shape = (self.history, 1 + len(inputs)) if inputs else (self.history,)
        expected = (self.name, self.history, self.horizon)
        if (saved, last.shape, len(inputs)) != (expected, shape, len(self.inputs)):
            raise RequestError(
                f"{path}: expected task, history and horizon {expected}, got {saved}"
            )
        self._scaler, self._last_history = scaler, last
        self._last_time, self.units, self._input_scalers = last_time, units, inputs
        # A version before knew months alone.
        months = "1MS" if re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", last_time) else None
        self._step = content.get("step", months)

    def validation_targets(self) -> np.ndarray:
        """What errors of forecasts are reckoned from, (n, K) in `units`.

        K is the horizon, or more where forecasts may go on from themselves; NaN beyond the part.
        """
        return self.splits.part("validation").exact

    def report_units(self, forecast: np.ndarray) -> np.ndarray:
        """Model units to `units`; where reports are in model units, there is nothing to do."""
        return forecast

    @property
    def _report_scale(self) -> float:
        """How much of `units` a model unit is."""
        return 1.0

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        """Forecasts of each baseline, (N, horizon) in `units`; notes on those left out."""
        raise NotImplementedError

    def _yardstick(self) -> Yardstick:
        """What errors are held against; here the train windows' first targets and last numbers."""
        train = self.splits.train
        targets, last = train.exact[:, 0], self.report_units(train.history[:, -1, 0])
        return Yardstick.of(targets, targets - last)

    def _notes(self, part: str) -> list[str]:
        """Caveats on the part's report."""
        return []


def refuse(key: str, expected: str, given: Any) -> NoReturn:
    """Raise a RequestError that says `task.<key>: expected <expected>, got <given>`."""
    raise RequestError(f"task.{key}: expected {expected}, got {given!r}")


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, one history, and an output, one forecast."""
    task = document["task"]
    history, horizon = task["history"], task.get("horizon", 1)
    step = [0.0] * (1 + len(task["inputs"])) if task.get("inputs") else 0.0
    return (
        {"values": [[step] * history], "dtype": "float64"},
        {"values": [[0.0] * horizon], "dtype": "float64"},
    )
