"""A classifier on a pretrained encoder."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.encoders.framing import framed
from attnlab.encoders.tuning import FineTuned
from attnlab.tasks.classification.models.classifier import mean_of
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import InMemoryModel


class PretrainedClassifier(FineTuned, InMemoryModel):
    """Maps texts (B, S) of tokens, padded at the end, to logits of classes (B, C).

    The output layer reads the encoder's vector of START, which is before a text, or the mean of the
    vectors of its words.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 4.1. Differences: any encoder; the mean.

    Args:
        classes: C.
        pool: `class_token` or `mean`.
        dropout: dropout rate of the output layer's input.
        **kwargs: those of `FineTuned`.
    """

    def __init__(
        self, *, classes: int, pool: str = "class_token", dropout: float = 0.1, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.encoder = self.source.make()
        self.pool, self.dropout = pool, Dropout(dropout)
        self.output_layer = keras.layers.Dense(classes, name="output")

    @property
    def embedding(self) -> keras.layers.Embedding | None:
        """The layer of the tokens' vectors; None if the encoder is a preset."""
        return self.encoder.embedding

    def build(self, tokens_shape) -> None:
        """Create the weights for texts of shape (B, S)."""
        batch, steps = tokens_shape
        self.build_encoder((batch, steps + 2))
        self.output_layer.build((batch, self.encoder.width))

    def call(self, tokens, training=None):
        """Return logits (B, C) in float32."""
        vectors = self._encode(tokens, training)[0]
        real = ops.not_equal(tokens, PAD)
        read = mean_of(vectors[:, 1:-1], real) if self.pool == "mean" else vectors[:, 0]
        return ops.cast(self.output_layer(self.dropout(read, training=training)), "float32")

    def attend(self, tokens):
        """Return the last layer's weights on the words, (B, H, 1, S), or (B, H, S, S) for `mean`.

        The query is START, or each word. Rows sum to less than 1; the rest is on START and END.
        """
        weights = self._encode(tokens, False)[1]
        first = slice(1, -1) if self.pool == "mean" else slice(0, 1)
        real = ops.cast(ops.not_equal(tokens, PAD), weights.dtype)
        return weights[:, :, first, 1:-1] * real[:, None, None]

    def _encode(self, tokens, training) -> tuple:
        """Return the encoder's vectors (B, 2 + S, W) and weights (B, H, 2 + S, 2 + S)."""
        return self.encoder(framed(tokens), training=training and not self.frozen)
