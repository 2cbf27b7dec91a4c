"""What all forecasting tasks share: scaling, reports, forecasts, and what they leave behind."""

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

    A subclass takes exactly the settings of its YAML, keyword-only, and gives the hooks at the
    end of this class. `load` must set `_splits` and `_origins`.
    """

    kind: ClassVar[Kind] = KIND
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")  # what chooses the best epoch
    series_units: str | None = None  # what the series' own numbers count; None: `units`, too
    oracles: ClassVar[tuple[str, ...]] = ()  # baselines that know the rule; no skill counts them

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Read or make the data, split them, and fit the scaling.

        Only tasks that draw their data use the run's `seed`; `progress` is not called, as nothing
        here takes long.

        Raises:
            RequestError: the settings don't fit the data, or the data can't be read.
        """
        raise NotImplementedError

    def build(self, attention: Callable[[], Attention], model: Option) -> keras.Model:
        """The forecaster, its weights drawn: (B, S, 1 + K) -> (B, horizon) in model units.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        shape = (None, self.history, 1 + len(self.inputs))
        classes, own = self.kind.models.classes, (model.name, model.settings)
        return build_model(classes, *own, attention, shape, horizon=self.horizon)

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Squared error, the mean over the horizon: (B, horizon) twice to (B,)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

    def report(
        self, forecast: np.ndarray, part: str = "test", ends: np.ndarray | None = None
    ) -> Report:
        """Score a model's forecast of one part, (N, horizon) in model units, beside baselines.

        `ends` (2, K) are those of its prediction interval, in model units; see `interval_ends`.

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
        """What errors of forecasts are reckoned from, (n, K) in `units`.

        K is the horizon, or more where forecasts may go on from themselves; NaN beyond the part.
        """
        return self.splits.part("validation").exact

    def report_scaler(self, windows: Windows) -> Scaler:
        """What turns each window's forecast in model units, (N, K), to `units`; here nothing."""
        return Scaler("none", 0.0, 0.0, 1.0)

    def report_units(self, values: np.ndarray, windows: Windows) -> np.ndarray:
        """Values (N, K) of some windows in `units`."""
        return self.report_scaler(windows).invert(values)

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        """Forecasts of each baseline, (N, horizon) in `units`; notes on those left out."""
        raise NotImplementedError

    def _yardsticks(self) -> dict[str, Yardstick]:
        """What errors of each series are held against, by id.

        Here those of the train windows' first targets and last numbers.
        """
        train = self.splits.train
        targets = train.exact[:, 0]
        last = self.report_units(train.history[:, -1, :1], train)[:, 0]
        return {"": Yardstick.of(targets, targets - last)}

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
