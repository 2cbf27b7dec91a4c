"""Declare a kind of task: the rest of the product uses a kind only through this declaration.

A kind is a folder of `attnlab/tasks`, or an external package, whose module `kind` defines `KIND`.
Each task class of the kind has it as its class attribute `kind`. Parts that are slow to import are
paths, `package.module:attribute`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.records.run_directory import RunDirectory

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
    heading: str  # of the table column with its p values
    method: str  # the test and the number of items, for a footnote
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
    # Architecture -> path of the class of its models, for `tasks.models.build_model`.
    classes: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Predictions:
    """How predictions of a kind are requested and presented."""

    item: str  # the noun for one prediction: `forecast`, `translation`
    command: str  # the name of the command: `forecast`, `translate`
    summary: str  # one line of help for the command
    predictor: str  # path of the kind's `Predictor`, which defines the command
    # Path of a function from a `TrainedRun` whose data are loaded, and a number of test items, to
    # `tasks.exported.Exported`; None: runs can't be exported.
    exported: str | None = None
    settings: tuple[str, ...] = ()  # keyword arguments that `Task.serve` takes after the inputs
    # Model, task or reported metric -> the suggestion that is printed after a run; "" is the
    # default. `{run}` is the run's name and `{other}` another mechanism.
    next_steps: Mapping[str, str] = field(default_factory=dict)


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
