"""Language models: learn to predict the next token of a text, or the answers of rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.data.corpus import digest_of
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.language.corpora import Text
from attnlab.tasks.language.data import PADDING, LanguageData, Rows, ScoredRows, Stream
from attnlab.tasks.language.generated import GeneratedRows
from attnlab.tasks.language.kind import KIND
from attnlab.tasks.language.text.reading import encode_stream, fit_stream, tokenize
from attnlab.tasks.language.text.vocabulary import Symbols, TextVocabulary, Vocabulary
from attnlab.tasks.models import build_model
from attnlab.text.tokenizers import Tokenizer

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.language.models.model import LanguageModel

_FILE, _TOKENIZER = "language.json", "tokenizer.json"
_BLOCK = 1 << 20  # tokens that are compared to find a text of a single one


class LanguageTask(Task):
    """Learn a decoder-only model of a text, or of a task of rows.

    Attributes:
        monitor: the validation metric that selects the best epoch, and its direction.
        data: the tokens, set by `load`.
        context: tokens of a window or of the longest row, T.
        vocabulary: the tokens' texts.

    The settings are those of conf/task/language.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "language"
    served = ("The keys to the cabine", "The keys to the cabinet")
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    data: LanguageData
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

    def load(self, seed: int = 0, progress: Progress | None = None) -> LanguageData:
        """Find the corpus, fit a tokenizer on its train part, and convert all parts to tokens."""
        self.corpus.open(self.cache, progress)
        if isinstance(self.corpus, GeneratedRows):
            parts: Mapping[str, Any] = self.corpus.parts
            self.vocabulary = Symbols(self.corpus.token_names)
            self.context = max(part.tokens.shape[1] for part in parts.values())
        else:
            parts = self._streams(self.corpus, progress)
        self.data = LanguageData(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of([self.corpus.digest(), self._text]),
            parts=parts,
            longest=self.context,
            notes=self.corpus.notes,
        )
        return self.data

    def _streams(self, corpus: Text, progress: Progress | None) -> dict[str, Stream]:
        tokenizer, parts, unknown = tokenize(
            corpus,
            self._text,
            lambda: fit_stream(corpus, *self._text.values()),
            encode_stream,
            self.cache,
            progress,
        )
        self.vocabulary = vocabulary = TextVocabulary(tokenizer, any(unknown.values()))
        for name, part in parts.items():
            least = self.context + 1 if name == "train" else 2
            if len(part.tokens) < least:
                reason = ", one more than task.context" if name == "train" else ""
                raise RequestError(
                    f"data={corpus.name}: expected at least {least:,} tokens in {name}{reason}, "
                    f"got {len(part.tokens):,}."
                )
        train = parts["train"].tokens
        if (train[:_BLOCK] == train[0]).all():
            raise RequestError(
                f"data={corpus.name}: expected different tokens in train, got a single one."
            )
        texts = corpus.parts
        return {n: Stream(part.tokens, vocabulary, len(texts[n])) for n, part in parts.items()}

    @property
    def windows_per_epoch(self) -> int:
        """Return the number of windows of an epoch: the setting, or tokens / context."""
        return self.windows or max(self.data.counts()["train"] // self.context, 1)

    def scored_rows(self, part: str, stride: int | None = None) -> ScoredRows:
        """Return the windows or rows of a part, with the places that are scored."""
        data = self.data.parts[part]
        if isinstance(data, Stream):
            if stride is not None and stride > self.context:
                raise RequestError(
                    f"--stride: expected at most {self.context:,}, the tokens of a window, got "
                    f"{stride:,}."
                )
            return data.windows(self.context, stride)
        if stride is not None:
            raise RequestError(f"--stride: data={self.data.name} has rows, not windows of a text.")
        assert isinstance(data, Rows)
        return data.scored()

    def build(self, attention: Callable[..., Attention], model: Option) -> LanguageModel:
        """Build the model with random weights: tokens (B, T) to logits (B, T, V)."""
        train = self.data.parts["train"] if hasattr(self, "data") else None
        answers = train.scored().targets.shape[1] if isinstance(train, Rows) else 0
        sizes = {"vocabulary": self.vocabulary.size, "context": self.context}
        return self._build(attention, model, **sizes, asked=answers)

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build` without a corpus, and those of settings without effect."""
        if isinstance(self.corpus, GeneratedRows):
            values = dict(
                zip(("tokenizer", "vocabulary", "min_count"), self._text.values(), strict=True)
            )
            values |= {"context": self.context, "windows": self.windows}
            defaults = inspect.signature(LanguageTask).parameters
            for name, value in values.items():
                if value != defaults[name].default:
                    raise RequestError(
                        f"task.{name}={value}: it has no effect with data={self.corpus.name}, "
                        "whose rows are made of symbols."
                    )
        self._build(attention, model, vocabulary=8, context=4)

    def _build(
        self, attention: Callable[..., Attention], model: Option, **sizes: int
    ) -> LanguageModel:
        shape = (None, sizes["context"])
        classes = KIND.models.classes
        return build_model(classes, model.name, model.settings, attention, shape, **sizes)

    @staticmethod
    def loss(target: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Return the cross entropy in nats: the mean over the scored places of each item, (B,).

        Args:
            target: (B, T) or (B, K), `PADDING` where nothing is scored.
            logits: (B, T, V) or (B, K, V).
        """
        import tensorflow as tf

        is_scored = tf.cast(target != PADDING, tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(target, 0), logits)
        return tf.reduce_sum(losses * is_scored, axis=1) / tf.reduce_sum(is_scored, axis=1)

    def evaluate(self, model: keras.Model, part: str = "test", stride: int | None = None) -> Report:
        """Score a part and the baselines; `stride` is that of the windows."""
        require_part([*self.data.parts], part)
        from attnlab.tasks.language.models.model import Scorer
        from attnlab.tasks.language.report import build_report

        return build_report(self, part, Scorer(model)(self.scored_rows(part, stride)), stride)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part([*self.data.parts], part)
        scored = self.scored_rows(part).at(slice(count))
        last = np.where(scored.has_target, scored.places, -1).max(axis=1, keepdims=True)
        is_read = np.arange(scored.tokens.shape[1]) <= last
        return scored.tokens, np.where(is_read, scored.tokens, PADDING)

    def serve(self, model: keras.Model, inputs: Any = None, **settings: Any) -> np.ndarray:
        """Return N prompts, (N,) or a column, each with the most probable next token, (N,)."""
        if inputs is None:
            raise RequestError("inputs: expected a list of prompts, got none.")
        texts = []
        for prompt in np.asarray(inputs).reshape(-1):
            tokens = self.vocabulary.encode(str(prompt))
            logits = np.asarray(model(np.array([tokens[-self.context :]], np.int32)))[0, -1]
            texts.append(self.vocabulary.decode([*tokens, int(logits.argmax())]))
        return np.array(texts, dtype=object)

    def save(self, folder: Path) -> None:
        """Write the vocabulary, and the sizes on which the model depends."""
        sizes: dict[str, Any] = {"text": self._text, "context": self.context}
        if isinstance(self.vocabulary, Symbols):
            sizes["symbols"] = self.vocabulary.names
        else:
            self.vocabulary.tokenizer.save(folder / _TOKENIZER)
            sizes["has_unknown"] = self.vocabulary.has_unknown
        write_json(folder / _FILE, sizes)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that texts can be continued without the corpus."""

        def read(content: Mapping[str, Any]) -> tuple[Any, tuple]:
            names = [str(name) for name in content.get("symbols") or ()]
            has_unknown = not names and bool(content["has_unknown"])
            return content["text"], (int(content["context"]), names, has_unknown)

        self.context, names, has_unknown = read_assets(folder / _FILE, read, expected=self._text)
        if names:
            self.vocabulary = Symbols(names)
        else:
            self.vocabulary = TextVocabulary(Tokenizer.load(folder / _TOKENIZER), has_unknown)
