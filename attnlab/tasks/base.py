"""What a kind of task states of itself: all that the rest may know of it.

A kind is a folder below `attnlab/tasks`, or a package of somebody else's, whose `kind` module has a
`KIND`. Its tasks name that as their `kind`; nothing outside asks for more.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import keras
    import numpy as np

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.page.parts import Frames, Part
    from attnlab.records.run_directory import RunDirectory

# Of groups of runs each its runs and those of a reference, of the same seeds in the same order.
Pairs = Sequence[tuple["Sequence[RunDirectory]", "Sequence[RunDirectory]"]]
# Told how far long work is: items done, items in all or None, what is being done.
Progress = Callable[[int, int | None, str], None]

# The smallest and the largest value that a metric can have.
UNBOUNDED, POSITIVE, FROM_ONE = (-math.inf, math.inf), (0.0, math.inf), (1.0, math.inf)
SHARE, PER_CENT = (0.0, 1.0), (0.0, 100.0)


@dataclass(frozen=True)
class Metric:
    """A number by which models of a kind are judged.

    Attributes:
        name: as in metrics.json, for example `rmse`; in the history with `val_` before it.
        direction: `min` or `max`: which way is better.
        label: the name as figures and prose have it.
        perfect: the best value there is, from which the skill reckons; None where the metric has
            no skill.
        in_units: whether it counts in the units of the report.
        in_tables: whether the table at the end of a run has a column for it.
        item_test: path of the `ItemTester` that tests groups of runs item by item; None: nothing
            does.
        bounds: the smallest and the largest value that it can have.
    """

    name: str
    direction: str
    label: str
    perfect: float | None = None
    in_units: bool = False
    in_tables: bool = True
    item_test: str | None = None
    bounds: tuple[float, float] = UNBOUNDED


@dataclass(frozen=True)
class ItemTest:
    """Whether other test items could turn round how a group of runs differs from a reference.

    Attributes:
        name: of the test.
        heading: of a column with its p values.
        method: what was done over how many items, for a footnote.
        items: how many test items.
        p: two-sided p value.
        statistic: above 0 where the group's losses are larger; None where the test has none.
        signature: settings of a library that made the test.
        p_holm: p, corrected over the groups of a table.
    """

    name: str
    heading: str
    method: str
    items: int
    p: float
    statistic: float | None = None
    signature: str | None = None
    p_holm: float | None = None


class NoItemTest(Exception):
    """Groups of runs can't be tested item by item; the text says why."""


class ItemTester(Protocol):
    """A kind's own test over test items."""

    def __call__(self, metric: str, pairs: Pairs, always: bool | None) -> Sequence[ItemTest | None]:
        """Test groups of runs against a reference.

        Args:
            metric: name of the kind's metric.
            pairs: the groups' runs and those of the reference; at least one.
            always: test even where that takes minutes; None: where it takes seconds; False: where
                it takes next to nothing.

        Returns:
            A test of each group; None where there is none.

        Raises:
            NoItemTest: they weren't tested on the same items, or it would take minutes.
            RequestError: a file of a run is missing or damaged.
        """


class Shown(Protocol):
    """A run that stands for its group on a page.

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
            RequestError: no weights can be read, or what is needed beside them.
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

    def frames(self, epochs: Sequence[int]) -> Frames:
        """What a slider says of these epochs; it begins at the best one."""

    def problems(self) -> list[Part]:
        """What was left out, a paragraph each."""


# What a kind has to tell of runs of one task on a page; raises `RequestError` where it can't.
Teller = Callable[[Sequence[Shown]], "Sequence[Part]"]


class Verb(NamedTuple):
    """A word of the command line that a kind brings with it.

    Attributes:
        help: one line of help.
        command: path of its click command.
        uses_run: whether it is what a trained run of the kind is for.
    """

    help: str
    command: str
    uses_run: bool = False


class Stored(Protocol):
    """Data in files, as `attnlab data` lists and fetches them.

    Attributes:
        name: the data's name.
        origin: who made them, and where they are from.
        license: the terms they are given under.
        fetchable: whether they can be downloaded.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def origin(self) -> str: ...  # noqa: D102

    @property
    def license(self) -> str: ...  # noqa: D102

    @property
    def fetchable(self) -> bool: ...  # noqa: D102

    def open(self, cache: Path, progress: Progress | None = None) -> Any:
        """Find the files, downloading them into `cache` where they are missing.

        Raises:
            RequestError: they are missing, or not what they should be.
        """

    def location(self, cache: Path) -> Path | None:
        """Where they lie; None where they are still to be fetched, or given."""


