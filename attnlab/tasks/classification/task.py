"""The task `classify`: classify texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.encoders.opening import require_known
from attnlab.errors import RequestError
from attnlab.tasks.classification.base import FILE, ClassificationTask, probabilities
from attnlab.tasks.classification.corpora import LabelledText, TextCorpus
from attnlab.tasks.text_task import TextTask, text_settings
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import UNKNOWN, pad_rows

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.classification.models import Classifier, PretrainedClassifier

    Model = Classifier | PretrainedClassifier


class Classify(TextTask, ClassificationTask):
    """Classify the texts of a corpus.

    The settings are those of conf/task/classify.yaml; `cache` is the folder of downloads.
    """

    name = "classify"
    served = ("The keys to the cabinet are old.", "right")
    length: int = 4  # S, the length to which all texts are padded; `load` sets it

    _file = FILE

    def __init__(
        self,
        *,
        corpus: TextCorpus,
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

    def convert(
        self, parts: Mapping[str, Sequence[LabelledText]]
    ) -> tuple[dict[str, np.ndarray], list[str], list[Any]]:
        """Return the tokens (N, S) of each part; see `ClassificationTask.convert`."""
        self.find_tokenizer(item.text for item in parts["train"])
        tokens = {name: self._encode([item.text for item in part]) for name, part in parts.items()}
        settings: list[Any] = [self.text]
        lengths = [len(row) for row in chain.from_iterable(tokens.values())]
        self.length = min(max(lengths), self.text["max_length"])
        if self.source:
            require_known(tokens["train"], self.source)
            self.length = min(self.length, self.source.max_length - 2)  # it adds START and END
            settings += [self.tokenizer.vocabulary, self.length]
        notes = []
        if cut := sum(length > self.length for length in lengths):
            notes.append(
                f"The end of {cut:,} of the {len(lengths):,} texts was cut off for the model; the "
                "baselines saw whole texts."
            )
        return {name: self._pad(rows) for name, rows in tokens.items()}, notes, settings

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts; a text without tokens becomes one unknown token."""
        return [row or [UNKNOWN] for row in self.tokenizer.encode(list(map(normalize, texts)))]

    def _pad(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """Pad rows to (N, S) int32; longer rows are cut at the end."""
        return pad_rows([row[: self.length] for row in rows], width=self.length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Convert texts to the input of a model, (N, S) int32."""
        return self._pad(self._encode(texts))

    def build(self, attention: Callable[..., Attention], model: Option) -> Model:
        """Return a classifier with drawn or pretrained weights: (B, S) tokens to (B, C) logits."""
        sizes = {"classes": len(self.classes)}
        return self.make_model(attention, model, (None, self.length), **sizes)

    def learning(self, model: Model, batch: int) -> dict[str, Any]:
        """Return arguments of the learner, which skips the padding of texts in graph mode."""
        return text_settings(model, {name: part.inputs for name, part in self.data.parts.items()})

    def readable(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the words of `tokens` (N, S), padded with ""."""
        return {"tokens": self.words(inputs)}

    def items(self, inputs: Any) -> list[str]:
        """Convert texts, (N,) or (N, 1), to a list."""
        if inputs is None:
            raise RequestError("inputs: expected a list of texts, got none.")
        return [str(text) for text in np.asarray(inputs).reshape(-1)]

    def read(self, items: Sequence[str]) -> list[str]:
        """Return texts as items for `shares`."""
        return [*items]

    def shares(self, model: keras.Model, items: Sequence[str]) -> np.ndarray:
        """Return the probability of each class for each text, (N, C)."""
        return self.shares_of(model, self.tokens(items))

    def shares_of(self, model: keras.Model, tokens: np.ndarray) -> np.ndarray:
        """Return the same for tokens (N, S), which may have fewer columns than in training."""
        fixed = model.fixed_length
        if fixed is not None:
            tokens = np.pad(tokens, [(0, 0), (0, fixed - tokens.shape[1])])
        return probabilities(np.asarray(model(tokens, training=False)))

    def save(self, folder: Path) -> None:  # noqa: D102
        self.save_text(folder, classes=list(self.classes), length=self.length)

    def load_from(self, folder: Path) -> None:  # noqa: D102
        self.length, self.classes = self.read_text(
            folder, lambda content: (int(content["length"]), [*map(str, content["classes"])])
        )
