"""What a kind of task declares: all that the rest may know of it.

A kind is a folder below `attnlab/tasks`, or a package of somebody else's, whose `kind` module has a
`KIND`. Its tasks name that as their `kind`; nothing outside asks for more.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from attnlab.records.run_directory import RunDirectory

# Of groups of runs each its runs and those of a reference, of the same seeds in the same order.
Pairs = Sequence[tuple["Sequence[RunDirectory]", "Sequence[RunDirectory]"]]
# Called while work takes long: items done, items in all or None, what is being done.
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


@dataclass(frozen=True)
class KindData:
    """The data of a kind.

    Attributes:
        takes_corpus: whether its tasks take a corpus from the group `data`.
        catalog: path of a `Catalog`; None if all its data come with it or are files of the user's.
    """

    takes_corpus: bool = False
    catalog: str | None = None


@dataclass(frozen=True)
class KindModels:
    """How models of a kind are built and trained.

    Attributes:
        learner: path of its `Learner`, called with configuration, task and model.
        together: how many runs one process trains faster at a time than one by one: many if they
            are stacked, some if they train side by side, 1 if none should.
        classes: architecture -> path of the class of its models, for `tasks.models.build_model`;
            empty if the task builds its models in another way.
        architectures: mechanism -> what `model=auto` means for it; `rnn` for all others.
        resolve: gives a configuration, as plain mappings, with what follows from its model, such
            as the attention of a pretrained encoder; None: nothing follows.
    """

    learner: str
    together: int = 1
    classes: Mapping[str, str] = field(default_factory=dict)
    architectures: Mapping[str, str] = field(default_factory=dict)
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Scoring:
    """How runs of a kind are scored and compared.

    Attributes:
        metrics: the numbers of its reports.
        reported: the metric by which runs are compared unless another is asked for.
        monitored: the column of the history that chooses the best epoch, unless the setting
            `task.monitor` names another one.
        bars: columns of the history that are shown during training.
        parts: further parts of test data that its tasks may have -> what they are, in words.
        evaluation: further options of `attnlab evaluate`, after `--part`, and settings of a run
            that may have another value there -> the arguments of `Task.evaluate`.
        text_columns: columns of predictions.csv that are text even if they look like numbers.
    """

    metrics: tuple[Metric, ...]
    reported: str
    monitored: str = "val_loss"
    bars: tuple[str, ...] = ("train_loss", "val_loss")
    parts: Mapping[str, str] = field(default_factory=dict)
    evaluation: Mapping[str, str] = field(default_factory=dict)
    text_columns: tuple[str, ...] = ()

    def metric(self, name: str) -> Metric | None:
        """The metric of a name, also of a column of the history such as `val_loss`."""
        for prefix in ("train_", "val_", "test_"):
            name = name.removeprefix(prefix)
        return next((metric for metric in self.metrics if metric.name == name), None)

    def is_lower_better(self, name: str) -> bool:
        """Whether a lower value of a metric or a column of the history is better; no if unknown."""
        known = self.metric(name)
        return known is not None and known.direction == "min"


@dataclass(frozen=True)
class Predictions:
    """How predictions of a kind are requested and presented.

    Attributes:
        item: what a model makes, in a word: `forecast`, `translation`.
        command: the command that makes them: `forecast`, `translate`.
        summary: one line of help of the command.
        predictor: path of the kind's `Predictor`, from which the command is built.
        example: path of a function that gives, by a configuration as plain mappings, an input and
            an output of the model that MLflow serves: `{"values": nested lists, "dtype": name}`.
        settings: names of the settings that `Task.serve` takes in addition to the inputs.
        vectors: whether its tasks have `vectors(model, texts)`, a vector (N, W) of each text, of
            which they read `places_read(model)` tokens, not `unknown(text)` words.
        next_steps: model or task -> what to try after a run of it, others under ``; `{run}` is
            the run as commands take it, `{other}` another mechanism.
    """

    item: str
    command: str
    summary: str
    predictor: str
    example: str
    settings: tuple[str, ...] = ()
    vectors: bool = False
    next_steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VocabularyMap:
    """A subcommand of `attnlab plot` that draws the vocabularies that a run of a kind learned.

    Attributes:
        name: of the subcommand.
        summary: one line of help.
        help: what it draws, in full.
        fits: path of a function that says whether runs of a task, by its name, have a vocabulary;
            None: all have.
        runs: which runs `fits` means, in words.
    """

    name: str
    summary: str
    help: str
    fits: str | None = None
    runs: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of task. Parts that take long to import are paths, `package.module:attribute`.

    Attributes:
        name: for example `forecasting`; conf/model/settings has `<name>_<architecture>.yaml`.
        models: how its models are built and trained.
        scoring: how its runs are scored and compared.
        predictions: how its predictions are requested and presented.
        views: path of its `tasks.base.Views`: what it shows of its runs.
        data: what its data are.
        vocabulary_map: how `attnlab plot` requests the vocabularies of a run; None: there are none.
    """

    name: str
    models: KindModels
    scoring: Scoring
    predictions: Predictions
    views: str
    data: KindData = field(default_factory=KindData)
    vocabulary_map: VocabularyMap | None = None


def load(path: str) -> Any:
    """The object at a path `package.module:attribute` of a `Kind`."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
