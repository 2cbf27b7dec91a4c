"""Classification: texts into classes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.encoders.opening import open_source, require_known
from attnlab.errors import RequestError
from attnlab.tasks.base import Report, require_part
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.classification.data import LabelledTexts
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.part import TextPart
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.text_task import TextTask
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import PAD, UNKNOWN

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.classification.models.classifier import Classifier
    from attnlab.tasks.classification.models.pretrained import PretrainedClassifier

    Model = Classifier | PretrainedClassifier


class Classify(TextTask):
    """Sort a corpus's texts into its classes.

    Attributes:
        monitor: the validation metric that chooses the best epoch, and its direction.
        classes: names, in the order of their numbers, once the corpus is loaded or read.
        class_counts: training items of each class, in the same order.
        data: the corpus in tokens, once it is loaded.

    The settings are those of conf/task/classify.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "classify"
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    classes: Sequence[str]
    class_counts: Mapping[str, int]
    data: LabelledTexts
    length: int  # S, to which all texts are padded

    _file = "classes.json"

    def __init__(
        self,
        *,
        corpus: Corpus,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 20_000,
        min_count: int = 1,
        lowercase: bool = True,
        max_length: int = 256,
        encoder: str | None = None,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.text = {
            "tokenizer": tokenizer,
            "vocabulary": vocabulary,
            "min_count": min_count,
            "lowercase": lowercase,
            "max_length": max_length,
        }
        self.encoder = encoder

    def load(self, seed: int = 0, progress: Progress | None = None) -> LabelledTexts:
        """Find the corpus, divide it by the seed, and cut its texts into tokens.

        Raises:
            RequestError: the corpus is missing, damaged, too small, or has one class.
        """
        self.corpus.open(self.cache, progress)
        lowercase = self.ignores_case(seed)
        parts = divided(self.corpus, seed, ignore_case=lowercase)
        self.find_tokenizer((each.text for each in parts["train"]), seed)
        self.classes = class_names(parts)
        tokens = {name: self._cut([each.text for each in part]) for name, part in parts.items()}
        if self.source:
            require_known(tokens["train"], self.source)
        longest = max(map(len, chain.from_iterable(tokens.values())))
        most = self.text["max_length"]
        if self.source and self.source.most:
            most = min(most, self.source.most - 2)  # START and END stand around a text
        self.length = min(longest, most)
        decisive = [self.corpus.digest(), self.text, seed]
        if self.source:
            decisive += [self.tokenizer.vocabulary, self.length]
        self.data = LabelledTexts(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest(),
            classes=self.classes,
            parts={name: self._part(part, tokens[name]) for name, part in parts.items()},
            cut=sum(len(row) > self.length for row in chain.from_iterable(tokens.values())),
            said=self.corpus.notes,
            left_out=self.corpus.left_out,
            lowercase=lowercase,
        )
        self.class_counts = self.data.class_counts()
        return self.data

    def _part(self, texts: Sequence[Labelled], tokens: Sequence[Sequence[int]]) -> TextPart:
        numbers = {label: number for number, label in enumerate(self.classes)}
        return TextPart(
            texts=[each.text for each in texts],
            tokens=self._padded(tokens),
            labels=np.array([numbers[each.label] for each in texts], np.int32),
            groups=[each.group for each in texts],
        )

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; an unknown one where nothing is left of it."""
        return [row or [UNKNOWN] for row in self.tokenizer.encode(list(map(normalized, texts)))]

    def _padded(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """(N, S) int32, the ends of longer ones cut off."""
        padded = np.full((len(rows), self.length), PAD, np.int32)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row[: self.length]
        return padded

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Texts as a model reads them, (N, S) int32."""
        return self._padded(self._cut(texts))

    def build(self, attention: Callable[[], Attention], model: Option) -> Model:
        """The classifier, its weights drawn: (B, S) tokens to (B, C) logits.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        sizes = {"vocabulary": self.tokenizer.size, "classes": len(self.classes)}
        given = {**sizes, "length": self.length, "source": self.source}
        return self.begun(self._build(attention, model, **given))

    def check(self, attention: Callable[[], Attention], model: Option) -> None:
        """Refuse what `build` would, whatever the corpus; called before it is read."""
        source = open_source(self.encoder) if self.encoder else None
        self._build(attention, model, vocabulary=8, classes=2, length=4, source=source)

    @staticmethod
    def _build(attention: Callable[[], Attention], model: Option, **sizes: Any) -> Model:
        from attnlab.tasks.classification.models.build import build_classifier

        return build_classifier(model.name, model.settings, attention, **sizes)

    @staticmethod
    def loss(label: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Cross entropy in nats: (B,) numbers of classes and (B, C) logits to (B,)."""
        import tensorflow as tf

        return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Classify a part and score it beside the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        require_part(self.data.parts, part)
        logits = model.predict(self.data.parts[part].tokens, batch_size=256, verbose=0)
        return self.report(logits, part)

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the logits (N, C) of one part beside the baselines."""
        from attnlab.tasks.classification.report import build_report

        return build_report(self.data, part, probabilities(logits))

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """The class of each text, (N,) or a column of N, to (N,)."""
        if inputs is None:
            raise RequestError("inputs: expected a list of texts, got none.")
        texts = [str(text) for text in np.asarray(inputs).reshape(-1)]
        best = self.shares(model, texts).argmax(axis=-1)
        return np.array([self.classes[number] for number in best], dtype=object)

    def shares(self, model: keras.Model, texts: Sequence[str]) -> np.ndarray:
        """The probability of each class for each text, (N, C)."""
        return self.shares_of(model, self.tokens(texts))

    def shares_of(self, model: keras.Model, tokens: np.ndarray) -> np.ndarray:
        """The same for texts in tokens, (N, S), perhaps shorter than those trained on."""
        fixed = model.fixed_length
        if fixed is not None:
            tokens = np.pad(tokens, [(0, 0), (0, fixed - tokens.shape[1])])
        return probabilities(np.asarray(model(tokens, training=False)))

    def save(self, folder: Path) -> None:
        """Write the tokenizer, the classes, and how texts are treated."""
        self.save_text(folder, classes=dict(self.class_counts), length=self.length)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote; then texts can be classified without the corpus.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """

        def sizes(content: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
            counts = {str(name): int(n) for name, n in content["classes"].items()}
            return int(content["length"]), counts

        self.length, self.class_counts = self.read_text(folder, sizes)
        self.classes = [*self.class_counts]


def probabilities(logits: np.ndarray) -> np.ndarray:
    """softmax(logits), (N, C) float64."""
    from scipy.special import softmax

    return softmax(np.asarray(logits, np.float64), axis=-1)


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, one text, and an output, its class."""
    return (
        {"values": ["The keys to the cabinet are old."], "dtype": "object"},
        {"values": ["right"], "dtype": "object"},
    )
