"""Declare a kind of task, and find the kinds; the rest of the product uses a kind only by this.

A kind is a folder of `attnlab/tasks`, or an external package, whose module `kind` defines `KIND`.
Each task class of the kind has it as its class attribute `kind`. Parts that are slow to import are
paths, `package.module:attribute`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab import tasks
from attnlab.config.options import option_class
from attnlab.errors import RequestError

if TYPE_CHECKING:
    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.records.run_directory import RunDirectory

_ENTRY_POINTS = "attnlab.kinds"

# Per group of runs: its runs, and the reference's runs with the same seeds in the same order.
Pairs = Sequence[tuple["Sequence[RunDirectory]", "Sequence[RunDirectory]"]]
# Called during long work: items done, total number of items or None, what is being done.
Progress = Callable[[int, int | None, str], None]

# The smallest and the largest value that a metric can have.
UNBOUNDED, POSITIVE, FROM_ONE = (-math.inf, math.inf), (0.0, math.inf), (1.0, math.inf)
SHARE, PER_CENT = (0.0, 1.0), (0.0, 100.0)


@dataclass(frozen=True)
class Metric:
    """A score of a model, such as its RMSE or BLEU."""

    name: str  # as in metrics.json, for example `rmse`; history.csv has `val_rmse`
    direction: str  # `min` if a lower value is better, `max` if a higher one is
    label: str  # in figures and texts
    in_units: bool = False  # whether it has the units of the report
    in_tables: bool = True  # whether the table at the end of a run has a column for it
    item_test: str | None = None  # path of the `ItemTester` for groups of runs
    bounds: tuple[float, float] = UNBOUNDED


@dataclass(frozen=True)
class ItemTest:
    """The result of a test over test items: is a group of runs different from a reference?"""

    name: str  # of the test
    method: str  # the test and the number of items, in words
    items: int  # number of test items
    p: float  # two-sided
    statistic: float | None = None  # above 0 if the group's losses are larger
    signature: str | None = None  # settings of the library that ran the test
    p_holm: float | None = None  # p after Holm's correction for all groups of a table


class NoItemTest(Exception):
    """Groups of runs can't be tested item by item; the text says why."""


# A kind's test over test items: called with a metric's name, groups (at least one) and `always`, it
# returns a test per group, None for a group that can't be tested. `always`: True runs the test even
# if it takes minutes, None only if it takes seconds, False only if it takes almost no time. Raises
# `NoItemTest` if runs have different items or the test takes too long, `RequestError` for a damaged
# file.
ItemTester = Callable[[str, Pairs, bool | None], "Sequence[ItemTest | None]"]


@dataclass(frozen=True)
class KindModels:
    """How models of a kind are built and trained."""

    learner: str  # path of its `Learner`, called with configuration, task and model
    # How many runs a process should train at the same time: many if runs are stacked, some if they
    # train side by side, 1 if training several at once is no faster.
    together: int = 1
    classes: Mapping[str, str] = field(default_factory=dict)  # architecture -> path of its class

    def build(
        self,
        model: Option,
        attention: Callable[..., Attention],
        input_shape: tuple[int | None, ...],
        **sizes: Any,
    ) -> Any:
        """Build a model, with its weights drawn.

        Args:
            model: the architecture and its settings. An `rnn` gets one mechanism, a `transformer`
                one per layer. A `pretrained` model has its encoder's, the size `source`, and its
                encoder's vocabulary.
            attention: makes one mechanism, with further arguments of its constructor.
            input_shape: of the model's input, the batch included.
            **sizes: further arguments of the model's class.
        """
        if model.name not in self.classes:
            *others, last = self.classes
            raise RequestError(
                f"model.name: expected {', '.join(others)} or {last}, got {model.name}."
            )
        arguments = {**model.settings, **sizes}
        if model.name == "rnn":
            arguments["attention"] = attention()
        elif model.name == "transformer":
            from attnlab.layers.transformer import make_mechanisms

            arguments["attention"] = make_mechanisms(attention, arguments)
        elif model.name == "pretrained":
            arguments = {n: a for n, a in arguments.items() if n not in ("path", "vocabulary")}
        built = load(self.classes[model.name])(**arguments)
        built.build(input_shape)
        return built


