"""What runs of forecasting export: from histories to forecasts, both in natural units."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import Exported
from attnlab.tasks.forecasting.time_series import TimeSeries


def exported(trained: Any, count: int) -> Exported:
    """Return the forecaster with its scaling, in float64 outside the network."""
    task, model = trained.task, trained.model
    windows = task.splits.parts["test"].spread(count)
    scalers = [series.scalers for series in task.origins]
    rows = np.zeros(len(windows.history), np.int32)  # the number of each window's series
    if windows.ids is not None:
        numbers = {series.id: number for number, series in enumerate(task.origins)}
        rows[:] = [numbers[name] for name in windows.ids]
    history = windows.history.astype(np.float64)  # (N, S, 1 + K)
    origins = [TimeSeries(window, scalers[row]) for window, row in zip(history, rows, strict=True)]
    for origin in origins:
        for column, scaler in enumerate(origin.scalers):
            origin.columns[:, column] = scaler.invert(origin.columns[:, column])
    scales = [series.scalers_of(series.columns)[0].scale for series in origins]
    items: dict[str, np.ndarray] = {"history": history}
    notes = [f"A history has the newest {task.history} values, the last one last."]
    if len(scalers) > 1:
        items["series"] = rows
        names = ", ".join(f"{number} {series.id}" for number, series in enumerate(task.origins))
        notes.append(f"Numbers of `series`: {names}.")
    if task.inputs:
        names = ", ".join(map(str, task.inputs))
        notes.append(f"Columns of a history: the series, then {names}.")
    table = [[(scaler.level, scaler.offset, scaler.scale) for scaler in row] for row in scalers]

    def function(history: Any, series: Any = None) -> dict[str, Any]:
        if not scalers[0]:  # each window has its own scaler, as in `scalers_of`
            largest = tf.reduce_max(tf.abs(history), axis=(1, 2), keepdims=True)
            level = offset = tf.zeros_like(largest)
            scale = tf.where(largest > 0, largest, tf.ones_like(largest))
        else:
            row = tf.zeros_like(history[:, 0, 0], tf.int32) if series is None else series
            columns = tf.gather(tf.constant(table, tf.float64), row)  # (N, 1 + K, 3)
            level, offset, scale = (part[:, None] for part in tf.unstack(columns, axis=-1))
        scaled = tf.cast((history - level - offset) / scale, tf.float32)
        forecast = tf.cast(model(scaled, training=False), tf.float64)
        level, offset, scale = (part[:, 0, :1] for part in (level, offset, scale))
        return {"forecast": forecast * scale + offset + level}

    return Exported(
        function=function,
        inputs={name: (None, *array.shape[1:]) for name, array in items.items()},
        items=items,
        outputs=lambda: {"forecast": task.forecast(model, origins, task.horizon)},
        unit=np.array(scales)[:, None],
        unit_name=" of the scale by which its series is divided",
        license=task.license,
        notes=notes,
    )
