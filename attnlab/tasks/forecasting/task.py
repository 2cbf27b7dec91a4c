"""What all forecasting tasks share: scaling, reports, forecasts, and what they leave behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from attnlab.errors import RequestError, RunFailed
from attnlab.tasks.base import Kind, Progress, Report
from attnlab.tasks.forecasting.data.scaling import Scaler
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

    _splits: Splits | None = None
    _scaler: Scaler | None = None
    _last_history: np.ndarray | None = None
    _last_time: str = ""

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
        """The forecaster, its weights drawn: (B, S, 1) -> (B, horizon) in model units.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        from attnlab.tasks.forecasting.models.build import build_forecaster

        return build_forecaster(
            model.name, model.settings, attention, history=self.history, horizon=self.horizon
        )

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Squared error, the mean over the horizon: (B, horizon) twice to (B,)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

    def report(self, forecast: np.ndarray, part: str = "test") -> Report:
        """Score a model's forecast of one part, (N, horizon) in model units, beside baselines.

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
            full_range=self._full_range(),
            notes=self._notes(part) + left_out,
        )

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Score a model's forecast of one part; see `report`.

        Raises:
            RequestError: the run has no such part.
        """
        parts = self.splits.parts() | self.splits.extra
        if part not in parts:
            raise RequestError(f"--part: expected one of {', '.join(parts)}, got {part}.")
        windows = self.splits.part(part)
        return self.report(model.predict(windows.history, batch_size=256, verbose=0), part)

    def serve(self, model: keras.Model, inputs: Any = None, steps: int | None = None) -> np.ndarray:
        """Forecast each history, (N, S) in natural units, oldest first: (N, steps).

        One history, (S,), or None for the end of the run's series, gives (steps,); without `steps`
        the horizon is forecast.
        """
        try:
            histories = np.asarray(self.last_history() if inputs is None else inputs, np.float64)
        except ValueError as error:
            raise RequestError(f"inputs: expected histories of numbers, but: {error}.") from error
        steps = self.horizon if steps is None else steps
        if histories.ndim < 2:
            return self.forecast(model, histories, steps)
        return np.stack([self.forecast(model, row, steps) for row in histories])

    def forecast(self, model: keras.Model, history_values: np.ndarray, steps: int) -> np.ndarray:
        """The next values by a model; see `forecast_values`."""
        return self.forecast_values(
            lambda history: model(history, training=False), history_values, steps
        )

    def last_history(self) -> np.ndarray:
        """The newest `history` values, (S,), natural units: where a forecast goes on from."""
        if self._last_history is None:
            raise RuntimeError(f"{type(self).__name__}: call load() or load_from() first")
        return self._last_history

    def forecast_values(
        self, predict: Callable[[np.ndarray], np.ndarray], history_values: np.ndarray, steps: int
    ) -> np.ndarray:
        """The next values, (steps,) float64; beyond the horizon, forecasts become history.

        Args:
            predict: maps a scaled history (1, S, 1) float32 to scaled forecasts (1, horizon).
            history_values: the newest values, at least `history`, natural units, oldest first.
            steps: how many values to forecast, 1 or more.

        Raises:
            RequestError: too few history values, one that is not finite, or steps below 1.
            RunFailed: a forecast that is not finite.
        """
        values = np.asarray(history_values, dtype=np.float64).reshape(-1)
        if len(values) < self.history:
            raise RequestError(
                f"history: expected the newest {self.history} values, got {len(values)}"
            )
        if not np.all(np.isfinite(values[-self.history :])):
            raise RequestError("history: expected finite values, got NaN or infinity among them")
        if steps < 1:
            raise RequestError(f"steps: expected a whole number of at least 1, got {steps!r}")
        known = len(values)
        while len(values) < known + steps:
            window = values[-self.history :]
            scaler = self.scaler_for(window)
            with np.errstate(over="ignore"):
                scaled = scaler.apply(window).astype(np.float32).reshape(1, -1, 1)
                forecast = scaler.invert(predict(scaled)).reshape(self.horizon)
            if not np.all(np.isfinite(forecast)):
                raise RunFailed(
                    f"the forecast is not finite from step {len(values) - known + 1} on"
                )
            values = np.concatenate([values, forecast])
        return values[known : known + steps]

    def forecast_times(self, steps: int) -> list[str]:
        """Labels of the values after the last: months go on as months, all else as +1, +2."""
        year, _, month = self._last_time.partition("-")
        digits = len(year) == 4 and len(month) == 2 and (year + month).isdecimal()
        if not digits or not 1 <= int(month) <= 12:
            return [f"+{step}" for step in range(1, steps + 1)]
        months = [int(year) * 12 + int(month) - 1 + step for step in range(1, steps + 1)]
        return [f"{month // 12:04d}-{month % 12 + 1:02d}" for month in months]

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
            "digest": self.splits.digest,
        }
        text = json.dumps(content, indent=2, allow_nan=False) + "\n"
        (folder / _FILE).write_text(text, encoding="utf-8")

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
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{path}: expected what a run saves, but: {error!r}") from error
        if saved != (self.name, self.history, self.horizon) or last.shape != (self.history,):
            raise RequestError(
                f"{path}: expected task, history and horizon "
                f"{(self.name, self.history, self.horizon)}, got {saved}"
            )
        self._scaler, self._last_history = scaler, last
        self._last_time, self.units = last_time, units

    def report_units(self, forecast: np.ndarray) -> np.ndarray:
        """Model units to `units`; where reports are in model units, there is nothing to do."""
        return forecast

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        """Forecasts of each baseline, (N, horizon) in `units`; notes on those left out."""
        raise NotImplementedError

    def _full_range(self) -> float | None:
        """Largest minus smallest value of the series, for nrmse."""
        return None

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
    return (
        {"values": [[0.0] * history], "dtype": "float64"},
        {"values": [[0.0] * horizon], "dtype": "float64"},
    )
