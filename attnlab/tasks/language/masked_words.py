"""Masked words: an encoder of texts that learns to fill in missing words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import require_part
from attnlab.tasks.data.tokens import Tokens
from attnlab.tasks.kinds import Kind, Progress
from attnlab.tasks.language.corpora import Text
from attnlab.tasks.language.data import PADDING, LanguageData, Rows
from attnlab.tasks.language.kind import MASKED_WORDS
from attnlab.tasks.language.task import CorpusTask
from attnlab.tasks.language.text.masking import (
    MASK,
    Guess,
    best_words,
    choose,
    fill_in,
    labels,
    tokens_of,
)
from attnlab.tasks.language.text.reading import (
    blocks_to_fit,
    documents_of,
    encode_documents,
    tokenize,
)
from attnlab.tasks.text_task import TextTask
from attnlab.text.cleaning import shorten
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer, pad_rows

if TYPE_CHECKING:
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.language.models.masked import Guesses, MaskedWordModel


_MOST_SHOWN = 200  # characters of a text in a message


class MaskedWords(CorpusTask, TextTask):
    """Learn an encoder of texts by filling in masked words of a corpus.

    A row is a document, or a piece of a longer one. Each training step masks other words; those of
    validation and test are chosen once, so that runs can be compared word by word.

    The settings are those of conf/task/masked_words.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = MASKED_WORDS
    name = "masked_words"
    served = ("The keys to the cabinet [MASK] old.", "The keys to the cabinet are old.")
    monitor = ("val_loss", "min")
    corpus: Text
    width: int  # tokens of a row, S

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
    def mask_token(self) -> int:
        """Return the token of the mask, which follows the last word of the vocabulary."""
        return self.tokenizer.size

    def load(self, seed: int = 0, progress: Progress | None = None) -> LanguageData:
        """Find the corpus, tokenize its texts, and choose words to predict."""
        self.corpus.open(self.cache, progress)
        by_line = self.corpus.has_documents_by_line

        def fit() -> Tokenizer:
            blocks = blocks_to_fit(self.corpus)
            texts = (text for block in blocks for text in documents_of(block, by_line))
            settings = {name: self.text[name] for name in ("min_count", "lowercase")}
            settings["kind"] = self.text["tokenizer"]
            return Tokenizer.fit(texts, size=self.text["vocabulary"], **settings)

        def encode(tokenizer: Tokenizer, block: Any) -> Any:
            documents = [*documents_of(block, by_line)]
            return encode_documents(tokenizer, documents, self.text["max_length"])

        self.tokenizer, rows = tokenize(self.corpus, self.text, fit, encode, self.cache, progress)
        self.width = max(int(part.lengths.max(initial=0)) for part in rows.values())
        parts: dict[str, Tokens | Rows] = {"train": rows["train"]}
        for name in ("validation", "test"):
            tokens = rows[name].pad(np.arange(len(rows[name])), self.width)
            parts[name] = chosen = choose(tokens, self.mask_token, seed=0)
            if (chosen.targets == PADDING).all():
                what = f"words of the vocabulary in {name}"
                raise RequestError(f"data={self.corpus.name}: expected {what}, got none.")
        counts = np.sum([part.counts(self.mask_token) for part in rows.values()], axis=0)
        if missing := counts[UNKNOWN]:
            self.corpus.note(
                f"{missing:,} of {counts.sum():,} tokens are unknown; none is predicted."
            )
        return self.set_data(self.text, parts, self.width)

    def build(self, attention: Callable[..., Attention], model: Option) -> MaskedWordModel:
        """Build the model with random weights: rows (B, S) to logits (B, S, V)."""
        return self.make_model(attention, model, (None, self.width), most=self.text["max_length"])

    def check(self, attention: Callable[..., Attention], model: Option) -> None:  # noqa: D102
        self.make_model(attention, model, (None, 4), most=self.text["max_length"])

    @staticmethod
    def loss(target: tf.Tensor, guesses: Guesses) -> tf.Tensor:
        """Return the cross entropy in nats: the mean over the chosen words of each row, (B,).

        `target` (B, S) are the tokens as written.
        """
        import tensorflow as tf

        words = tf.gather(target, guesses.places, batch_dims=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(words, guesses.logits)
        counts = tf.cast(guesses.counts, losses.dtype)
        is_valid = tf.cast(tf.sequence_mask(guesses.counts, tf.shape(losses)[1]), losses.dtype)
        return tf.reduce_sum(losses * is_valid, axis=1) / tf.maximum(counts, 1.0)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        rows = self.data.parts[part]
        if isinstance(rows, Rows):
            tokens = np.where(rows.targets != PADDING, rows.targets, rows.tokens)[:count]
        else:
            tokens = rows.pad(np.arange(min(count, len(rows))), self.width)
        return tokens, np.where(tokens != PAD, tokens, -1)

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Convert texts to rows of tokens, (N, S) int32; `[MASK]` becomes the mask."""
        tokens = (tokens_of(self.tokenizer, text) or [UNKNOWN] for text in texts)
        rows = [[START, *row[: self.width - 2], END] for row in tokens]
        return pad_rows(rows, width=self.width)

    @cached_property
    def names(self) -> np.ndarray:
        """A readable label for each token, (V + 1,), "" for PAD."""
        names = np.array([*labels(self.tokenizer, range(self.mask_token)), MASK], object)
        names[PAD] = ""
        return names

    def unknown(self, text: str) -> list[str]:  # noqa: D102
        return super().unknown(text.replace(MASK, " "))

    def is_longer(self, text: str, most: int) -> bool:  # noqa: D102
        return len(tokens_of(self.tokenizer, text)) > most

    def fill(self, model: MaskedWordModel, text: str, count: int = 1) -> list[list[Guess]]:
        """Return the `count` most probable words for each `[MASK]` of a text, the best one first.

        Raises:
            RequestError: the text has no mask, or a mask after the last token that the model reads.
        """
        rows, masks = self.rows([text]), text.count(MASK)
        places = np.flatnonzero(rows[0] == self.mask_token)
        if not masks or len(places) < masks:
            raise RequestError(
                f"TEXT: expected {MASK} within the first {self.width - 2} tokens, which is what "
                f"the run reads, got {shorten(text, _MOST_SHOWN)!r}."
            )
        return best_words(self.tokenizer, np.asarray(model(rows, training=False))[0, places], count)

    def served_text(self, model: Any, text: str) -> str:  # noqa: D102
        return fill_in(text, self.fill(model, text))

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and the settings and sizes of tokenization."""
        self.save_text(folder, width=self.width)

    def load_from(self, folder: Path) -> None:  # noqa: D102
        self.width = self.read_text(folder, lambda content: int(content["width"]))
