"""The start of a forecast: the newest values of a series, their time and their scalers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from attnlab.errors import RequestError, RunFailed
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.times import next_labels

Predict = Callable[[np.ndarray], np.ndarray]  # (N, S, 1 + K) float32 -> (N, horizon), model units


@dataclass(frozen=True)
class Origin:
    """The newest values of a series, from which it is forecast."""

    values: np.ndarray  # (n, 1 + K) natural units, newest last: the series and its inputs
    scalers: tuple[Scaler, ...] = ()  # of the 1 + K columns; empty: each window has its own
    ids: tuple[str, ...] = ()  # of the series, if there are several: one text per id column
    last_time: str = ""
    step: str | None = None  # between times, as pandas names it; None: there are no times

    @property
    def id(self) -> str:
        """Return the ids as one text; "" if there is only one series."""
        return "/".join(self.ids)

    @classmethod
    def of(cls, series: TimeSeries, scalers: Sequence[Scaler], most: int | None = None) -> Origin:
        """Make the origin at the end of a series: its last `most` values, or all of them."""
        values = series.columns[-most:] if most else series.columns
        last = series.times[-1] if series.times else ""
        return cls(values, tuple(scalers), series.ids, last, series.step)

    def labels(self, steps: int, before: int = 0) -> list[str]:
        """Return labels of the newest `before` values and `steps` more; without times +1, +2."""
        with suppress(ValueError, OverflowError):  # years that pandas doesn't have
            if self.step is not None:
                return next_labels(self.last_time, self.step, steps, before)
        return [f"{ahead:+d}" for ahead in range(1 - before, steps + 1)]

    def to_json(self) -> dict[str, Any]:
        """Return the origin as a JSON object."""
        scalers = [scaler.to_json() for scaler in self.scalers]
        times = {"last_time": self.last_time, "step": self.step}
        return {"ids": [*self.ids], "values": self.values.tolist(), "scalers": scalers, **times}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Origin:
        """Make an origin from the result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: content that `to_json` did not write.
        """
        values = np.array(content["values"], dtype=np.float64)
        if values.ndim != 2:
            raise ValueError(f"expected rows of values, got {values.ndim} dimensions")
        scalers = tuple(Scaler.from_json(each) for each in content["scalers"])
        step = content["step"]
        times = str(content["last_time"]), step if step is None else str(step)
        return cls(values, scalers, tuple(map(str, content["ids"])), *times)


def next_values(
    predict: Predict,
    windows: np.ndarray,
    scalers_of: Callable[[int, np.ndarray], Sequence[Scaler]],
    steps: int,
) -> np.ndarray:
    """Forecast several series at once, (N, steps) float64; forecasts become history.

    With inputs, whose future is unknown, the forecast ends at the horizon.

    Args:
        predict: see `Predict`.
        windows: (N, S, 1 + K) natural units, newest last.
        scalers_of: the scalers of a row's columns, given its number and its window.
        steps: how many values to forecast.

    Raises:
        RunFailed: a forecast that is not finite.
    """
    found = np.empty((len(windows), 0))
    while found.shape[1] < steps:
        scalers = [scalers_of(number, window) for number, window in enumerate(windows)]
        with np.errstate(over="ignore"):
            scaled = np.stack([*map(in_model_units, scalers, windows)]).astype(np.float32)
            made = predict(scaled)
            made = np.stack([own[0].invert(row) for own, row in zip(scalers, made, strict=True)])
        if not np.all(np.isfinite(made)):
            raise RunFailed(f"the forecast is not finite from step {found.shape[1] + 1} on")
        found = np.hstack([found, made])
        if windows.shape[2] > 1:
            break
        windows = np.hstack([windows, made[:, :, None]])[:, -windows.shape[1] :]
    return found[:, :steps]


def in_model_units(scalers: Sequence[Scaler], columns: np.ndarray) -> np.ndarray:
    """Scale each of the 1 + K columns with its own scaler."""
    applied = [scaler.apply(own) for scaler, own in zip(scalers, columns.T, strict=True)]
    return np.column_stack(applied)


def newest(values: Any, history: int, inputs: Sequence[str | int]) -> np.ndarray:
    """Return the newest `history` values as a window (S, 1 + K).

    Raises:
        RequestError: too few values, one that is not finite, or rows of other columns.
    """
    rows = np.asarray(values, dtype=np.float64)
    columns = 1 + len(inputs)
    if rows.ndim > 2 or rows.size % columns or (columns > 1 and rows.shape[-1] != columns):
        names = ", ".join(map(str, inputs))
        raise RequestError(f"history: expected rows of the series and its inputs {names}")
    rows = rows.reshape(-1, columns)
    if len(rows) < history:
        raise RequestError(f"history: expected the newest {history} values, got {len(rows)}")
    if not np.all(np.isfinite(rows[-history:])):
        raise RequestError("history: expected finite values, got NaN or infinity among them")
    return rows[-history:]


def check_steps(steps: Any, horizon: int, inputs: Sequence[str | int]) -> None:
    """Raise `RequestError` if `steps` is invalid, or beyond the horizon with inputs."""
    if not isinstance(steps, Integral) or int(steps) < 1:
        raise RequestError(f"steps: expected a whole number of at least 1, got {steps!r}")
    if inputs and int(steps) > horizon:
        names = ", ".join(map(str, inputs))
        raise RequestError(
            f"steps: expected at most task.horizon={horizon}, since the future of the "
            f"inputs ({names}) isn't known, got {steps}; task.horizon={steps} trains for it"
        )
