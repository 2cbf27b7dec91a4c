"""A Transformer encoder that predicts masked words."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from attnlab.attention.dropout import draw_rows
from attnlab.layers.transformer import TextEncoder
from attnlab.tasks.language.text.masking import MASKED, REPLACED, SHARE
from attnlab.text.tokenizers import END
from attnlab.training.step import InMemoryModel


class Guesses(NamedTuple):
    """Predictions for words that a training step has chosen."""

    logits: Any  # (B, K, V)
    places: Any  # (B, K) of the words in their rows
    counts: Any  # (B,) number of valid places per row; the others are padding


class MaskedWordModel(InMemoryModel):
    """Maps rows of tokens (B, S) to logits of the words at all places, (B, S, V).

    Each training step chooses 15 % of a row's words, at least one: 80 % of them are masked, 10 %
    are replaced by a random word, 10 % stay. The result is then `Guesses` for these words. Unknown
    words are never chosen. The logits are `E norm(gelu(W x + b)) + c` with the encoder's embeddings
    E (V + 1, W), whose last row is the mask's, and its vectors x.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3.1 and appendix A.1, and its code.
    Differences: words are chosen at every step, and no sentence is predicted to follow another
    (Liu et al. 2019, arXiv 1907.11692, sections 4.1 and 4.2). The settings are those of
    `TextEncoder`.
    """

    def __init__(self, *, vocabulary: int, **settings) -> None:
        super().__init__()
        self.encoder = TextEncoder(name="encoder", vocabulary=vocabulary + 1, **settings)
        self.vocabulary = self.mask_token = vocabulary
        width = self.encoder.width
        self.transform = keras.layers.Dense(width, activation="gelu", name="transform")
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6, name="norm")
        self.seed_generator = keras.random.SeedGenerator()

    @property
    def fixed_length(self) -> int | None:
        """Return the only length of rows that the weights fit, or None if any length does."""
        return self.encoder.fixed_length

    def build(self, tokens_shape) -> None:
        """Create the weights for rows of shape (B, S)."""
        shape = (*tokens_shape, self.encoder.width)
        self.encoder.build(tokens_shape)
        self.transform.build(shape)
        self.norm.build(shape)
        self.bias = self.add_weight(name="bias", shape=(self.mask_token,), initializer="zeros")

    def call(self, tokens, training=None):
        """Return logits (B, S, V) in float32; in training the `Guesses` for newly chosen words."""
        if not training:
            return self._logits(self.encoder(tokens).vectors)
        places, counts = self._choose(tokens)
        hidden = self._hide(tokens, places, counts)
        return Guesses(self.logits_at(hidden, places, training=True), places, counts)

    def logits_at(self, tokens, places, training=None):
        """Return logits (B, K, V) at places (B, K) of rows (B, S)."""
        vectors = self.encoder(tokens, training=training).vectors
        return self._logits(ops.take_along_axis(vectors, places[..., None], axis=1))

    def _logits(self, vectors):
        embeddings = self.encoder.embedding.embeddings[: self.mask_token]
        vectors = self.norm(self.transform(vectors))
        logits = ops.matmul(vectors, ops.transpose(ops.cast(embeddings, vectors.dtype)))
        return ops.cast(logits, "float32") + ops.cast(self.bias, "float32")

    def _choose(self, tokens):
        """Draw words of each row; return their places (B, K) and the number of valid ones (B,)."""
        words = tokens > END
        width = ops.shape(tokens)[1]
        most = ops.maximum(ops.cast(ops.round(SHARE * ops.cast(width, "float32")), "int32"), 1)
        if isinstance(width, int):  # XLA has to know it
            most = max(round(SHARE * width), 1)
        ranks = self._draw(keras.random.uniform, ops.shape(tokens))
        _, places = ops.top_k(ops.where(words, ranks, -1.0), most)
        numbers = ops.sum(ops.cast(words, "int32"), axis=1)
        counts = ops.cast(ops.round(SHARE * ops.cast(numbers, "float32")), "int32")
        return ops.cast(places, "int32"), ops.minimum(ops.maximum(counts, 1), numbers)

    def _draw(self, draw, shape, **limits):
        return draw_rows(lambda shape: draw(shape, seed=self.seed_generator, **limits), shape)

    def _hide(self, tokens, places, counts):
        """Return rows whose tokens at chosen places are masked, replaced, or stay."""
        shape = ops.shape(places)
        draws = self._draw(keras.random.uniform, shape)
        words = self._draw(keras.random.randint, shape, minval=END + 1, maxval=self.mask_token)
        chosen = ops.take_along_axis(tokens, places, axis=1)
        shown = ops.where(draws < MASKED + REPLACED, ops.cast(words, chosen.dtype), chosen)
        shown = ops.where(draws < MASKED, ops.cast(self.mask_token, chosen.dtype), shown)
        shown = ops.where(ops.arange(shape[1]) < counts[:, None], shown, chosen)
        rows = ops.broadcast_to(ops.arange(shape[0])[:, None], shape)
        indices = ops.reshape(ops.stack([rows, places], axis=-1), (-1, 2))
        return ops.scatter_update(tokens, indices, ops.reshape(shown, (-1,)))
