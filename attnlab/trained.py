"""A trained run, loaded again: what evaluate, forecast and an MLflow model stand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from attnlab.assembly import make_model, make_task
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.schema import RunConfig, parse

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.forecasting import ForecastingTask


class TrainedRun:
    """A task and a model with the weights of one epoch.

    Attributes:
        config: the run's configuration.
        task: its task; the data are loaded by `load_data` alone.
        model: its model.
        epoch: whose weights these are; None for the best ones of an MLflow model.
    """

    def __init__(
        self, config: RunConfig, task: ForecastingTask, model: keras.Model, epoch: int | None
    ) -> None:
        self.config, self.task, self.model, self.epoch = config, task, model, epoch

    @classmethod
    def load(cls, run: RunDirectory, epoch: str = "best") -> TrainedRun:
        """Load a run's weights.

        Args:
            run: its folder.
            epoch: a number, `best` or `last`.

        Raises:
            RequestError: no such epoch, or a file is missing or damaged.
        """
        number = choose_epoch(run, epoch)
        return cls._load(run.read_config(), run.assets, run.weights_path(number), number)

    @classmethod
    def _load(
        cls, document: dict[str, Any], assets: Path, weights: Path, epoch: int | None
    ) -> TrainedRun:
        config = parse(document, {})
        task = make_task(config.task)
        task.load_from(assets)
        model = make_model(config, task)
        try:
            model.load_weights(weights)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RequestError(f"{weights}: expected this run's weights, but: {reason}") from error
        return cls(config, task, model, epoch)

    def load_data(self, digest: str | None) -> bool:
        """Load the task's data; returns whether they are those of the run (by digest)."""
        splits = self.task.load(self.config.seed)
        return digest is None or splits.digest == digest

    def predict(self, history: np.ndarray) -> np.ndarray:
        """Forecasts in model units: (B, S, 1) to (B, horizon)."""
        return np.asarray(self.model(history, training=False), np.float64)

    def forecast(self, history: np.ndarray, steps: int) -> np.ndarray:
        """The next values in natural units; see `ForecastingTask.forecast_values`."""
        return self.task.forecast_values(self.predict, history, steps)


def choose_epoch(run: RunDirectory, epoch: str) -> int:
    """The number that `best`, `last` or a number's text means for a run.

    Raises:
        RequestError: the run has no weights of that epoch, or is not done, so none is the best.
    """
    saved = run.weights_epochs()
    if not saved:
        raise RequestError(f"RUN: {str(run.path)!r} has no saved weights.")
    if epoch == "last":
        return saved[-1]
    if epoch == "best":
        run.require_completed()
        best = run.read_metrics().get("best_epoch")
    else:
        best = int(epoch) if epoch.isdecimal() else None
    if best not in saved:
        expected = f"best, last or one of the saved epochs {saved[0]} to {saved[-1]}"
        raise RequestError(f"--epoch: expected {expected}, got {epoch}.")
    return best


class ServedModel:
    """What `mlflow.pyfunc.load_model` returns the inside of: histories in, forecasts out."""

    def __init__(self, run: TrainedRun) -> None:
        self.run = run

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Forecast each row.

        Args:
            model_input: (N, S) histories, oldest first, natural units: an array or a data frame.
            params: unused, part of MLflow's interface.

        Returns:
            (N, horizon) in natural units.
        """
        histories = np.asarray(model_input, dtype=np.float64)
        horizon = self.run.task.horizon
        return np.stack([self.run.forecast(history, horizon) for history in histories])


def _load_pyfunc(path: str) -> ServedModel:
    """Load what the runner logged; the name is MLflow's."""
    folder = Path(path)
    document = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    weights = folder / "best.weights.h5"
    return ServedModel(TrainedRun._load(document, folder / "assets", weights, None))
