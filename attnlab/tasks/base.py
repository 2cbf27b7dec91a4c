"""A task, its learner and its report: what the runner, commands and pages know of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Kind, Progress

if TYPE_CHECKING:
    import keras
    import numpy as np

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.records.run_directory import RunDirectory
    from attnlab.views.records import Epochs, Figure, Record, Text


class TaskData(Protocol):
    """A task's data, as far as the runner knows them; the base of every kind's own.

    Attributes:
        name: the data's name.
        source: where they come from.
        digest: SHA-256 of the raw values.
        longest: steps of the longest training item: values of a window, tokens of a sentence.
    """

    name: str
    source: str
    digest: str

    @property
    def longest(self) -> int:
        """See above."""

    def counts(self) -> dict[str, int]:
        """Items by part."""

    def describe(self) -> dict[str, Any]:
        """Counts and sizes for a log: JSON-ready."""

    def summary(self) -> Sequence[str]:
        """Lines that a user should read before training, such as the classes and their counts."""
        return ()


class Task(Protocol):
    """What is learned, from which data, under which protocol; the base of every kind's tasks.

    Attributes:
        kind: what kind of task it is.
        name: the task's name.
        monitor: the metric that chooses the best epoch, and its direction (`min`, `max`).
        cache: the folder of downloads; a run sets it.
    """

    kind: ClassVar[Kind]
    name: str
    monitor: tuple[str, str]
    cache: Path

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

    def check(self, attention: Callable[[], Attention], model: Option) -> None:
        """Refuse what `build` would refuse for data of any size; no weights are drawn.

        A run calls it before it reads a corpus, which may take long. Other tasks need no check.

        Raises:
            RequestError: as of `build`.
        """

    def loss(self, target: Any, output: Any) -> Any:
        """What training reduces: a value an item of a batch, (B,)."""

    def evaluate(self, model: keras.Model, part: str = "test", **settings: Any) -> Report:
        """Score a model on one part of the loaded data, beside the baselines.

        The settings are those that its kind states as its `evaluation`.

        Raises:
            RequestError: there is no such part, or no such data as a setting asks for.
        """

    def serve(self, model: keras.Model, inputs: Any, **settings: Any) -> np.ndarray:
        """What the model says to inputs as a user has them: histories, sentences.

        Raises:
            RequestError: the inputs are of another kind, or None where there is nothing to go by.
        """

    def save(self, folder: Path) -> None:
        """Write what using the model needs when the data are not at hand."""

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            RequestError: it is missing, damaged, or of other settings.
        """


class Losses(NamedTuple):
    """What a chunk of gradient steps cost.

    Attributes:
        values: (steps,) mean loss of each step, before its update.
        sizes: (steps,) number of items or tokens that each mean is over.
    """

    values: np.ndarray
    sizes: np.ndarray


class Chunk(Protocol):
    """Consecutive gradient steps that are taken without looking up."""

    @property
    def steps(self) -> int:
        """How many there are."""


class Learner(Protocol):
    """A model, its optimizer and its task's data; the base of every kind's learner.

    Whatever is random in an epoch follows from the seed, the epoch and the number of the step.

    Attributes:
        model: what is trained.
        optimizer: what trains it, with all its variables.
        jit: whether XLA compiles its steps; a resumed run keeps the choice.
        progress: gets the progress of a long scoring; the runner sets it.
        stackable: how many runs of equal shapes train faster in one stack than one by one.
        width: how many runs its stack has; the runner sets it.
    """

    model: keras.Model
    optimizer: keras.Optimizer
    jit: bool
    progress: Progress | None = None
    stackable: int = 1
    width: int = 1

    def values(self) -> list[np.ndarray]:
        """The values of `model.variables`."""
        import numpy as np

        return [np.array(variable) for variable in self.model.variables]

    def chunks(self, epoch: int) -> Sequence[Chunk]:
        """The steps of an epoch, in their order.

        Args:
            epoch: its number, from 1.
        """

    def train(self, chunk: Any, rates: np.ndarray, first_step: int) -> Losses:
        """Take the steps of one chunk.

        Args:
            chunk: one of `chunks`.
            rates: (steps,) learning rate of each step.
            first_step: gradient steps taken before, over the whole run.
        """

    def validate(self, epoch: int) -> dict[str, float]:
        """Metrics on the validation part, `val_` before each name; empty without such a part.

        The names are the same in each epoch; what an epoch leaves out is NaN.
        """

    def report(self) -> Report:
        """Score the model as it is on the test part."""

    def extra_reports(self) -> dict[str, Any]:
        """Scores on the task's further parts, JSON-ready; None where the model can't be applied."""
        return {}

    def examples(self) -> dict[str, np.ndarray] | None:
        """Attention weights on a few test items, for attention.npz; None where nothing attends."""
        return None

    def epoch_figures(self, epoch: int) -> Mapping[str, Figure]:
        """Figures by file name for who watches the training; most epochs have none."""
        return {}