@dataclass(frozen=True)
class Shelf:
    """The data of a kind, for `attnlab data`.

    Attributes:
        group: of conf: its options `names` say what settings there are.
        names: of the data.
        make: the data of a name with some settings.
        about: entries of a row that say what data are, such as their languages; JSON-ready.
        count: entries that say what is in them, given the folder of downloads and a seed.
        show: prints a row of both.
        settings: of the options, those that belong to the data; None: all.
    """

    group: str
    names: Callable[[], Sequence[str]]
    make: Callable[[str, Mapping[str, Any]], Any]
    about: Callable[[Any], Mapping[str, str]]
    count: Callable[[Any, Path, int], Mapping[str, Any]]
    show: Callable[[Mapping[str, Any]], None]
    settings: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of task. Parts that take long to import are paths, `package.module:attribute`.

    Attributes:
        name: for example `forecasting`; conf/model/settings has `<name>_<architecture>.yaml`.
        item: what a model of it makes, in a word: `forecast`, `translation`.
        metrics: the numbers of its reports.
        reported: the metric by which runs are compared unless another is asked for.
        learner: path of its `Learner`, called with configuration, task and model.
        figures: path of a function that draws a run: `(run folder, metrics.json)` to figures by
            file name.
        served: path of a function that gives, by a configuration as plain mappings, an input and
            an output of the model that MLflow serves: `{"values": nested lists, "dtype": name}`.
        verbs: its own words of the command line; `plot embeddings` is a word of the verb `plot`.
        shelf: path of a `Shelf`; None where all its data come with it, or from files of the user's.
        page: sections of a page about runs, title to the path of a `Teller`.
        parts: further parts of test data that its tasks may have -> what they are, in words.
        takes_data: whether its tasks take a corpus from the group `data`.
        together: how many runs of it one process trains sooner at a time than one by one: many
            where they are stacked, some where they go side by side, and 1 where none should.
        encodes: whether its tasks have `vectors(model, texts)`, a vector (N, W) of each text, of
            which they read `places_read(model)` tokens, not `unknown(text)` words.
        architectures: mechanism -> what `model=auto` means for it; `rnn` for all others.
        evaluation: options of `attnlab evaluate` that its tasks take beside `--part`, and settings
            of a run that may have another value there -> the arguments of `Task.evaluate`.
        serving: names of the settings that `Task.serve` takes beside the inputs.
        bars: metrics that are shown while it trains, as the history names them.
        monitored: the column of the history that chooses the best epoch, unless the setting
            `task.monitor` names another one.
        text_columns: columns of predictions.csv that are text even where they look like numbers.
        tries: model or task -> what to try after a run of it, others under ``; `{run}` is the run
            as verbs are told of it, `{other}` another mechanism.
        preface: gives, by a task's data, lines that are shown before training, such as the classes
            with their counts; None: nothing to show.
        resolved: gives a run's config.yaml, as plain mappings, with the values for which `auto`
            stood when the run was made; None: nothing to resolve.
    """

    name: str
    item: str
    metrics: tuple[Metric, ...]
    reported: str
    learner: str
    figures: str
    served: str
    verbs: Mapping[str, Verb] = field(default_factory=dict)
    shelf: str | None = None
    page: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    takes_data: bool = False
    together: int = 1
    encodes: bool = False
    architectures: Mapping[str, str] = field(default_factory=dict)
    evaluation: Mapping[str, str] = field(default_factory=dict)
    serving: tuple[str, ...] = ()
    bars: tuple[str, ...] = ("train_loss", "val_loss")
    monitored: str = "val_loss"
    text_columns: tuple[str, ...] = ()
    tries: Mapping[str, str] = field(default_factory=dict)
    preface: Callable[[Any], Sequence[str]] | None = None
    resolved: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def metric(self, name: str) -> Metric | None:
        """The metric of a name, also of a column of the history such as `val_loss`."""
        for prefix in ("train_", "val_", "test_"):
            name = name.removeprefix(prefix)
        return next((metric for metric in self.metrics if metric.name == name), None)

    def is_lower_better(self, name: str) -> bool:
        """Which way a metric or a column of the history is better; higher where it is unknown."""
        known = self.metric(name)
        return known is not None and known.direction == "min"


def load(path: str) -> Any:
    """What stands at a path `package.module:attribute` of a `Kind`."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


class TaskData(Protocol):
    """What the runner has to know of a task's data, whatever they are.

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


class Task(Protocol):
    """What is learned, from which data, under which protocol.

    Attributes:
        kind: what kind of task it is.
        name: the task's name.
        monitor: the metric that chooses the best epoch, and its direction (`min`, `max`).
    """

    kind: ClassVar[Kind]
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
    """A model, its optimizer and its task's data.

    Whatever is random in an epoch follows from the seed, the epoch and the number of the step.

    Attributes:
        model: what is trained.
        optimizer: what trains it, with all its variables.
        jit: whether XLA compiles its steps; a resumed run keeps the choice.
        progress: is told how far a long scoring is; the runner sets it.
        stackable: how many runs of equal shapes are sooner trained in one stack than one by one;
            may be missing, as may
        width: how many there are in its stack; the runner sets it.
        values: returns the values of the model's variables; where it is missing, they have them.
    """

    model: keras.Model
    optimizer: keras.Optimizer
    jit: bool
    progress: Progress | None

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

    def examples(self) -> dict[str, np.ndarray] | None:
        """Attention weights on a few test items, for attention.npz; None where nothing attends."""

    def draw_epoch(self, epoch: int, folder: Path) -> list[Path]:
        """Draw what a person would like to see while it trains; most epochs draw nothing."""


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
