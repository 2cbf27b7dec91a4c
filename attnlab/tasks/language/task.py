"""Language models: learn to predict the next token of a text, or the answers of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.data.corpus import digest_of
from attnlab.tasks.data.tokens import Tokens
from attnlab.tasks.kinds import Kind, Progress
from attnlab.tasks.language.corpora import Text
from attnlab.tasks.language.data import PADDING, LanguageData, Rows, ScoredRows, Stream
from attnlab.tasks.language.generated import GeneratedRows
from attnlab.tasks.language.kind import KIND
from attnlab.tasks.language.text.reading import encode_stream, fit_stream, tokenize
from attnlab.tasks.language.text.vocabulary import Symbols, TextVocabulary, Vocabulary
from attnlab.text.tokenizers import UNKNOWN, Tokenizer

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.language.models.model import LanguageModel

_FILE, _TOKENIZER = "language.json", "tokenizer.json"


class CorpusTask(Task):
    """A task on the tokens of a corpus: next ones, or masked ones."""

    corpus: Text | GeneratedRows
    data: LanguageData

    def set_data(self, settings: Any, parts: Mapping[str, Any], longest: int) -> LanguageData:
        """Set the data of the opened corpus; `settings` are those of tokenization."""
        self.data = LanguageData(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of([self.corpus.digest(), settings]),
            parts=parts,
            longest=longest,
            notes=self.corpus.notes,
        )
        return self.data

    def scored_rows(self, part: str) -> ScoredRows:
        """Return the windows or rows of a part, with the places that are scored."""
        parts = {n: data for n, data in self.data.parts.items() if not isinstance(data, Tokens)}
        require_part(parts, part)
        return parts[part].scored()

    def evaluate(  # noqa: D102
        self, model: keras.Model, part: str = "test", **settings: Any
    ) -> Report:
        from attnlab.tasks.language.models.model import Scorer
        from attnlab.tasks.language.report import build_report

        return build_report(self, part, Scorer(model)(self.scored_rows(part)))

    @abstractmethod
    def served_text(self, model: Any, text: str) -> str:
        """Return the prediction of `serve` for a text."""

    def serve(self, model: keras.Model, inputs: Any = None, **settings: Any) -> np.ndarray:
        """Return N texts, (N,) or a column, each with the most probable words, (N,)."""
        if inputs is None:
            raise RequestError("inputs: expected a list of texts, got none.")
        texts = [self.served_text(model, str(text)) for text in np.asarray(inputs).reshape(-1)]
        return np.array(texts, dtype=object)


class LanguageTask(CorpusTask):
    """Learn a decoder-only model of a text, or of a task of rows.

    The settings are those of conf/task/language.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "language"
    served = ("The keys to the cabine", "The keys to the cabinet")
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    vocabulary: Vocabulary

    def __init__(
        self,
        *,
        corpus: Text | GeneratedRows,
        cache: Path,
        tokenizer: str = "char",
        vocabulary: int = 4000,
        min_count: int = 1,
        context: int = 64,
        windows: int | None = None,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.context, self.windows = context, windows
        self._text = {"kind": tokenizer, "size": vocabulary, "min_count": min_count}
        if isinstance(corpus, GeneratedRows):
            self.vocabulary = Symbols(corpus.token_names)

    def load(self, seed: int = 0, progress: Progress | None = None) -> LanguageData:
        """Find the corpus, fit a tokenizer on its train part, and convert all parts to tokens."""
        self.corpus.open(self.cache, progress)
        if isinstance(self.corpus, GeneratedRows):
            parts: Mapping[str, Any] = self.corpus.parts
            self.context = max(part.tokens.shape[1] for part in parts.values())
        else:
            parts = self._streams(self.corpus, progress)
        return self.set_data(self._text, parts, self.context)

    def _streams(self, corpus: Text, progress: Progress | None) -> dict[str, Stream]:
        def fit() -> Tokenizer:
            return fit_stream(corpus, *self._text.values())

        tokenizer, parts = tokenize(corpus, self._text, fit, encode_stream, self.cache, progress)
        has_unknown = any(part.counts(tokenizer.size)[UNKNOWN] for part in parts.values())
        self.vocabulary = vocabulary = TextVocabulary(tokenizer, has_unknown)
        for name, part in parts.items():
            least = self.context + 1 if name == "train" else 2
            if len(part.tokens) < least:
                reason = ", one more than task.context" if name == "train" else ""
                raise RequestError(
                    f"data={corpus.name}: expected at least {least:,} tokens in {name}{reason}, "
                    f"got {len(part.tokens):,}."
                )
        return {
            name: Stream(part.tokens, vocabulary, len(corpus.parts[name]), self.context)
            for name, part in parts.items()
        }

    @property
    def windows_per_epoch(self) -> int:
        """Return the number of windows of an epoch: the setting, or tokens / context."""
        return self.windows or max(self.data.counts()["train"] // self.context, 1)

    def build(self, attention: Callable[..., Attention], model: Option) -> LanguageModel:
        """Build the model with random weights: tokens (B, T) to logits (B, T, V)."""
        train = self.data.parts["train"] if hasattr(self, "data") else None
        answers = train.scored().targets.shape[1] if isinstance(train, Rows) else 0
        return self._build(attention, model, self.vocabulary.size, self.context, answers)

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build` without a corpus."""
        self._build(attention, model, 8, 4, 0)

    def _build(
        self, attention: Any, model: Option, vocabulary: int, context: int, asked: int
    ) -> LanguageModel:
        sizes = {"vocabulary": vocabulary, "context": context, "asked": asked}
        return KIND.models.build(model, attention, (None, context), **sizes)

    @staticmethod
    def loss(target: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Return the cross entropy in nats: the mean over the scored places of each item, (B,).

        Args:
            target: (B, K), `PADDING` where nothing is scored.
            logits: (B, K, V).
        """
        import tensorflow as tf

        is_scored = tf.cast(target != PADDING, tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(target, 0), logits)
        return tf.reduce_sum(losses * is_scored, axis=1) / tf.reduce_sum(is_scored, axis=1)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        scored = self.scored_rows(part).at(slice(count))
        last = np.where(scored.has_target, scored.places, -1).max(axis=1, keepdims=True)
        is_read = np.arange(scored.tokens.shape[1]) <= last
        return scored.tokens, np.where(is_read, scored.tokens, PADDING)

    def served_text(self, model: Any, text: str) -> str:  # noqa: D102
        tokens = self.vocabulary.encode(text)
        logits = np.asarray(model(np.array([tokens[-self.context :]], np.int32)))[0, -1]
        return self.vocabulary.decode([*tokens, int(logits.argmax())])

    def save(self, folder: Path) -> None:
        """Write the tokenizer of a text, and the sizes on which the model depends."""
        sizes: dict[str, Any] = {"text": self._text, "context": self.context}
        if isinstance(self.vocabulary, TextVocabulary):
            self.vocabulary.tokenizer.save(folder / _TOKENIZER)
            sizes["has_unknown"] = self.vocabulary.has_unknown
        write_json(folder / _FILE, sizes)

    def load_from(self, folder: Path) -> None:  # noqa: D102
        is_text = isinstance(self.corpus, Text)

        def read(content: Mapping[str, Any]) -> tuple[Any, tuple]:
            has_unknown = is_text and bool(content["has_unknown"])
            return content["text"], (int(content["context"]), has_unknown)

        self.context, has_unknown = read_assets(folder / _FILE, read, expected=self._text)
        if is_text:
            self.vocabulary = TextVocabulary(Tokenizer.load(folder / _TOKENIZER), has_unknown)
