"""Masked words: texts without labels, of which a model learns to fill in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Report, require_part
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.masked_words.corpora.corpus import Corpus, divided
from attnlab.tasks.masked_words.data import MaskedPart, MaskedTexts
from attnlab.tasks.masked_words.filling import (
    Guess,
    best_words,
    check_text,
    filled_in,
    labels,
    tokens_of,
)
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.masking import MASK, choose
from attnlab.tasks.masked_words.rows import Row, filled, packed, paired
from attnlab.tasks.text_corpus import digest_of
from attnlab.tasks.text_task import TextTask
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import UNKNOWN

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.masked_words.models.model import Guesses, MaskedWordModel


class MaskedWords(TextTask):
    """Fill in the words of a corpus's texts, and so learn an encoder of texts.

    Attributes:
        monitor: the validation metric that chooses the best epoch, and its direction.
        data: the corpus in tokens, once it is loaded.
        width: tokens of a row, S.

    The settings are those of conf/task/masked_words.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "masked_words"
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    data: MaskedTexts
    width: int

    _file = "masked_words.json"

    def __init__(
        self,
        *,
        corpus: Corpus,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 20_000,
        min_count: int = 1,
        lowercase: bool = True,
        max_length: int = 128,
        next_sentence: bool = False,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.next_sentence = next_sentence
        self.text: dict[str, Any] = {
            "tokenizer": tokenizer,
            "vocabulary": vocabulary,
            "min_count": min_count,
            "lowercase": lowercase,
            "max_length": max_length,
            "next_sentence": next_sentence,
        }

    @property
    def mask(self) -> int:
        """The number of the mask, one more than that of the last word."""
        return self.tokenizer.size

    def load(self, seed: int = 0, progress: Progress | None = None) -> MaskedTexts:
        """Find the corpus, divide it by the seed, cut its texts into tokens, choose words.

        Raises:
            RequestError: the corpus is missing, damaged or too small.
        """
        self.corpus.open(self.cache, progress)
        parts = divided(self.corpus, seed, ignore_case=self.ignores_case(seed))
        self.find_tokenizer(chain.from_iterable(parts["train"]), seed)
        rows, cut = {}, 0
        for part, documents in parts.items():
            rows[part], count = self._rows(documents, seed)
            cut += count
        longest = max(row.length for part in rows.values() for row in part)
        self.width = min(longest, self.text["max_length"])
        found = {part: self._part(part, own) for part, own in rows.items()}
        unknown = sum(int(np.sum(part.tokens == UNKNOWN)) for part in found.values())
        decisive = [self.corpus.digest(), self.text, seed]
        self.data = MaskedTexts(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of(decisive),
            parts=found,
            cut=cut,
            unknown=unknown,
            paired=self.next_sentence,
            said=self.corpus.notes,
            left_out=self.corpus.left_out,
        )
        return self.data

    def _rows(self, documents: Sequence[Sequence[str]], seed: int) -> tuple[list[Row], int]:
        sentences = [normalized(each) for document in documents for each in document]
        cut = iter(self.tokenizer.encode(sentences))
        tokens = [[next(cut) for _ in document] for document in documents]
        tokens = [[each for each in document if each] for document in tokens]
        most = self.text["max_length"]
        if not self.next_sentence:
            rows, count = packed(tokens, most)
        elif sum(len(document) > 0 for document in tokens) < 2:
            raise RequestError(
                "task.next_sentence: expected documents of two or more sentences, at least two in "
                f"each part, got {len(tokens)} of data={self.corpus.name}."
            )
        else:
            rows, count = paired([document for document in tokens if document], most, seed)
        if not rows:
            what = "two or more sentences in a document" if self.next_sentence else "words"
            raise RequestError(f"data={self.corpus.name}: expected {what} in each part, got none.")
        return rows, count

    def _part(self, name: str, rows: Sequence[Row]) -> MaskedPart:
        tokens = filled(rows, self.width)
        # The same words whatever the run's seed, so that runs can be compared word by word.
        asked = None if name == "train" else choose(tokens, self.mask, seed=0)
        if asked and not asked.counts.any():
            raise RequestError(
                f"data={self.corpus.name}: expected words of the vocabulary in each part, got none "
                f"in {name}."
            )
        return MaskedPart(tokens, np.array([row.follows for row in rows], np.int32), asked)

    def build(self, attention: Callable[[], Attention], model: Option) -> MaskedWordModel:
        """The model, its weights drawn: rows (B, S) to logits (B, S, V).

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        return self._build(attention, model, self.tokenizer.size, self.width)

    def check(self, attention: Callable[[], Attention], model: Option) -> None:
        """Refuse what `build` would, whatever the corpus; called before it is read."""
        self._build(attention, model, 8, 4)

    def _build(
        self, attention: Callable[[], Attention], model: Option, words: int, width: int
    ) -> MaskedWordModel:
        from attnlab.layers.text_encoder import TextEncoder
        from attnlab.tasks.masked_words.models.model import MaskedWordModel

        settings = dict(model.settings)
        layers = [attention() for _ in range(settings.pop("layers"))]
        sizes = {"vocabulary": words + 1, "most": max(width, self.text["max_length"])}
        encoder = TextEncoder(attention=layers, name="encoder", **sizes, **settings)
        found = MaskedWordModel(encoder=encoder, next_sentence=self.next_sentence)
        found.build((None, width))
        return found

    @staticmethod
    def loss(target: tf.Tensor, found: Guesses) -> tf.Tensor:
        """Cross entropy in nats: a row's mean over its chosen words, (B,).

        That of whether its texts follow each other is added where it is learned.

        Args:
            target: (B, 1 + S): whether the second text follows, then the tokens as written.
            found: of the model.
        """
        import tensorflow as tf

        words = tf.gather(target[:, 1:], found.places, batch_dims=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(words, found.logits)
        counts = tf.cast(found.counts, losses.dtype)
        known = tf.cast(tf.sequence_mask(found.counts, tf.shape(losses)[1]), losses.dtype)
        mean = tf.reduce_sum(losses * known, axis=1) / tf.maximum(counts, 1.0)
        if found.follows is None:
            return mean
        return mean + tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, 0], found.follows)

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Fill in the words of a part and score them beside the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        parts = [name for name, own in self.data.parts.items() if own.asked is not None]
        require_part(parts, part)
        from attnlab.tasks.masked_words.report import build_report
        from attnlab.tasks.masked_words.scoring import Scorer

        return build_report(self, part, Scorer(model, self.width)(self.data.parts[part]))

    def vectors(self, model: MaskedWordModel, texts: Sequence[str]) -> np.ndarray:
        """A vector of each text, (N, W); see `mean_vectors`."""
        from attnlab.encoders.vectors import mean_vectors

        most = self.places_read(model) + 2
        return mean_vectors(model.encoder, self.tokenizer, most, texts)

    def places_read(self, model: MaskedWordModel) -> int:
        """The tokens of a text that `vectors` reads at most."""
        return (model.fixed_length or self.text["max_length"]) - 2

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Texts as the model reads them, (N, S) int32; `[MASK]` in them is the mask."""
        tokens = [tokens_of(self.tokenizer, text) or [UNKNOWN] for text in texts]
        return filled([Row(each[: self.width - 2]) for each in tokens], self.width)

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """A readable label for each token of rows (N, S), "" where there is padding."""
        masked = tokens == self.mask
        found = super().words(np.where(masked, UNKNOWN, tokens)).astype(object)
        found[masked] = MASK
        return found.astype(str)

    def labels(self, tokens: np.ndarray) -> list[str]:
        """A readable label for each of some tokens (M,) of different texts."""
        return labels(self.tokenizer, tokens)

    def unknown(self, text: str) -> list[str]:
        """The words of a text, but for its masks, that the vocabulary doesn't have."""
        return super().unknown(text.replace(MASK, " "))

    def is_longer(self, text: str, most: int) -> bool:  # noqa: D102
        return len(tokens_of(self.tokenizer, text)) > most

    def fill(
        self, model: MaskedWordModel, text: str, count: int = 1, where: str = "TEXT"
    ) -> list[list[Guess]]:
        """The most probable words for each `[MASK]` of a text, the best one first.

        Args:
            model: a trained one.
            text: any that has a mask.
            count: how many words for each.
            where: what names the text in complaints.

        Raises:
            RequestError: there is no mask in it, or one stands behind what the model can read.
        """
        check_text(text, where)
        rows = self.rows([text])
        places = np.flatnonzero(rows[0] == self.mask)
        if len(places) < text.count(MASK):
            raise RequestError(
                f"{where}: expected {MASK} within the first {self.width - 2} tokens, which is what "
                "the run reads, got one behind them."
            )
        logits = np.asarray(model(rows, training=False))[0, places]
        return best_words(self.tokenizer, logits, count)

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """Texts (N,), or a column of N, with their masks filled in, (N,).

        Raises:
            RequestError: there are none, or one has no mask.
        """
        if inputs is None:
            raise RequestError(f"inputs: expected a list of texts with {MASK}, got none.")
        texts = [str(text) for text in np.asarray(inputs).reshape(-1)]
        return np.array([filled_in(text, self.fill(model, text)) for text in texts], dtype=object)

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and how texts are treated."""
        self.save_text(folder, width=self.width)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote; then words can be filled in without the corpus.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """
        self.width = self.read_text(folder, lambda content: int(content["width"]))


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, a text with a mask, and an output."""
    return (
        {"values": ["The keys to the cabinet [MASK] old."], "dtype": "object"},
        {"values": ["The keys to the cabinet are old."], "dtype": "object"},
    )
