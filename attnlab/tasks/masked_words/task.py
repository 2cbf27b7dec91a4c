"""Masked words: learn to fill in missing words of texts without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Report, require_part
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.masked_words.data import MaskedPart, MaskedTexts, StoredPart
from attnlab.tasks.masked_words.filling import (
    Guess,
    best_words,
    check_text,
    filled_in,
    labels,
    tokens_of,
)
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.long_texts import read_long_texts
from attnlab.tasks.masked_words.masking import MASK, choose
from attnlab.tasks.masked_words.rows import Row, filled, packed, paired
from attnlab.tasks.text_corpus import digest_of
from attnlab.tasks.text_task import TextTask
from attnlab.tasks.texts.corpus import Corpus, divided
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import PAD, UNKNOWN

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.masked_words.models.model import Guesses, MaskedWordModel


class MaskedWords(TextTask):
    """Learn an encoder of texts by filling in masked words of a corpus.

    Attributes:
        monitor: the validation metric that selects the best epoch, and its direction.
        data: the tokenized corpus, set by `load`.
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
        """Return the token of the mask, which follows the last word of the vocabulary."""
        return self.tokenizer.size

    def load(self, seed: int = 0, progress: Progress | None = None) -> MaskedTexts:
        """Find the corpus, split it by the seed, tokenize its texts, and choose words to predict.

        Raises:
            RequestError: the corpus is missing, damaged or too small.
        """
        self.corpus.open(self.cache, progress)
        # Pairs of sentences need all documents at once.
        is_stored = self.corpus.is_long and not self.next_sentence
        # An earlier version cut and divided long texts in another way.
        decisive = [self.corpus.digest(), self.text, seed, *["in pieces"] * self.corpus.is_long]
        if is_stored or self.corpus.is_too_long:
            counts, found = self._read_long(seed, progress or (lambda *_: None))
        else:
            counts, found = self._read(seed)
        self.data = MaskedTexts(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of(decisive),
            parts=found,
            width=self.width,
            **counts,
            paired=self.next_sentence,
            said=self.corpus.notes,
            left_out=self.corpus.left_out,
        )
        return self.data

    def _read(self, seed: int) -> tuple[dict[str, int], dict[str, MaskedPart]]:
        """Return the numbers of rows that are cut and of unknown tokens, and the parts."""
        parts = divided(self.corpus, seed, ignore_case=self.ignores_case(seed))
        self.find_tokenizer(chain.from_iterable(parts["train"]), seed)
        rows, cut = {}, 0
        for part, documents in parts.items():
            rows[part], count = self._rows(documents, seed)
            cut += count
        longest = max(row.length for part in rows.values() for row in part)
        self.width = min(longest, self.text["max_length"])
        found = {
            name: self._part(name, filled(own, self.width), [row.follows for row in own])
            for name, own in rows.items()
        }
        unknown = sum(int(np.sum(part.tokens == UNKNOWN)) for part in found.values())
        return {"cut": cut, "unknown": unknown}, found

    def _read_long(
        self, seed: int, progress: Progress
    ) -> tuple[dict[str, int], dict[str, MaskedPart]]:
        """Return the same of a text whose rows are on the disk."""
        read = read_long_texts(self.corpus, self.text, seed, self.cache, progress)
        self.corpus.note(*read.left_out.notes)
        self.tokenizer = read.tokenizer
        self.width = max(int(rows.lengths.max()) for rows in read.parts.values())
        found: dict[str, MaskedPart] = {}
        for name, rows in read.parts.items():
            if name == "train":
                found[name] = StoredPart(rows, self.width)
            else:
                tokens = rows.padded(np.arange(len(rows)), self.width)
                found[name] = self._part(name, tokens, [True] * len(rows))
        return {name: read.counts[name] for name in ("cut", "unknown")}, found

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

    def _part(self, name: str, tokens: np.ndarray, follows: Sequence[bool]) -> MaskedPart:
        # The same words for every seed of a run, so that runs can be compared word by word.
        asked = None if name == "train" else choose(tokens, self.mask, seed=0)
        if asked and not asked.counts.any():
            raise RequestError(
                f"data={self.corpus.name}: expected words of the vocabulary in each part, got none "
                f"in {name}."
            )
        return MaskedPart(tokens, np.array(follows, np.int32), asked)

    def build(self, attention: Callable[..., Attention], model: Option) -> MaskedWordModel:
        """Build the model with random weights: rows (B, S) to logits (B, S, V).

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        return self._build(attention, model, self.tokenizer.size, self.width)

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build` that don't depend on the corpus."""
        self._build(attention, model, 8, 4)

    def _build(
        self, attention: Callable[..., Attention], model: Option, words: int, width: int
    ) -> MaskedWordModel:
        from attnlab.layers.self_attention import self_attention
        from attnlab.layers.text_encoder import TextEncoder
        from attnlab.tasks.masked_words.models.model import MaskedWordModel

        settings = dict(model.settings)
        layers = self_attention(attention, settings)
        sizes = {"vocabulary": words + 1, "most": max(width, self.text["max_length"])}
        encoder = TextEncoder(attention=layers, name="encoder", **sizes, **settings)
        found = MaskedWordModel(encoder=encoder, next_sentence=self.next_sentence)
        found.build((None, width))
        return found

    @staticmethod
    def loss(target: tf.Tensor, found: Guesses) -> tf.Tensor:
        """Return the cross entropy in nats: the mean over the chosen words of each row, (B,).

        With `next_sentence` the cross entropy of that prediction is added.

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
        """Fill in the words of a part, and score them and the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        parts = [name for name, own in self.data.parts.items() if own.asked is not None]
        require_part(parts, part)
        from attnlab.tasks.masked_words.report import build_report
        from attnlab.tasks.masked_words.scoring import Scorer

        return build_report(self, part, Scorer(model, self.width)(self.data.parts[part]))

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        own = self.data.parts[part]
        tokens = own.rows(np.arange(min(count, len(own))))
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
        tokens = [tokens_of(self.tokenizer, text) or [UNKNOWN] for text in texts]
        return filled([Row(each[: self.width - 2]) for each in tokens], self.width)

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """Return a readable label per token of rows (N, S), "" for padding."""
        masked = tokens == self.mask
        found = super().words(np.where(masked, UNKNOWN, tokens)).astype(object)
        found[masked] = MASK
        return found.astype(str)

    def labels(self, tokens: np.ndarray) -> list[str]:
        """Return a readable label for each of M tokens of different texts."""
        return labels(self.tokenizer, tokens)

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

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """Fill in the masks of N texts, (N,) or a column; returns the texts (N,).

        Raises:
            RequestError: there are no texts, or one has no mask.
        """
        if inputs is None:
            raise RequestError(f"inputs: expected a list of texts with {MASK}, got none.")
        texts = [str(text) for text in np.asarray(inputs).reshape(-1)]
        return np.array([filled_in(text, self.fill(model, text)) for text in texts], dtype=object)

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and the settings and sizes of tokenization."""
        self.save_text(folder, width=self.width)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that words can be filled in without the corpus.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """
        self.width = self.read_text(folder, lambda content: int(content["width"]))


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an example input of the served MLflow model, a text with a mask, and its output."""
    return (
        {"values": ["The keys to the cabinet [MASK] old."], "dtype": "object"},
        {"values": ["The keys to the cabinet are old."], "dtype": "object"},
    )
