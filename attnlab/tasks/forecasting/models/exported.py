"""What runs of forecasting export: from histories to forecasts, both in natural units."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import SAMPLE, Example, Exported
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.windows import Windows

_AFTER = ("print(f\"history {inputs['history'][0, -3:, 0]}, forecast {outputs['forecast'][0]}\")",)


def exported(trained: Any, count: int) -> Exported:
    """Return the forecaster with its scaling, in float64 outside the network."""
    task, model = trained.task, trained.model
    windows = task.splits.part("test")
    windows = windows.take(windows.spread(count))
    scalers = [each.scalers for each in task.origins]
    rows = _rows(task, windows)
    history = _natural(windows, scalers, rows)
    origins = [TimeSeries(own, scalers[row]) for own, row in zip(history, rows, strict=True)]
    items: dict[str, np.ndarray] = {"history": history}
    inputs: dict[str, Any] = {"history": ((None, *history.shape[1:]), "float64")}
    notes = [f"A history has the newest {task.history} values, the last one last."]
    if len(scalers) > 1:
        items["series"], inputs["series"] = rows, ((None,), "int32")
        notes.append(f"Numbers of `series`: {_numbered([each.id for each in task.origins])}.")
    if task.inputs:
        names = ", ".join(map(str, task.inputs))
        notes.append(f"Columns of a history: the series, then {names}.")
    example = Example("Forecast the next values of a series", (SAMPLE,), _AFTER)
    return Exported(
        function=_function(model, scalers),
        inputs=inputs,
        items=items,
        own=lambda: {"forecast": task.forecast(model, origins, task.horizon)},
        example=example,
        unit=np.array([_scaler(task, each).scale for each in origins])[:, None],
        license=task.license,
        notes=notes,
    )


def _scaler(task: Any, origin: TimeSeries) -> Scaler:
    return origin.scalers[0] if origin.scalers else task.scaler_for(origin.values)


def _rows(task: Any, windows: Windows) -> np.ndarray:
    """Return the number of each window's series, (N,) int32."""
    if windows.ids is None:
        return np.zeros(len(windows.history), np.int32)
    numbers = {origin.id: number for number, origin in enumerate(task.origins)}
    return np.array([numbers[each] for each in windows.ids], np.int32)


def _natural(windows: Windows, scalers: list[tuple[Scaler, ...]], rows: np.ndarray) -> np.ndarray:
    """Return the histories (N, S, 1 + K) in natural units, float64."""
    natural = windows.history.astype(np.float64)
    for own, row in zip(natural, rows, strict=True):
        for column, scaler in enumerate(scalers[row]):
            own[:, column] = scaler.invert(own[:, column])
    return natural


def _function(model: Any, scalers: list[tuple[Scaler, ...]]) -> Any:
    """Return the scaling, the network and the inverse scaling as one function."""
    own = [[(each.level, each.offset, each.scale) for each in row] for row in scalers]

    def function(history: Any, series: Any = None) -> dict[str, Any]:
        if not scalers[0]:  # each window has its own scaler, as in `Scaler.for_window`
            largest = tf.reduce_max(tf.abs(history), axis=(1, 2), keepdims=True)
            level = offset = tf.zeros_like(largest)
            scale = tf.where(largest > 0, largest, tf.ones_like(largest))
        else:
            table = tf.constant(own, tf.float64)  # (series, 1 + K, 3)
            row = tf.zeros_like(history[:, 0, 0], tf.int32) if series is None else series
            level, offset, scale = (
                part[:, None, :] for part in tf.unstack(tf.gather(table, row), axis=-1)
            )
        scaled = tf.cast((history - level - offset) / scale, tf.float32)
        made = tf.cast(model(scaled, training=False), tf.float64)
        level, offset, scale = (part[:, 0, :1] for part in (level, offset, scale))
        return {"forecast": made * scale + offset + level}

    return function


def _numbered(names: list[str]) -> str:
    return ", ".join(f"{number} {name}" for number, name in enumerate(names))
