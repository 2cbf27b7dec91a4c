"""The base class of classification tasks, for texts and for images."""

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
from attnlab.text.tokenizers import PAD

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

BATCH = 256  # items per batch in prediction


class ClassificationTask(Task):
    """Classify the items of a corpus; a subclass is for texts or for images.

    Attributes:
        monitor: the validation metric that chooses the best epoch, and its direction.
        corpus: the items and their classes.
        classes: names of the classes, in the order of their numbers; set by `load` or `load_from`.
        class_counts: the number of training items of each class, in the same order.
        data: the corpus as models read it; set by `load`.
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
        """Find the corpus, divide it by the seed, and convert it to what models read.

        Raises:
            RequestError: the corpus is missing, damaged, too small, or has only one class; or the
                encoder is missing.
        """
        self.corpus.open(self.cache, progress)
        parts = divided(self.corpus, seed, ignore_case=self.ignores_case(seed))
        self.classes = class_names(parts)
        self.data = self._data(parts, seed)
        self.class_counts = self.data.class_counts()
        return self.data

    def ignores_case(self, seed: int) -> bool:
        """Whether items that differ only by case count as equal."""
        return False

    def _data(self, parts: Mapping[str, Sequence[Any]], seed: int) -> LabelledItems:
        """Convert the items of each part to what models read."""
        raise NotImplementedError

    def _described(self) -> dict[str, Any]:
        """Return the fields of `LabelledItems` that describe the corpus."""
        return {
            "name": self.corpus.name,
            "source": self.corpus.origin,
            "classes": self.classes,
            "said": self.corpus.notes,
            "left_out": self.corpus.left_out,
        }

    def _labels(self, items: Sequence[Any]) -> np.ndarray:
        """Return the class numbers of items, (N,) int32."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        return np.array([numbers[each.label] for each in items], np.int32)

    @staticmethod
    def loss(label: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Cross entropy in nats: (B,) class numbers and (B, C) logits to (B,)."""
        import tensorflow as tf

        return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)

    def learning(self, model: Any, batch: int) -> dict[str, Any]:
        """Return arguments of the `InMemoryLearner` for a model and a batch size."""
        raise NotImplementedError

    def examples(self, model: Any, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays of attention.npz that describe some inputs of a model."""
        raise NotImplementedError

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Classify a part, and score the predictions and the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        require_part(self.data.parts, part)
        logits = model.predict(self.data.parts[part].inputs, batch_size=BATCH, verbose=0)
        return self.report(logits, part)

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the logits (N, C) of a part, and the baselines."""
        return build_report(self.data, part, probabilities(logits))

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        inputs = self.data.parts[part].inputs[:count]
        return inputs, np.where(inputs != PAD, inputs, -1) if inputs.ndim == 2 else None

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """Return the class of each item, (N,).

        Raises:
            RequestError: there are no inputs, or an input has the wrong form.
        """
        best = self.shares(model, self._items(inputs)).argmax(axis=-1)
        return np.array([self.classes[number] for number in best], dtype=object)

    def _items(self, inputs: Any) -> list[Any]:
        """Convert the inputs of `serve` to items for `shares`; raise `RequestError` if wrong."""
        raise NotImplementedError

    def read(self, items: Sequence[str]) -> list[Any]:
        """Convert texts or names of image files to items for `shares`."""
        return [*items]

    def unknown(self, item: str) -> list[str]:
        """Return the words of an item that the vocabulary doesn't have, in their order."""
        return []

    def shares(self, model: keras.Model, items: Sequence[Any]) -> np.ndarray:
        """Return the probability of each class for each item, (N, C)."""
        raise NotImplementedError

    @staticmethod
    def saved_counts(content: Mapping[str, Any]) -> dict[str, int]:
        """Return the classes and their numbers of training items from a file's content."""
        return {str(name): int(count) for name, count in content["classes"].items()}

    @classmethod
    def served(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return an input and an output of the model that MLflow serves, for a configuration."""
        raise NotImplementedError


def has_images(task: str) -> bool:
    """Whether a task of this kind, given by name, classifies images."""
    return _task_class(task).has_images


def has_texts(task: str) -> bool:
    """Whether a task of this kind, given by name, classifies texts."""
    return not has_images(task)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return softmax(logits), (N, C) float64."""
    from scipy.special import softmax

    return softmax(np.asarray(logits, np.float64), axis=-1)


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an input and an output of the model that MLflow serves."""
    return _task_class(document["task"]["name"]).served(document)


def _task_class(name: str) -> type[ClassificationTask]:
    return option_class("task", name)  # type: ignore[return-value]