def require_part(parts: Collection[str], part: str) -> None:
    """Raise `RequestError` where a task has no such part to evaluate."""
    if part not in parts:
        raise RequestError(f"--part: expected one of {', '.join(parts)}, got {part}.")


@dataclass(frozen=True)
class Report:
    """How good a model is on one part, beside what needs no network.

    Attributes:
        metrics: those of the kind by name, None for what is undefined.
        baselines: the same metrics for each baseline.
        best_baseline: the best one by `metric`, oracles left out.
        skill: 1 - error / error of the best baseline; 1 is perfect, 0 no better, below 0 worse.
            The error is how far `metric` is from its perfect value. None where that baseline has
            none, or one of rounding.
        notes: caveats, a sentence each.
        predictions: columns of predictions.csv, a row for each item; of forecasts for each of its
            steps.
        units: what the numbers count.
        oracles: those baselines that know the rule and so don't count for the skill.
        skills: the skill against each baseline, oracles too.
        metric: the one that the kind reports, by which rows are ordered.
        details: what else is worth keeping, JSON-ready.
    """

    metrics: dict[str, float | None]
    baselines: dict[str, dict[str, float | None]]
    best_baseline: str
    skill: float | None
    notes: list[str]
    predictions: dict[str, np.ndarray]
    units: str
    metric: str
    oracles: tuple[str, ...] = ()
    skills: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def scores(self) -> dict[str, Any]:
        """The numbers without the predictions, JSON-ready."""
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
        """What metrics.json keeps of a further part, JSON-ready."""
        numbers = {"test": self.metrics, "baselines": self.baselines, "skill": self.skill}
        return {**numbers, "oracles": list(self.oracles), **self.details}


class ReportedRun(Protocol):
    """A run that represents its group on a page.

    Attributes:
        label: the group's.
        colour: the group's, by its number.
        run: its folder.
        metrics: metrics.json.
        room: how many bytes its maps may take.
    """

    label: str
    colour: int
    run: RunDirectory
    metrics: Mapping[str, Any]
    room: int

    def task(self) -> Task:
        """Its task as it was saved, without the data.

        Raises:
            RequestError: no weights can be read, or the task's own files can't be read.
        """

    def load_data(self) -> None:
        """Load the data of its task.

        Raises:
            RequestError: they can't be read, or they have changed since.
        """

    def models(self, most: int) -> Iterator[tuple[int, keras.Model]]:
        """Its model with the weights of one epoch after the other, the first and last among them.

        Epochs whose weights can't be read are left out; there are at most `most`.

        Raises:
            RequestError: there are none.
        """

    def epochs(self, numbers: Sequence[int]) -> Epochs:
        """These epochs for a slider, which starts at the best one."""

    def problems(self) -> list[Text]:
        """What was left out, a paragraph each."""


@dataclass(frozen=True)
class Views:
    """What a kind shows of its runs, as records of `attnlab.views`.

    Its functions raise `RequestError` if a file of a run is missing or damaged.

    Attributes:
        figures: the figures of a run by file name, from its folder and its metrics.json. Neither
            the model nor TensorFlow is loaded.
        sections: the sections of a page: the title, and the records of some runs of one task.
        vocabulary: the figures, by file name, of a `TrainedRun` and so many of its words; see
            `VocabularyMap`.
    """

    figures: Callable[[RunDirectory, Mapping[str, Any]], Mapping[str, Figure]]
    sections: Mapping[str, Callable[[Sequence[ReportedRun]], Sequence[Record]]] = field(
        default_factory=dict
    )
    vocabulary: Callable[[Any, int], Mapping[str, Figure]] | None = None
