"""Load a trained run, for `evaluate`, predictions and MLflow's models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from attnlab.config.own_files import located, require_found, require_same
from attnlab.config.parsing import parse
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.building import make_model, make_task
from attnlab.tasks.base import Task
from attnlab.tasks.kinds import kind_of

if TYPE_CHECKING:
    import keras

_OR_LAST = ", or use its newest weights with --epoch last"
_DEFAULT_AVERAGE = 5


class WeightsDamaged(RequestError):
    """A weights file can't be read."""


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
            epoch: a number, `best`, `last`, or `average` for the mean of the last epochs; None:
                `last` with `average`, else `best`.
            average: number of epochs whose weights are averaged: the best ones with
                `epoch="best"`, else those up to `epoch`. None: only `epoch` (five epochs with
                `epoch="average"`).
            files: current paths of the user's own files, by the settings that name them.
            precision: that of the model, such as `float32`; None: the run's.

        Raises:
            RequestError: no such epoch, or a file is missing or damaged.
        """
        numbers = choose_epochs(run, epoch or ("last" if average else "best"), average)
        paths = [run.weights_path(number) for number in numbers]
        words = ", ".join(map(str, numbers))
        name = words if len(numbers) == 1 else f"mean of {words}"
        config = located(parse(run.read_config(), {}), run.status.read(), files or {})
        try:
            return cls._load(config, run.assets, paths, name, precision)
        except WeightsDamaged as error:
            saved = spans([n for n in run.weights_epochs() if n not in numbers])
            others = f"; other weights for --epoch: {saved}" if saved else ""
            raise RequestError(f"{str(error).rstrip('.')}{others}.") from error

    @classmethod
    def _load(
        cls,
        config: RunConfig,
        assets: Path,
        weights: list[Path],
        epoch: str,
        precision: str | None = None,
    ) -> TrainedRun:
        task = make_task(config)
        task.load_from(assets)
        changes = {"trainer.precision": precision} if precision else {}
        model = make_model(config.with_values(changes), task)
        load_weights(model, weights, "this run's weights")
        return cls(config, task, model, epoch)

    def load_data(self, run: RunDirectory) -> bool:
        """Load the task's data; returns whether the run was trained on the same data.

        Raises:
            RequestError: the user's own files are gone, or contain other data.
        """
        require_found(self.config)
        data, status = self.task.load(self.config.seed), run.status.read()
        if self.config.files:
            require_same(self.config, status, data.digest)
        return data.digest == status.get("data_digest", data.digest)


def load_weights(model: keras.Model, paths: list[Path], what: str) -> None:
    """Load one weights file, or the mean of several; raises `RequestError`, with `what` in it."""
    from attnlab.training.weights_file import load_average

    if len(paths) > 1:
        for path in paths:
            require_readable(path, what)
    with _explained(paths[0], what):
        load_average(model, paths) if len(paths) > 1 else model.load_weights(paths[0])


def require_readable(path: Path, what: str) -> None:
    """Raise `RequestError` if a weights file is missing or damaged."""
    import h5py

    def read(_: str, part: Any) -> None:
        if isinstance(part, h5py.Dataset):
            part[()]

    with _explained(path, what), h5py.File(path) as file:
        file.visititems(read)


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """Turn errors of HDF5 and Keras into `WeightsDamaged`."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, KeyError) as error:  # HDF5 has several kinds
        reason = str(error).strip().splitlines()[0]
        raise WeightsDamaged(f"{path}: can't read {what}: {reason}") from error


def choose_epochs(run: RunDirectory, epoch: str, average: int | None = None) -> list[int]:
    """Return the epochs that `best`, `last`, `average` or a number means; see `TrainedRun.load`.

    Raises `RequestError` if the weights of an epoch are missing, or the run isn't completed and so
    has no best epoch.
    """
    saved = run.weights_epochs()
    if not saved:
        raise RequestError(f"RUN: {str(run.path)!r} has no saved weights.")
    if epoch == "average":
        epoch, average = "last", average or _DEFAULT_AVERAGE
    trained, count = max(run.status.read().get("epoch", 0), saved[-1]), average or 1
    if epoch == "best":
        chosen = _best_epochs(run, count)
    else:
        last = trained if epoch == "last" else int(epoch) if epoch.isdecimal() else 0
        if not 1 <= last <= trained:
            raise RequestError(
                f"--epoch: expected best, last or one of the saved epochs {spans(saved)}, "
                f"got {epoch}."
            )
        if count > last:
            raise RequestError(
                f"--average: expected at most {last}, the number of epochs, got {count}."
            )
        chosen = [*range(last - count + 1, last + 1)]
    _require_saved(run, chosen)
    return chosen


def require_best_saved(run: RunDirectory, metrics: Mapping[str, Any]) -> None:
    """Raise `RequestError` if a completed run has lost its best weights."""
    if (best := metrics.get("best_epoch")) is not None:
        _require_saved(run, [best])


def _require_saved(run: RunDirectory, epochs: Iterable[int]) -> None:
    saved = run.weights_epochs()
    if missing := sorted({*epochs} - {*saved}):
        raise RequestError(
            f"{run.path}: the weights of epoch {missing[0]} are missing. "
            f"Saved epochs: {spans(saved) or 'none'}."
        )


def spans(numbers: Sequence[int]) -> str:
    """Write ascending whole numbers as spans: `1, 3 to 40`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    joined = (f"{each[0]} to {each[-1]}" if each[1:] else str(each[0]) for each in found)
    return ", ".join(joined)


def _best_epochs(run: RunDirectory, count: int) -> list[int]:
    """Return the epochs with the best monitored values, in chronological order."""
    run.status.require_completed(_OR_LAST)
    try:
        metrics, history = run.read_metrics(), run.history.read()
    except RequestError as error:
        raise RequestError(f"{str(error).rstrip('.')}{_OR_LAST}.") from error
    monitor, best = metrics.get("monitor"), metrics.get("best_epoch")
    if count == 1 and best is not None:
        return [best]
    if monitor not in history:
        raise RequestError(
            "--epoch=best: the run has no validation data, so only last is possible."
        )
    kind = kind_of(run.read_config()["task"]["name"])
    sign = 1.0 if kind.scoring.is_lower_better(monitor) else -1.0
    losses = history.get("val_loss", [math.inf] * len(history["epoch"]))
    rows = zip(history["epoch"], history[monitor], losses, strict=True)
    # The same order as `Monitor.best_epoch`: of equal values, the smaller loss, then the earlier.
    ranked = sorted(
        (sign * value, math.inf if math.isnan(loss) else loss, number)
        for number, value, loss in rows
        if not math.isnan(value)
    )
    if count > len(ranked):
        raise RequestError(f"--average={count}: only {len(ranked)} epochs have a validation score.")
    return sorted(int(number) for *_, number in ranked[:count])


class ServedModel:
    """A model in the form that `mlflow.pyfunc.load_model` expects."""

    def __init__(self, run: TrainedRun) -> None:
        self.run = run

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Return predictions for N inputs: forecasts (N, horizon) in natural units, or texts.

        The inputs are an array or a data frame: histories (N, S), or N texts. `params` is part of
        MLflow's interface and unused.
        """
        return self.run.task.serve(self.run.model, np.asarray(model_input))


def _load_pyfunc(path: str) -> ServedModel:
    """Load a logged model; MLflow calls this function by its name."""
    folder = Path(path)
    document = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    weights = [folder / "best.weights.h5"]
    return ServedModel(TrainedRun._load(parse(document, {}), folder / "assets", weights, "best"))
