"""Sorting items into classes: what tasks of texts and of images share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.config.options import option_class
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.classification.corpora.corpus import Corpus
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.classification.data import LabelledItems
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import build_report
from attnlab.tasks.declaration import Kind, Progress

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

BATCH = 256  # items that a model reads at a time


class ClassificationTask(Task):
    """Sort a corpus's items into its classes; a subclass is of texts or of images.

    Attributes:
        monitor: the validation metric that chooses the best epoch, and its direction.
        corpus: the items and their classes.
        classes: names, in the order of their numbers, once the corpus is loaded or read.
        class_counts: training items of each class, in the same order.
        data: the corpus as models read it, once it is loaded.
    """

    kind: ClassVar[Kind] = KIND
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    has_images: ClassVar[bool] = False
    corpus: Corpus
    classes: Sequence[str]
    class_counts: Mapping[str, int]
    data: LabelledItems

    def __init__(self, corpus: Corpus, cache: Path) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()

    def load(self, seed: int = 0, progress: Progress | None = None) -> LabelledItems:
        """Find the corpus, divide it by the seed, and make of it what models read.

        Raises:
            RequestError: the corpus is missing, damaged, too small, or has one class; there is no
                such encoder.
        """
        self.corpus.open(self.cache, progress)
        parts = divided(self.corpus, seed, ignore_case=self.ignores_case(seed))
        self.classes = class_names(parts)
        self.data = self._data(parts, seed)
        self.class_counts = self.data.class_counts()
        return self.data

    def ignores_case(self, seed: int) -> bool:
        """Return whether items that differ only by case are equal."""
        return False

    def _data(self, parts: Mapping[str, Sequence[Any]], seed: int) -> LabelledItems:
        """The items of each part as models read them."""
        raise NotImplementedError

    def _described(self) -> dict[str, Any]:
        """What `LabelledItems` have of the corpus."""
        return {
            "name": self.corpus.name,
            "source": self.corpus.origin,
            "classes": self.classes,
            "said": self.corpus.notes,
            "left_out": self.corpus.left_out,
        }

    def _labels(self, items: Sequence[Any]) -> np.ndarray:
        """The numbers of the items' classes, (N,) int32."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        return np.array([numbers[each.label] for each in items], np.int32)

    @staticmethod
    def loss(label: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Cross entropy in nats: (B,) numbers of classes and (B, C) logits to (B,)."""
        import tensorflow as tf

        return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)

    def learning(self, model: Any, batch: int) -> dict[str, Any]:
        """Settings of the `InMemoryLearner` of a model, for batches of a size."""
        raise NotImplementedError

    def examples(self, model: Any, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Columns of attention.npz that show some inputs of a model."""
        raise NotImplementedError

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Classify a part, and score it and the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        require_part(self.data.parts, part)
        logits = model.predict(self.data.parts[part].inputs, batch_size=BATCH, verbose=0)
        return self.report(logits, part)

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the logits (N, C) of one part, and the baselines."""
        return build_report(self.data, part, probabilities(logits))

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """The class of each item, (N,).

        Raises:
            RequestError: the inputs are none, or no such items.
        """
        best = self.shares(model, self._items(inputs)).argmax(axis=-1)
        return np.array([self.classes[number] for number in best], dtype=object)

    def _items(self, inputs: Any) -> list[Any]:
        """Inputs as a user has them, as items for `shares`; raises `RequestError`."""
        raise NotImplementedError

    def read(self, items: Sequence[str]) -> list[Any]:
        """Items as a command has them, texts or names of files, as items for `shares`."""
        return [*items]

    def unknown(self, item: str) -> list[str]:
        """The words of an item that the vocabulary doesn't have, in their order."""
        return []

    def shares(self, model: keras.Model, items: Sequence[Any]) -> np.ndarray:
        """The probability of each class for each item, (N, C)."""
        raise NotImplementedError

    @staticmethod
    def saved_counts(content: Mapping[str, Any]) -> dict[str, int]:
        """The classes with their training items, from a file's content."""
        return {str(name): int(count) for name, count in content["classes"].items()}

    @classmethod
    def served(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """An input of the model that MLflow serves and its output, by a run's configuration."""
        raise NotImplementedError


def has_images(task: str) -> bool:
    """Whether a task of this kind, by its name, is one of images."""
    return _task_class(task).has_images


def has_texts(task: str) -> bool:
    """Whether a task of this kind, by its name, is one of texts."""
    return not has_images(task)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """softmax(logits), (N, C) float64."""
    from scipy.special import softmax

    return softmax(np.asarray(logits, np.float64), axis=-1)


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, and an output."""
    return _task_class(document["task"]["name"]).served(document)


def _task_class(name: str) -> type[ClassificationTask]:
    return option_class("task", name)  # type: ignore[return-value]
