"""Train a forecaster: the windows stay in memory, and one compiled program runs an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.attention import MOST_ITEMS
from attnlab.tasks.forecasting.measures import interval_ends
from attnlab.tasks.in_memory import InMemoryLearner

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.forecasting.task import ForecastingTask

_MOST_HEADS, _MOST_CELLS = 8, 48  # of the recorded attention


class ForecastLearner(InMemoryLearner):
    """Trains a forecaster on the windows of its task; see `Learner`."""

    def __init__(self, config: RunConfig, task: ForecastingTask, model: keras.Model) -> None:
        self._task = task
        parts = task.splits.parts
        inputs = {name: windows.history for name, windows in parts.items()}
        targets = {name: windows.target for name, windows in parts.items()}
        if model.fitted:
            model.fit_highway(*((inputs[name], targets[name]) for name in parts if name != "test"))
        faster = model.faster_with_xla
        super().__init__(config, model, task.loss, inputs, targets, faster_with_xla=faster)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss`, the mean over the validation windows."""
        rows = self.rows["validation"]
        return {"val_loss": self.program.evaluate(rows)} if len(rows) else {}

    def report(self) -> Report:
        """Score the test forecast and the baselines, with a prediction interval if one is known."""
        forecast = self.program.predict(self.rows["test"])
        if not len(self.rows["validation"]):
            return self._task.report(forecast, "test")
        ends = interval_ends(self._validation_errors())
        has_interval = bool(np.isfinite(ends[:, : forecast.shape[1]]).all())
        return self._task.report(forecast, "test", ends if has_interval else None)

    def _validation_errors(self) -> np.ndarray:
        """Return target - forecast in model units, (n, K); later steps use forecasts as history."""
        rows, expected = self.rows["validation"], self._task.validation_targets()
        histories, steps = self.program.inputs.numpy(), self.program.inputs.shape[1]
        forecast = self.program.predict(rows)
        while forecast.shape[1] < expected.shape[1]:
            inputs = histories.copy()
            inputs[rows, :, 0] = np.hstack([histories[rows, :, 0], forecast])[:, -steps:]
            forecast = np.hstack([forecast, self.program.predict(rows, inputs)])
        windows = self._task.splits.parts["validation"]
        made = self._task.report_units(forecast[:, : expected.shape[1]], windows)
        return (expected - made) / self._task.report_scaler(windows).scale

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return attention weights on a few test windows, in order of time.

        - `weights` (N, H, T, S), of at most 8 heads; for several queries per window the mean over
          the windows, N = 1, and longer maps are coarser, see `coarser`;
        - `history` (N, S) in the units of the report, and `labels` (N,) of the first targets;
        - `ahead` (T,), for a decoder only: the first step that each query forecasts.
        """
        test = self._task.splits.parts["test"]
        rows = test.spread(MOST_ITEMS)
        windows = test.take(rows[np.argsort(test.index[rows], kind="stable")])
        weights = self.program.attend(windows.history)
        if weights is None:
            return None
        weights = np.asarray(weights, np.float32)[:, :_MOST_HEADS]
        if weights.shape[2] > 1:
            weights = coarser(weights.mean(axis=0, keepdims=True), _MOST_CELLS)
        labels = [str(time) for time in windows.times[:, 0]]
        if windows.ids is not None:
            labels = [f"{name} {label}" for name, label in zip(windows.ids, labels, strict=True)]
        ahead = self.model.ahead
        return {
            "weights": weights.astype(np.float16),
            "history": self._task.report_units(windows.history[:, :, 0], windows),
            "labels": np.array(labels),
            **({} if ahead is None else {"ahead": np.array(ahead)}),
        }


def coarser(maps: np.ndarray, most: int) -> np.ndarray:
    """Average neighbouring cells of maps (..., T, S), to at most `most` cells per side."""
    for axis in (-2, -1):
        size = maps.shape[axis]
        cells = np.array_split(np.arange(size), min(size, most))
        maps = np.stack([maps.take(cell, axis).mean(axis) for cell in cells], axis)
    return maps
