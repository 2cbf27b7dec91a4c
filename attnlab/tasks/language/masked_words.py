"""Masked words: an encoder of texts that learns to fill in missing words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Report, require_part
from attnlab.tasks.data.corpus import digest_of
from attnlab.tasks.data.tokens import Tokens
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.language.baselines import word_baselines
from attnlab.tasks.language.corpora import Text
from attnlab.tasks.language.data import PADDING, LanguageData, Rows, ScoredRows
from attnlab.tasks.language.kind import MASKED_WORDS
from attnlab.tasks.language.text.masking import (
    MASK,
    Guess,
    best_words,
    check_text,
    choose,
    filled_in,
    labels,
    tokens_of,
)
from attnlab.tasks.language.text.reading import (
    documents_of,
    encode_documents,
    fitted_blocks,
    tokenize,
)
from attnlab.tasks.text_task import TextTask
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer, pad_rows

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.language.models.masked import Guesses, MaskedWordModel

_MOST_COUNTED = 100_000  # rows of train on which baselines are counted, at equal distances


class MaskedWords(TextTask):
    """Learn an encoder of texts by filling in masked words of a corpus.

    A row is a document, or a piece of a longer one. Each training step masks other words; those of
    validation and test are chosen once, the same ones for every seed.

    Attributes:
        monitor: the validation metric that selects the best epoch, and its direction.
        data: the tokenized corpus, set by `load`.
        width: tokens of a row, S.

    The settings are those of conf/task/masked_words.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = MASKED_WORDS
    name = "masked_words"
    served = ("The keys to the cabinet [MASK] old.", "The keys to the cabinet are old.")
    monitor = ("val_loss", "min")
    data: LanguageData
    width: int

    _file = "masked_words.json"

    def __init__(
        self,
        *,
        corpus: Text,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 20_000,
        min_count: int = 1,
        lowercase: bool = True,
        max_length: int = 128,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.text = {"tokenizer": tokenizer, "vocabulary": vocabulary, "min_count": min_count}
        self.text |= {"lowercase": lowercase, "max_length": max_length}

    @property
    def mask(self) -> int:
        """Return the token of the mask, which follows the last word of the vocabulary."""
        return self.tokenizer.size

    def load(self, seed: int = 0, progress: Progress | None = None) -> LanguageData:
        """Find the corpus, tokenize its texts, and choose words to predict."""
        self.corpus.open(self.cache, progress)
        by_line = self.corpus.has_documents_by_line
        kind, most = self.text["tokenizer"], self.text["max_length"]

        def fit() -> Tokenizer:
            blocks = fitted_blocks(self.corpus, kind)
            texts = (text for block in blocks for text in documents_of(block, by_line))
            settings = {name: self.text[name] for name in ("min_count", "lowercase")}
            return Tokenizer.fit(texts, kind=kind, size=self.text["vocabulary"], **settings)

        def encode(tokenizer: Tokenizer, block: Any) -> Any:
            return encode_documents(tokenizer, [*documents_of(block, by_line)], most)

        self.tokenizer, rows, unknown = tokenize(
            self.corpus, self.text, fit, encode, self.cache, progress
        )
        for name, part in rows.items():
            if not len(part):
                raise RequestError(f"data={self.corpus.name}: expected words in {name}, got none.")
        self.width = max(int(part.lengths.max()) for part in rows.values())
        parts: dict[str, Tokens | Rows] = {"train": rows["train"]}
        for name in ("validation", "test"):
            # The same words for every seed of a run, so that runs can be compared word by word.
            tokens = rows[name].padded(np.arange(len(rows[name])), self.width)
            parts[name] = chosen = choose(tokens, self.mask, seed=0)
            if (chosen.targets == PADDING).all():
                raise RequestError(
                    f"data={self.corpus.name}: expected words of the vocabulary in {name}, got "
                    "none."
                )
        if missing := sum(unknown.values()):
            total = sum(len(part.tokens) for part in rows.values())
            self.corpus.note(
                f"{missing:,} of {total:,} tokens are not in the vocabulary and are never "
                "predicted."
            )
        self.data = LanguageData(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of([self.corpus.digest(), self.text]),
            parts=parts,
            longest=self.width,
            notes=self.corpus.notes,
        )
        return self.data

    def scored_rows(self, part: str) -> ScoredRows:
        """Return the rows of validation or test, with the words to predict."""
        rows = self.data.parts[part]
        assert isinstance(rows, Rows)
        return rows.scored()

    def baselines(self, part: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the words that baselines predict, and their losses; see `word_baselines`."""
        train = self.data.parts["train"]
        assert isinstance(train, Tokens)
        count = min(len(train), _MOST_COUNTED)
        rows = train.padded(np.arange(count) * len(train) // count, self.width)
        return word_baselines(rows, self.scored_rows(part), self.tokenizer.size)

    def build(self, attention: Callable[..., Attention], model: Option) -> MaskedWordModel:
        """Build the model with random weights: rows (B, S) to logits (B, S, V)."""
        return self._build(attention, model, self.tokenizer.size, self.width)

    def check(self, attention: Callable[..., Attention], model: Option) -> None:  # noqa: D102
        self._build(attention, model, 8, 4)

    def _build(
        self, attention: Callable[..., Attention], model: Option, words: int, width: int
    ) -> MaskedWordModel:
        from attnlab.layers.self_attention import self_attention
        from attnlab.layers.text_encoder import TextEncoder
        from attnlab.tasks.language.models.masked import MaskedWordModel

        settings = dict(model.settings)
        settings["attention"] = self_attention(attention, settings)
        sizes = {"vocabulary": words + 1, "most": max(width, self.text["max_length"])}
        built = MaskedWordModel(encoder=TextEncoder(name="encoder", **sizes, **settings))
        built.build((None, width))
        return built

    @staticmethod
    def loss(target: tf.Tensor, guesses: Guesses) -> tf.Tensor:
        """Return the cross entropy in nats: the mean over the chosen words of each row, (B,).

        Args:
            target: (B, S), the tokens as written.
            guesses: of the model.
        """
        import tensorflow as tf

        words = tf.gather(target, guesses.places, batch_dims=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(words, guesses.logits)
        counts = tf.cast(guesses.counts, losses.dtype)
        is_valid = tf.cast(tf.sequence_mask(guesses.counts, tf.shape(losses)[1]), losses.dtype)
        return tf.reduce_sum(losses * is_valid, axis=1) / tf.maximum(counts, 1.0)

    def evaluate(self, model: keras.Model, part: str = "test", **settings: Any) -> Report:
        """Fill in the words of a part, and score them and the baselines."""
        require_part(["validation", "test"], part)
        from attnlab.tasks.language.models.model import Scorer
        from attnlab.tasks.language.report import build_report

        return build_report(self, part, Scorer(model)(self.scored_rows(part)))

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        rows = self.data.parts[part]
        if isinstance(rows, Rows):
            tokens = np.where(rows.targets != PADDING, rows.targets, rows.tokens)[:count]
        else:
            assert isinstance(rows, Tokens)
            tokens = rows.padded(np.arange(min(count, len(rows))), self.width)
        return tokens, np.where(tokens != PAD, tokens, -1)

    def vectors(self, model: MaskedWordModel, texts: Sequence[str]) -> np.ndarray:
        """Return a vector per text, (N, W); see `mean_vectors`."""
        from attnlab.encoders.vectors import mean_vectors

        most = self.places_read(model) + 2
        return mean_vectors(model.encoder, self.tokenizer, most, texts)

    def places_read(self, model: MaskedWordModel) -> int:
        """Return the most tokens of a text that `vectors` reads."""
        return (model.fixed_length or self.text["max_length"]) - 2

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Convert texts to rows of tokens, (N, S) int32; `[MASK]` becomes the mask."""
        tokens = [
            (tokens_of(self.tokenizer, text) or [UNKNOWN])[: self.width - 2] for text in texts
        ]
        rows = [[START, *row, END] for row in tokens]
        return pad_rows(rows, width=self.width)

    @cached_property
    def names(self) -> np.ndarray:
        """A readable label for each token, (V + 1,), "" for PAD."""
        names = np.array([*labels(self.tokenizer, range(self.mask)), MASK], object)
        names[PAD] = ""
        return names

    def labels(self, tokens: np.ndarray) -> list[str]:
        """Return a readable label for each of M tokens of different texts."""
        return self.names[tokens].tolist()

    def unknown(self, text: str) -> list[str]:
        """Return the words of a text, except its masks, that the vocabulary doesn't have."""
        return super().unknown(text.replace(MASK, " "))

    def is_longer(self, text: str, most: int) -> bool:  # noqa: D102
        return len(tokens_of(self.tokenizer, text)) > most

    def fill(
        self, model: MaskedWordModel, text: str, count: int = 1, where: str = "TEXT"
    ) -> list[list[Guess]]:
        """Return the most probable words for each `[MASK]` of a text, the best one first.

        Args:
            model: a trained model.
            text: a text with `[MASK]`.
            count: number of words per mask.
            where: name of the text in error messages.

        Raises:
            RequestError: the text has no mask, or a mask after the last token that the model reads.
        """
        check_text(text, where)
        rows = self.rows([text])
        places = np.flatnonzero(rows[0] == self.mask)
        if len(places) < text.count(MASK):
            raise RequestError(
                f"{where}: expected {MASK} within the first {self.width - 2} tokens, which is what "
                "the run reads, got one after them."
            )
        logits = np.asarray(model(rows, training=False))[0, places]
        return best_words(self.tokenizer, logits, count)

    def serve(self, model: keras.Model, inputs: Any = None, **settings: Any) -> np.ndarray:
        """Fill in the masks of N texts, (N,) or a column; returns the texts (N,)."""
        if inputs is None:
            raise RequestError(f"inputs: expected a list of texts with {MASK}, got none.")
        texts = [str(text) for text in np.asarray(inputs).reshape(-1)]
        return np.array([filled_in(text, self.fill(model, text)) for text in texts], dtype=object)

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and the settings and sizes of tokenization."""
        self.save_text(folder, width=self.width)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that words can be filled in without the corpus."""
        self.width = self.read_text(folder, lambda content: int(content["width"]))
