"""The base class of classification tasks, for texts and for images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.config.options import option_class
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.classification import baselines
from attnlab.tasks.classification.data import (
    LabelledData,
    LabelledPart,
    class_names,
    class_note,
)
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import build_report
from attnlab.tasks.data.corpus import Corpus, digest_of
from attnlab.tasks.data.division import divide
from attnlab.tasks.kinds import Kind, Progress
from attnlab.text.cleaning import text_key
from attnlab.text.tokenizers import PAD

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

BATCH = 256  # items per batch in prediction
FILE = "classes.json"  # of `save`


class ClassificationTask(Task):
    """Classify the items of a corpus; a subclass is for texts or for images.

    Attributes:
        classes: names of the classes, in the order of their numbers; set by `load` or `load_from`.
    """

    kind: ClassVar[Kind] = KIND
    monitor = ("val_loss", "min")
    has_images = False
    corpus: Corpus
    classes: Sequence[str] = ("", "")
    data: LabelledData

    def __init__(self, corpus: Corpus, cache: Path) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()

    def load(self, seed: int = 0, progress: Progress | None = None) -> LabelledData:
        """Find the corpus, divide it by the seed, and convert it to what models read."""
        corpus: Any = self.corpus
        corpus.open(self.cache, progress)
        lowercase = self.ignores_case(seed)

        def key(item: Any) -> str:
            return text_key(item.text, ignore_case=lowercase)

        parts = divide(corpus, seed, corpus.key if self.has_images else key)
        self.classes = class_names(corpus, parts)
        inputs, notes, settings = self.convert(parts)
        numbers = {name: number for number, name in enumerate(self.classes)}
        labels = {
            part: np.array([numbers[item.label] for item in items], np.int32)
            for part, items in parts.items()
        }
        counts = {
            part: {name: int(np.sum(rows == number)) for name, number in numbers.items()}
            for part, rows in labels.items()
        }
        most = baselines.MOST_IMAGES if self.has_images else baselines.MOST_TEXTS
        if (count := len(parts["train"])) > most:
            notes = [*notes, f"The fitted baseline got {most:,} of the {count:,} training items."]
        self.data = LabelledData(
            name=corpus.name,
            source=corpus.origin,
            digest=digest_of([corpus.digest(), *settings, seed]),
            longest=int(np.prod(inputs["train"].shape[1:3])),
            noun=corpus.noun,
            classes=self.classes,
            parts={
                part: LabelledPart(
                    names=[item[0] for item in items],
                    inputs=inputs[part],
                    labels=labels[part],
                    groups=[getattr(item, "group", "") for item in items],
                )
                for part, items in parts.items()
            },
            notes=[class_note(corpus.noun, counts), *corpus.notes, *notes],
            details=counts,
            lowercase=lowercase,
        )
        return self.data

    def ignores_case(self, seed: int) -> bool:
        """Whether items that differ only by case count as equal."""
        return False

    @abstractmethod
    def convert(
        self, parts: Mapping[str, Sequence[Any]]
    ) -> tuple[dict[str, np.ndarray], list[str], list[Any]]:
        """Return the input of models by part, notes, and the settings that determine it."""

    @staticmethod
    def loss(label: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Cross entropy in nats: (B,) class numbers and (B, C) logits to (B,)."""
        import tensorflow as tf

        return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)

    @abstractmethod
    def learning(self, model: Any, batch: int) -> dict[str, Any]:
        """Return arguments of the `InMemoryLearner` for a model and a batch size."""

    @abstractmethod
    def readable(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return what a reader sees of a model's inputs, for figures of attention."""

    def evaluate(  # noqa: D102
        self, model: keras.Model, part: str = "test", **settings: Any
    ) -> Report:
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

    def serve(self, model: keras.Model, inputs: Any, **settings: Any) -> np.ndarray:
        """Return the class of each item, (N,)."""
        best = self.shares(model, self.items(inputs)).argmax(axis=-1)
        return np.array([self.classes[number] for number in best], dtype=object)

    @abstractmethod
    def items(self, inputs: Any) -> list[Any]:
        """Convert the inputs of `serve` to items for `shares`."""

    @abstractmethod
    def shares(self, model: keras.Model, items: Sequence[Any]) -> np.ndarray:
        """Return the probability of each class for each item, (N, C)."""


def has_images(task: str) -> bool:
    """Whether a task of this kind, given by name, classifies images."""
    return option_class("task", task).has_images  # type: ignore[attr-defined, no-any-return]


def has_texts(task: str) -> bool:
    """Whether a task of this kind, given by name, classifies texts."""
    return not has_images(task)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return softmax(logits), (N, C) float64."""
    from scipy.special import softmax

    return softmax(np.asarray(logits, np.float64), axis=-1)