@dataclass(frozen=True)
class Scoring:
    """How runs of a kind are scored and compared."""

    metrics: tuple[Metric, ...]  # the scores of its reports
    reported: str  # the metric by which runs are compared by default
    monitored: str = "val_loss"  # the column of history.csv that selects the best epoch by default
    bars: tuple[str, ...] = ("train_loss", "val_loss")  # columns that the progress bar shows
    # Further test splits that its tasks may have -> a description of each.
    parts: Mapping[str, str] = field(default_factory=dict)
    # Further options of `attnlab evaluate` -> the arguments of `Task.evaluate`.
    evaluation: Mapping[str, str] = field(default_factory=dict)
    # Columns of predictions.csv to read as text even if they look like numbers.
    text_columns: tuple[str, ...] = ()

    def metric(self, name: str) -> Metric | None:
        """Return the metric of this name, or of a column of history.csv such as `val_loss`."""
        for prefix in ("train_", "val_", "test_"):
            name = name.removeprefix(prefix)
        return next((metric for metric in self.metrics if metric.name == name), None)

    def is_lower_better(self, name: str) -> bool:
        """Return whether a lower value of a metric or column is better; False if it is unknown."""
        metric = self.metric(name)
        return metric is not None and metric.direction == "min"

    def is_still_improving(self, metrics: Mapping[str, Any]) -> bool:
        """Return whether a run's last epoch was its best one, by its metrics.json.

        More epochs would probably improve it, unless its value is perfect. Without validation data
        there is no best epoch.
        """
        metric = self.metric(str(metrics["monitor"]))
        perfect = metric.bounds[metric.direction == "max"] if metric else math.nan
        is_last = metrics["monitor"] is not None and metrics["best_epoch"] == metrics["epochs"]
        return is_last and metrics["best_value"] != perfect


@dataclass(frozen=True)
class Predictions:
    """How predictions of a kind are requested and presented."""

    item: str  # the noun for one prediction: `forecast`, `translation`
    command: str  # the name of the command: `forecast`, `translate`
    predictor: str  # path of the kind's `Predictor`, which defines the command
    # Path of a function from a `TrainedRun` whose data are loaded, and a number of test items, to
    # `tasks.exported.Exported`; None: runs can't be exported.
    exported: str | None = None
    settings: tuple[str, ...] = ()  # keyword arguments that `Task.serve` takes after the inputs
    example: tuple[str, ...] = ()  # words after RUN in the command that is proposed after a run


@dataclass(frozen=True)
class VocabularyMap:
    """A subcommand of `attnlab plot` that draws the learned vocabularies of a run."""

    name: str  # of the subcommand
    help: str  # its first sentence is the summary
    fits: str | None = None  # path of a function: has a task of this name a vocabulary? None: yes


@dataclass(frozen=True)
class Kind:
    """A kind of task."""

    name: str  # conf/model/settings has `<name>_<architecture>.yaml`
    models: KindModels
    scoring: Scoring
    predictions: Predictions
    views: str  # path of its `tasks.base.Views`
    takes_corpus: bool = False  # whether its tasks take a corpus from the group `data`
    corpora: Mapping[str, str] = field(default_factory=dict)  # other tasks -> path of a `Corpus`
    vocabulary_map: VocabularyMap | None = None


def load(path: str) -> Any:
    """Import and return the object at a path `package.module:attribute`."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds: those in `kind.py` of the folders here, and entry points of packages.

    A `kind.py` may define several kinds, which share code. The value of an entry point in the
    group `attnlab.kinds` is the path of a `Kind`.
    """
    files = (path for folder in tasks.__path__ for path in Path(folder).glob("*/kind.py"))
    folders = sorted(path.parent.name for path in files)
    paths = [point.value for point in entry_points(group=_ENTRY_POINTS)]
    try:
        modules = [importlib.import_module(f"{tasks.__name__}.{name}.kind") for name in folders]
        values = (value for module in modules for value in vars(module).values())
        shipped = [value for value in values if isinstance(value, Kind)]
        return (*shipped, *(load(path) for path in paths))
    except (ImportError, AttributeError) as error:
        raise RequestError(f"A package's {_ENTRY_POINTS} can't be loaded: {error}.") from error


def kind_of(task: str) -> Kind:
    """Return the kind of a task, given the task's name; raises `RequestError` without one."""
    return option_class("task", task).kind  # type: ignore[attr-defined]


def known_kind(task: object) -> Kind | None:
    """Return the kind of a task, given its name; None if the task is unknown."""
    try:
        return kind_of(str(task))
    except RequestError:
        return None
