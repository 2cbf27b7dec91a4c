"""What every task is, and what it hands over: its data, its parts, its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from attnlab.tasks.translation.corpora.corpus import Progress as Progress

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option


class TaskData(Protocol):
    """What the runner has to know of a task's data, whatever they are.

    Attributes:
        name: the data's name.
        source: where they come from.
        digest: SHA-256 of the raw values.
    """

    name: str
    source: str
    digest: str

    def counts(self) -> dict[str, int]:
        """Items by part."""

    def describe(self) -> dict[str, Any]:
        """Counts and sizes for a log: JSON-ready."""


class Task(Protocol):
    """What is learned, from which data, under which protocol.

    Attributes:
        name: the task's name.
        monitor: the metric that chooses the best epoch, and its direction (`min`, `max`).
    """

    name: str
    monitor: tuple[str, str]

    def load(self, seed: int, progress: Progress | None = None) -> TaskData:
        """Read or make the data, split them, and fit on the training part what is fitted.

        Raises:
            RequestError: the settings don't fit the data, or the data can't be read.
        """

    def build(self, attention: Callable[[], Attention], model: Option) -> keras.Model:
        """The model, its weights drawn.

        Args:
            attention: makes one mechanism; called for each place that wants one.
            model: which one, and its settings.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """

    def evaluate(self, model: keras.Model, part: str = "test", **settings: Any) -> Report:
        """Score a model on one part of the loaded data, beside the baselines.

        Raises:
            RequestError: there is no such part.
        """

    def serve(self, model: keras.Model, inputs: Any) -> np.ndarray:
        """What the model says to inputs as a user has them: histories, sentences."""

    def save(self, folder: Path) -> None:
        """Write what using the model needs when the data are not at hand."""

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            RequestError: it is missing, damaged, or of other settings.
        """


@dataclass(frozen=True)
class Windows:
    """One part of a forecasting task, in model units.

    Attributes:
        history: (N, S, 1) float32, newest last.
        target: (N, horizon) float32.
        index: (N,) int64, position of each first target in the series, or the window's number.
        times: label of each first target; the index as text where there are no times.
    """

    history: np.ndarray
    target: np.ndarray
    index: np.ndarray
    times: list[str]

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True)
class Splits:
    """A task's parts.

    Attributes:
        train: what the weights and the scaler are fitted on.
        validation: what epochs and settings are chosen on; None where the protocol has none.
        test: what is reported.
        name: the task's name.
        source: where the data come from.
        digest: SHA-256 of the raw values.
        extra: further parts to report on, such as "extrapolation".
        scaler: the scaling in words.
    """

    train: Windows
    validation: Windows | None
    test: Windows
    name: str
    source: str
    digest: str
    extra: dict[str, Windows] = field(default_factory=dict)
    scaler: str = ""

    def parts(self) -> dict[str, Windows]:
        """The parts that there are, by name, extra ones left out."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: windows for name, windows in parts.items() if windows is not None}

    def part(self, name: str) -> Windows:
        """The windows of "train", "validation", "test" or an extra part.

        Raises:
            ValueError: there is no such part.
        """
        parts = self.parts() | self.extra
        if name not in parts:
            raise ValueError(f"expected a part among {', '.join(parts)}, got {name!r}")
        return parts[name]

    def counts(self) -> dict[str, int]:
        """Windows by part, extra ones left out."""
        return {name: len(windows) for name, windows in self.parts().items()}

    def describe(self) -> dict[str, Any]:
        """Counts and sizes for a log: JSON-ready."""
        counts = {
            "train": len(self.train),
            "validation": 0 if self.validation is None else len(self.validation),
            "test": len(self.test),
        }
        counts |= {name: len(windows) for name, windows in self.extra.items()}
        sizes = {"history": self.train.history.shape[1], "horizon": self.train.target.shape[1]}
        return counts | sizes | {"scaler": self.scaler}


@dataclass(frozen=True)
class Report:
    """How good a model is on one part, beside what needs no network.

    Attributes:
        metrics: of forecasts rmse, mae and mse in `units`, and nrmse = rmse / full range of the
            series where it is one series; of translations bleu, chrf and more.
        baselines: the same metrics for each baseline.
        best_baseline: the best one by `metric`, oracles left out.
        skill: 1 - error / error of the best baseline; 1 is perfect, 0 no better, below 0 worse.
            The error is the rmse, or 100 - BLEU. A baseline that is exact to float32 rounding
            counts with that rounding.
        notes: caveats, a sentence each.
        predictions: columns of predictions.csv. Of forecasts a row for each window and step:
            index and time of the row's target, step (1 to horizon), target, prediction, then the
            baselines. Of translations a row for each sentence.
        units: what the numbers count.
        oracles: those baselines that know the rule and so don't count for the skill.
        skills: the skill against each baseline, oracles too.
        metric: the one that rows are ordered by: `rmse` (lower is better) or `bleu` (higher).
        details: what else is worth keeping, JSON-ready.
    """

    metrics: dict[str, float]
    baselines: dict[str, dict[str, float]]
    best_baseline: str
    skill: float
    notes: list[str]
    predictions: dict[str, np.ndarray]
    units: str
    oracles: tuple[str, ...] = ()
    skills: dict[str, float] = field(default_factory=dict)
    metric: str = "rmse"
    details: dict[str, Any] = field(default_factory=dict)

    def scores(self) -> dict[str, Any]:
        """The numbers without the predictions, JSON-ready."""
        return {
            "units": self.units,
            "metric": self.metric,
            "metrics": self.metrics,
            "baselines": self.baselines,
            "best_baseline": self.best_baseline,
            "skill": self.skill,
            "skills": self.skills,
            **self.details,
        }

    def brief(self) -> dict[str, Any]:
        """What metrics.json keeps of a further part, JSON-ready."""
        numbers = {"test": self.metrics, "baselines": self.baselines, "skill": self.skill}
        return {**numbers, **self.details}


@dataclass(frozen=True)
class SeriesView:
    """A series to draw.

    Attributes:
        values: (n,) float64 in `units`.
        times: a label a value.
        borders: part name -> position where the part begins; empty where parts are shuffled.
        units: what the numbers count.
    """

    values: np.ndarray
    times: list[str]
    borders: dict[str, int]
    units: str
