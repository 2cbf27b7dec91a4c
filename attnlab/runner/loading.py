"""Load a trained run, for `evaluate`, predictions and MLflow's models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig, parse, stored_config
from attnlab.errors import CannotResume, RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.train import load_weights, make_model, make_task
from attnlab.tasks.base import Task, TaskData
from attnlab.tasks.kinds import Progress

if TYPE_CHECKING:
    import keras

_COPIED = ("task.encoder", "model.path")  # the run has copies of these in `assets`


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A task and a model with the weights of one epoch, or the mean of several."""

    config: RunConfig
    task: Task  # without data until `load_data`
    model: keras.Model
    epoch: str  # the epoch of the weights, in words: `7`, or `mean of 3, 4, 5`

    @classmethod
    def load(
        cls,
        run: RunDirectory,
        epoch: str | None = None,
        average: int | None = None,
        files: Mapping[str, str] | None = None,
        precision: str | None = None,
    ) -> TrainedRun:
        """Load a run's weights.

        Args:
            run: its folder.
            epoch: a number, `best` or `last`; None: `last` with `average`, else `best`.
            average: number of epochs up to `epoch` whose weights are averaged. None: only `epoch`.
            files: current paths of the user's own files, by the settings that name them.
            precision: that of the model, such as `float32`; None: the run's.

        Raises:
            RequestError: no such epoch, or a file is missing or damaged.
        """
        numbers = choose_epochs(run, epoch or ("last" if average else "best"), average)
        words = ", ".join(map(str, numbers))
        config = stored_config(run.read_config(), run.status.read(), files or {})
        paths = [run.weights_path(number) for number in numbers]
        name = words if len(numbers) == 1 else f"mean of {words}"
        return cls.from_files(config, run.assets, paths, name, precision)

    @classmethod
    def from_files(
        cls,
        config: RunConfig,
        assets: Path,
        weights: list[Path],
        epoch: str,
        precision: str | None = None,
    ) -> TrainedRun:
        """Load a run from its configuration, its assets and its weights; see `load`."""
        task = make_task(config)
        task.load_from(assets)
        changes = {"trainer.precision": precision} if precision else {}
        model = make_model(config.with_values(changes), task)
        load_weights(model, weights, "this run's weights")
        return cls(config, task, model, epoch)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Return predictions for N inputs: forecasts (N, horizon) in natural units, or texts.

        `mlflow.pyfunc` calls it with an array or a data frame: histories (N, S), or N texts.
        `params` is part of MLflow's interface and unused.
        """
        return self.task.serve(self.model, np.asarray(model_input))

    def load_data(self, run: RunDirectory) -> None:
        """Load the task's data; raises as the function `load_data`."""
        load_data(self.config, self.task, run)


def load_data(
    config: RunConfig, task: Task, run: RunDirectory, progress: Progress | None = None
) -> TaskData:
    """Load the data of an earlier run into its task again.

    Raises:
        RequestError: a file of the user is gone, and the run has no copy of it.
        CannotResume: the data have changed since the run was trained.
    """
    paths = {key: lookup(config.document, key) for key in config.file_hashes}
    for key, path in paths.items():
        if key not in _COPIED and not Path(path).exists():
            raise RequestError(f"{key}: {path} no longer exists. Set {key}=PATH to its new path.")
    data = task.load(config.seed, progress)
    expected = run.status.read().get("data_digest", data.digest)
    if data.digest != expected:
        files = [f"{key}={path}" for key, path in paths.items()] or ["data"]
        raise CannotResume(
            f"{', '.join(files)}: the data have changed since the run was trained (digest "
            f"{data.digest[:12]}, then {expected[:12]})."
        )
    return data


def choose_epochs(run: RunDirectory, epoch: str, average: int | None = None) -> list[int]:
    """Return the epochs that `best`, `last` or a number means; see `TrainedRun.load`.

    Raises `RequestError` if the weights of an epoch are missing, or the run isn't completed and so
    has no best epoch.
    """
    saved = run.weights_epochs()
    if not saved:
        raise RequestError(f"RUN: {str(run.path)!r} has no saved weights.")
    trained, count = max(run.status.read().get("epoch", 0), saved[-1]), average or 1
    if epoch == "best":
        run.status.require_completed(", or use its newest weights with --epoch last")
        last = run.read_metrics()["best_epoch"]
    else:
        last = trained if epoch == "last" else int(epoch) if epoch.isdecimal() else 0
    if not 1 <= last <= trained:
        raise RequestError(
            f"--epoch: expected best, last or one of the saved epochs {saved[0]} to {saved[-1]}, "
            f"got {epoch}."
        )
    if count > last:
        raise RequestError(
            f"--average: expected at most {last}, the number of epochs, got {count}."
        )
    chosen = [*range(last - count + 1, last + 1)]
    require_saved(run, chosen)
    return chosen


def require_saved(run: RunDirectory, epochs: Iterable[int]) -> None:
    """Raise `RequestError` if the weights of an epoch are missing."""
    if missing := sorted({*epochs} - {*run.weights_epochs()}):
        raise RequestError(f"{run.path}: the weights of epoch {missing[0]} are missing.")


def _load_pyfunc(path: str) -> TrainedRun:
    """Load a logged model; MLflow calls this function by its name."""
    folder = Path(path)
    document = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    weights = [folder / "best.weights.h5"]
    return TrainedRun.from_files(parse(document, {}), folder / "assets", weights, "best")
