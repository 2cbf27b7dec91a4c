"""What all classifiers share: embeddings, dropout, the output."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.text.tokenizers import PAD


class Classifier(keras.Model):
    """Texts (B, S) of tokens, padded at the end with PAD, to the logits of classes (B, C).

    Args:
        vocabulary: how many tokens there are.
        classes: C.
        embedding: width of a token's vector.
        dropout: share of the embeddings, and of what the output reads, that is dropped in training.
        **kwargs: of every Keras model.
    """

    def __init__(
        self, *, vocabulary: int, classes: int, embedding: int, dropout: float, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.embedding = keras.layers.Embedding(vocabulary, embedding, name="embedding")
        self.dropouts = [keras.layers.Dropout(dropout) for _ in range(2)]
        self.output_layer = keras.layers.Dense(classes, name="output")

    def build(self, tokens_shape) -> None:
        """Create the weights for texts of shape (B, S)."""
        self.embedding.build(tokens_shape)
        width = self._build_features((*tokens_shape, self.embedding.output_dim))
        self.output_layer.build((tokens_shape[0], width))

    def call(self, tokens, training=None):
        """Logits (B, C) in float32."""
        features, _ = self._read_texts(tokens, training)
        return ops.cast(self.output_layer(self.dropouts[1](features, training=training)), "float32")

    def attend(self, tokens):
        """Attention weights (B, H, T, S) on the tokens; None where nothing attends."""
        output = self._read_texts(tokens, training=False)[1]
        return None if output is None else output.weights

    @property
    def fixed_length(self) -> int | None:
        """The only length of texts that the weights fit, or None where any fits."""
        return None

    def stackable(self, batch: int) -> int:
        """How many models are sooner trained in one stack than alone: none are."""
        return 1

    def _read_texts(self, tokens, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        real = ops.not_equal(tokens, PAD)
        vectors = self.dropouts[0](self.embedding(tokens), training=training)
        return self._features(vectors, real, training)

    def _build_features(self, vectors_shape: tuple) -> int:
        """Build what makes the features; returns their width."""
        raise NotImplementedError

    def _features(self, vectors, real, training) -> tuple:
        """What the output reads of vectors (B, S, E), and what was attended to.

        `real` (B, S) is False where a text has ended.
        """
        raise NotImplementedError


def mean_of(vectors, real):
    """The mean of the real ones of vectors (B, S, E), (B, E); zeros of an empty text."""
    weights = ops.cast(real, vectors.dtype)[..., None]
    return ops.sum(vectors * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)
