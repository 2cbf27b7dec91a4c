"""Interfaces of a task, its data, its learner and its report, for the rest of the product."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from attnlab.errors import RequestError
from attnlab.tasks.kinds import Kind, Progress

if TYPE_CHECKING:
    import keras
    import numpy as np

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.records.run_directory import RunDirectory
    from attnlab.training.plan import StepLosses
    from attnlab.training.stacking import StackScheduler
    from attnlab.views.records import Epochs, Figure, Record


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """The loaded data of a task."""

    name: str
    source: str  # where the data come from
    digest: str  # SHA-256 of the raw values and of all settings that change them
    longest: int  # steps of the longest training item: values of a window, tokens of a sentence
    parts: Mapping[str, Any]  # part, such as `train` -> its items
    notes: Sequence[str] = ()  # for the user before training, such as the classes
    details: Mapping[str, Any] = field(default_factory=dict)  # for the log; empty: the counts

    def counts(self) -> dict[str, int]:
        """Return the number of items of each part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> Mapping[str, Any]:
        """Return counts and sizes for the log, JSON-ready."""
        return self.details or self.counts()


class Task(ABC):
    """Data, protocol and evaluation of a learning problem; every task is a subclass.

    All methods raise `RequestError` if settings, data, inputs or saved files don't fit.

    Attributes:
        monitor: the metric that selects the best epoch, and its direction (`min`, `max`).
        cache: the folder of downloads, which the run sets.
        served: an input of `serve` and its output, from which MLflow takes the model's signature.
    """

    kind: ClassVar[Kind]
    name: str
    monitor: tuple[str, str]
    cache: Path
    served: Any

    @abstractmethod
    def load(self, seed: int, progress: Progress | None = None) -> TaskData:
        """Read or generate the data, split them, and fit scalers or tokenizers on train."""

    @abstractmethod
    def build(self, attention: Callable[..., Attention], model: Option) -> keras.Model:
        """Build the model, with its weights drawn.

        Args:
            attention: makes one mechanism, with further arguments of its constructor; called once
                per place that needs one.
            model: name and settings of the architecture.
        """

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build` that don't depend on the data.

        A run calls it before it reads a corpus, which can be slow, and for every Transformer. A
        task whose `build` needs the data defines its own.
        """
        self.build(attention, model)

    @abstractmethod
    def evaluate(self, model: keras.Model, part: str = "test", **settings: Any) -> Report:
        """Score a model and the baselines on one part of the loaded data.

        The keyword arguments `settings` are the values of the kind's `Scoring.evaluation`.
        """

    @abstractmethod
    def head_inputs(
        self, model: keras.Model, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        """Return at most `count` inputs on which `attnlab heads` measures the heads of a model.

        Returns:
            What the model is called with, and its tokens (N, S), below 0 for padding; None if an
            input isn't one sequence of tokens.
        """

    @abstractmethod
    def serve(self, model: keras.Model, inputs: Any, **settings: Any) -> np.ndarray:
        """Return predictions for a user's raw inputs, such as histories or sentences, or None."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the files that predictions need when the data are not available."""

    @abstractmethod
    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote."""


class Chunk(Protocol):
    """Consecutive gradient steps that run without a check of progress in between."""

    @property
    def steps(self) -> int:
        """Return the number of steps."""

    def first(self, steps: int) -> Chunk:
        """Return the first steps; all if there are fewer."""


class Learner(ABC):
    """Trains a model on the data of its task; every kind has a subclass.

    All random numbers of an epoch depend only on the seed, the epoch and the number of the step.
    """

    model: keras.Model
    optimizer: keras.Optimizer  # with all variables created
    jit: bool  # whether XLA compiles the steps; a resumed run keeps this choice
    progress: Progress | None = None  # called during a long evaluation; the runner sets it
    stackable: int = 1  # how many runs of equal shapes train faster as one stack than separately
    stack: StackScheduler | None = None  # of runs that train together; the runner sets it
    width: int = 1  # number of runs in its stack; the runner sets it

    def values(self) -> list[np.ndarray]:
        """Return the values of `model.variables`."""
        import numpy as np

        return [np.array(variable) for variable in self.model.variables]

    def trained_variables(self) -> list[Any]:
        """Return everything that training changes; the configuration determines the order."""
        return [*self.model.variables, *self.optimizer.variables]

    def trained_values(self) -> list[np.ndarray]:
        """Return the values of `trained_variables`."""
        return [variable.numpy() for variable in self.trained_variables()]

    @abstractmethod
    def chunks(self, epoch: int) -> Sequence[Chunk]:
        """Return the steps of an epoch, counted from 1, in order."""

    @abstractmethod
    def train(self, chunk: Any, rates: np.ndarray, first_step: int) -> StepLosses:
        """Run the gradient steps of one chunk.

        Args:
            chunk: one of `chunks`.
            rates: (steps,) learning rate of each step.
            first_step: number of gradient steps of the run before this chunk.
        """

    @abstractmethod
    def validate(self, epoch: int) -> dict[str, float]:
        """Return metrics of the validation part, with the prefix `val_`; none without such a part.

        Every epoch has the same names; a metric that an epoch skips is NaN.
        """

    @abstractmethod
    def report(self) -> Report:
        """Score the model on the test part with its current weights."""

    def extra_reports(self) -> dict[str, Any]:
        """Score the task's further parts, JSON-ready; None for one that the model can't process."""
        return {}

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return attention weights on a few test items; None if the model has no attention."""
        return None


def assign(variables: Sequence[Any], values: Sequence[np.ndarray]) -> None:
    """Assign values to variables."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def require_part(parts: Collection[str], part: str) -> None:
    """Raise `RequestError` if `part` is not one of `parts`."""
    if part not in parts:
        raise RequestError(f"--part: expected one of {', '.join(parts)}, got {part}.")


@dataclass(frozen=True)
class Report:
    """Scores of a model on one part, together with those of the baselines.

    The skill is 1 - error / error of a baseline: 1 is perfect, 0 no better, below 0 worse. The
    error is the distance of `metric` from its perfect value. The skill is None if the baseline's
    error is 0 or only rounding.
    """

    metrics: dict[str, float | None]  # by name; None for an undefined one
    baselines: dict[str, dict[str, float | None]]
    best_baseline: str  # by `metric`, without the oracles
    skill: float | None  # against the best baseline
    notes: list[str]  # caveats, one sentence each
    predictions: dict[str, np.ndarray]  # columns of predictions.csv, a row per item (and step)
    units: str
    metric: str  # the reported one, by which tables are sorted
    oracles: tuple[str, ...] = ()  # baselines that know the rule behind the data
    skills: dict[str, float | None] = field(default_factory=dict)  # against each, with oracles
    details: dict[str, Any] = field(default_factory=dict)  # further entries of metrics.json

    def scores(self) -> dict[str, Any]:
        """Return everything except the predictions, JSON-ready."""
        return {
            "units": self.units,
            "metric": self.metric,
            "metrics": self.metrics,
            "baselines": self.baselines,
            "best_baseline": self.best_baseline,
            "oracles": list(self.oracles),
            "skill": self.skill,
            "skills": self.skills,
            **self.details,
        }

    def brief(self) -> dict[str, Any]:
        """Return the entry of a further part in metrics.json, JSON-ready."""
        numbers = {"test": self.metrics, "baselines": self.baselines, "skill": self.skill}
        return {**numbers, "oracles": list(self.oracles), **self.details}


def skills(error: float, baselines: Mapping[str, float]) -> tuple[str, dict[str, float | None]]:
    """Return the best baseline, and the skill against each, by the errors of all.

    Of equally good baselines the last one is the best: it uses more of the items.
    """
    best = min(reversed([*baselines]), key=baselines.__getitem__)
    return best, {name: 1.0 - error / other if other else None for name, other in baselines.items()}


@dataclass
class ReportedRun:
    """A run that represents its group on a page."""

    label: str  # of the group
    colour: int  # number of the group's colour
    run: RunDirectory
    metrics: Mapping[str, Any]  # metrics.json
    room: int  # the most bytes that its maps may need

    def epochs(self, numbers: Sequence[int]) -> Epochs:
        """Describe epochs for a slider that starts at the best one."""
        from attnlab.views.records import Epochs

        history = self.run.history.read()
        monitor, best = str(self.metrics.get("monitor")), self.metrics.get("best_epoch")
        values = dict(zip(history.get("epoch", []), history.get(monitor, []), strict=False))
        notes = []
        for epoch in numbers:
            value = values.get(epoch, math.nan)
            score = [f"{monitor} {value:.4g}"] if math.isfinite(value) else []
            notes.append(" · ".join([*score, *["best"] * (epoch == best)] if score else []))
        first = numbers.index(best) if best in numbers else len(numbers) - 1
        return Epochs(list(numbers), notes, first)


@dataclass(frozen=True)
class Views:
    """The figures and sections that a kind shows of its runs, as records of `attnlab.views`.

    Its functions raise `RequestError` if a file of a run is missing or damaged.

    Attributes:
        figures: the figures of a run by file name, from its folder and its metrics.json, without
            the model.
        sections: the sections of a page: title -> function from runs of one task to records.
        vocabulary: function from a `TrainedRun` and a number of words to figures by file name.
    """

    figures: Callable[[RunDirectory, Mapping[str, Any]], Mapping[str, Figure]]
    sections: Mapping[str, Callable[[Sequence[ReportedRun]], Sequence[Record]]] = field(
        default_factory=dict
    )
    vocabulary: Callable[[Any, int], Mapping[str, Figure]] | None = None
