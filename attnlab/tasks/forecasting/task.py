"""Base class of forecasting tasks: model, loss, and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.windows import Splits, Windows
from attnlab.tasks.forecasting.forecasts import Forecasts
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import build_report
from attnlab.tasks.models import build_model

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option


class ForecastingTask(Forecasts, Task):
    """Base class of tasks that map a window of numbers to the next one or more.

    A subclass takes exactly the settings of its YAML, keyword-only, and implements `load` and
    the methods `_baselines`, `_yardsticks` and `_notes`. `load` must set `_splits` and `_origins`.
    """

    kind: ClassVar[Kind] = KIND
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")  # selects the best epoch
    series_units: str | None = None  # units of the raw series; None: `units`
    oracles: ClassVar[tuple[str, ...]] = ()  # baselines that know the rule; the skill ignores them
    license: ClassVar[str] = ""  # of the data; "" if unknown

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read or generate the data, split them, and fit the scaling.

        Only tasks that generate data use `seed`. Only downloads call `progress`.

        Raises:
            RequestError: the settings don't fit the data, or the data can't be read.
        """
        raise NotImplementedError

    def build(self, attention: Callable[..., Attention], model: Option) -> keras.Model:
        """Build the forecaster with random weights: (B, S, 1 + K) -> (B, horizon), in model units.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        shape = (None, self.history, 1 + len(self.inputs))
        classes, own = self.kind.models.classes, (model.name, model.settings)
        return build_model(classes, *own, attention, shape, horizon=self.horizon)

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build`, before the data are read."""
        self.build(attention, model)

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Return the squared error averaged over the horizon, (B,), of two arrays (B, horizon)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

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
        baselines, left_out = self._baselines(part)
        return build_report(
            windows,
            self.report_units(forecast, windows),
            baselines,
            oracles=self.oracles,
            units=self.units,
            yardsticks=self._yardsticks(),
            notes=self._notes(part) + left_out,
            ends=ends,
            scale=self.report_scaler(windows).scale,
        )

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.splits.parts() | self.splits.extra, part)
        windows = self.splits.part(part)
        return windows.take(windows.spread(count)).history, None

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Score a model's forecast of one part; see `report`.

        Raises:
            RequestError: the run has no such part.
        """
        parts = self.splits.parts() | self.splits.extra
        require_part(parts, part)
        windows = self.splits.part(part)
        return self.report(model.predict(windows.history, batch_size=256, verbose=0), part)

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


def refuse(key: str, expected: str, given: Any) -> NoReturn:
    """Raise a RequestError that says `task.<key>: expected <expected>, got <given>`."""
    raise RequestError(f"task.{key}: expected {expected}, got {given!r}")


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an example input of the served MLflow model, one history, and its output."""
    task = document["task"]
    history, horizon = task["history"], task.get("horizon", 1)
    step = [0.0] * (1 + len(task["inputs"])) if task.get("inputs") else 0.0
    return (
        {"values": [[step] * history], "dtype": "float64"},
        {"values": [[0.0] * horizon], "dtype": "float64"},
    )
