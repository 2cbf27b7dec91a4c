"""The protocol between the runner and a kind of task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from attnlab.config.sections import RunConfig

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.base import Report


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
    """

    model: keras.Model
    optimizer: keras.Optimizer

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

    def served_example(self) -> tuple[np.ndarray, np.ndarray]:
        """An input of the model that MLflow serves, and what has the shape of its output."""

    def draw_epoch(self, epoch: int, folder: Path) -> list[Path]:
        """Draw what a person would like to see while it trains; most epochs draw nothing."""


def make_learner(config: RunConfig, task: Any, model: keras.Model) -> Learner:
    """The learner of a task's kind, compiled on first use.

    Its model has the weights of the one that is given, but may be one whose run is over: then what
    was compiled for that run serves this one, too. See `attnlab.training.compiled`.
    """
    if config.data is None:
        from attnlab.tasks.forecasting.learner import ForecastLearner

        return ForecastLearner(config, task, model)
    from attnlab.tasks.translation.learner import TranslationLearner

    return TranslationLearner(config, task, model)
