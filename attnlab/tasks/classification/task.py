"""The task `classify`: classify texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.encoders.opening import open_source, require_known
from attnlab.errors import RequestError
from attnlab.tasks.classification.base import ClassificationTask, probabilities
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.data import LabelledTexts
from attnlab.tasks.classification.part import TextPart
from attnlab.tasks.models import build_model
from attnlab.tasks.text_corpus import digest_of
from attnlab.tasks.text_task import TextTask
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import PAD, UNKNOWN

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.encoders.source import Source
    from attnlab.tasks.classification.models.classifier import Classifier
    from attnlab.tasks.classification.models.pretrained import PretrainedClassifier

    Model = Classifier | PretrainedClassifier


class Classify(TextTask, ClassificationTask):
    """Classify the texts of a corpus.

    The settings are those of conf/task/classify.yaml; `cache` is the folder of downloads.
    """

    name: ClassVar[str] = "classify"
    data: LabelledTexts
    length: int  # S, the length to which all texts are padded

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
        super().__init__(corpus, cache)
        self.text = {
            "tokenizer": tokenizer,
            "vocabulary": vocabulary,
            "min_count": min_count,
            "lowercase": lowercase,
            "max_length": max_length,
        }
        self.encoder = encoder

    def _data(self, parts: Mapping[str, Sequence[Labelled]], seed: int) -> LabelledTexts:
        self.find_tokenizer((each.text for each in parts["train"]), seed)
        tokens = {name: self._cut([each.text for each in part]) for name, part in parts.items()}
        if self.source:
            require_known(tokens["train"], self.source)
        longest = max(map(len, chain.from_iterable(tokens.values())))
        most = self.text["max_length"]
        if self.source and self.source.most:
            most = min(most, self.source.most - 2)  # the encoder adds START and END
        self.length = min(longest, most)
        decisive = [self.corpus.digest(), self.text, seed]
        if self.source:
            decisive += [self.tokenizer.vocabulary, self.length]
        return LabelledTexts(
            **self._described(),
            digest=digest_of(decisive),
            parts={name: self._part(part, tokens[name]) for name, part in parts.items()},
            cut=sum(len(row) > self.length for row in chain.from_iterable(tokens.values())),
            lowercase=self.ignores_case(seed),
        )

    def _part(self, texts: Sequence[Labelled], tokens: Sequence[Sequence[int]]) -> TextPart:
        return TextPart(
            texts=[each.text for each in texts],
            tokens=self._padded(tokens),
            labels=self._labels(texts),
            groups=[each.group for each in texts],
        )

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts; a text without tokens becomes one unknown token."""
        return [row or [UNKNOWN] for row in self.tokenizer.encode(list(map(normalized, texts)))]

    def _padded(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """Pad rows to (N, S) int32; longer rows are cut at the end."""
        padded = np.full((len(rows), self.length), PAD, np.int32)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row[: self.length]
        return padded

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Convert texts to the input of a model, (N, S) int32."""
        return self._padded(self._cut(texts))

    def build(self, attention: Callable[..., Attention], model: Option) -> Model:
        """Return a classifier with drawn or pretrained weights: (B, S) tokens to (B, C) logits.

        Raises:
            RequestError: the task has no such model, or its settings contradict each other.
        """
        sizes = {"vocabulary": self.tokenizer.size, "classes": len(self.classes)}
        return self.begun(self._build(attention, model, self.length, self.source, **sizes))

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Refuse settings that `build` refuses with any corpus, before the corpus is read."""
        source = open_source(self.encoder) if self.encoder else None
        self._build(attention, model, 4, source, vocabulary=8, classes=2)

    def _build(
        self,
        attention: Callable[..., Attention],
        model: Option,
        length: int,
        source: Source | None,
        **sizes: int,
    ) -> Model:
        classes, shape = self.kind.models.classes, (None, length)
        settings = model.settings
        return build_model(classes, model.name, settings, attention, shape, source=source, **sizes)

    def learning(self, model: Model, batch: int) -> dict[str, Any]:
        """Return arguments of the learner, which skips the padding of texts in graph mode."""
        from attnlab.tasks.in_memory import text_settings

        return text_settings(model, {name: part.tokens for name, part in self.data.parts.items()})

    def examples(self, model: Model, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return `tokens` (N, S): readable words, padded with ""."""
        return {"tokens": self.words(inputs)}

    def _items(self, inputs: Any) -> list[str]:
        """Convert texts, (N,) or (N, 1), to a list."""
        if inputs is None:
            raise RequestError("inputs: expected a list of texts, got none.")
        return [str(text) for text in np.asarray(inputs).reshape(-1)]

    def shares(self, model: keras.Model, items: Sequence[str]) -> np.ndarray:
        """Return the probability of each class for each text, (N, C)."""
        return self.shares_of(model, self.tokens(items))

    def shares_of(self, model: keras.Model, tokens: np.ndarray) -> np.ndarray:
        """Return the same for tokens (N, S), which may have fewer columns than in training."""
        fixed = model.fixed_length
        if fixed is not None:
            tokens = np.pad(tokens, [(0, 0), (0, fixed - tokens.shape[1])])
        return probabilities(np.asarray(model(tokens, training=False)))

    def save(self, folder: Path) -> None:
        """Write the tokenizer, the classes and the text settings."""
        self.save_text(folder, classes=dict(self.class_counts), length=self.length)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, which is all that classifying texts needs: no corpus.

        Raises:
            RequestError: a file is missing or damaged, or was written with other settings.
        """

        def sizes(content: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
            return int(content["length"]), self.saved_counts(content)

        self.length, self.class_counts = self.read_text(folder, sizes)
        self.classes = [*self.class_counts]

    @classmethod
    def served(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return one text, and its class."""
        return (
            {"values": ["The keys to the cabinet are old."], "dtype": "object"},
            {"values": ["right"], "dtype": "object"},
        )
