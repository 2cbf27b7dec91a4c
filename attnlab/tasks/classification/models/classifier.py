"""The base class of text classifiers, and the classifier of the words' mean embedding."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.attention.dropout import Dropout
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import InMemoryModel

_SPREAD = 0.1  # of embeddings whose mean is read: each of many words counts by itself


class Classifier(InMemoryModel):
    """Maps texts (B, S) of tokens, padded at the end with PAD, to logits of classes (B, C).

    Args:
        vocabulary: the number of tokens.
        classes: C.
        embedding: width of a token's vector.
        spread: initial standard deviation of the embeddings. With Keras's default, 0.03, words are
            so similar that a model doesn't learn to combine two of them in hundreds of steps.
        dropout: dropout rate of the output layer's input and of the embeddings; at all words of a
            text the same components are dropped (Gal and Ghahramani 2016, arXiv 1512.05287).
        **kwargs: those of every Keras model.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        classes: int,
        embedding: int,
        dropout: float,
        spread: float = 1.0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        normal = keras.initializers.RandomNormal(stddev=spread)
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=normal, name="embedding"
        )
        # One draw per text and component of the embeddings.
        shapes = ((None, 1, embedding), None)
        self.dropouts = [Dropout(dropout, noise_shape=shape) for shape in shapes]
        self.output_layer = keras.layers.Dense(classes, name="output")

    def build(self, tokens_shape) -> None:
        """Create the weights for texts of shape (B, S)."""
        self.embedding.build(tokens_shape)
        width = self._build_features((*tokens_shape, self.embedding.output_dim))
        self.output_layer.build((tokens_shape[0], width))

    def call(self, tokens, training=None):
        """Return logits (B, C) in float32."""
        features, _ = self._read_texts(tokens, training)
        return ops.cast(self.output_layer(self.dropouts[1](features, training=training)), "float32")

    def attend(self, tokens):
        """Return attention weights (B, H, T, S) on the tokens; None without attention."""
        output = self._read_texts(tokens, training=False)[1]
        return None if output is None else output.weights

    def _read_texts(self, tokens, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        real = ops.not_equal(tokens, PAD)
        vectors = self.dropouts[0](self.embedding(tokens), training=training)
        return self._features(vectors, real, training)

    def _build_features(self, vectors_shape: tuple) -> int:
        """Create the weights that compute the features; return the features' width."""
        raise NotImplementedError

    def _features(self, vectors, real, training) -> tuple:
        """Return the input of the output layer for vectors (B, S, E), and the attention's output.

        `real` (B, S) is False for padding.
        """
        raise NotImplementedError


def mean_of(vectors, real):
    """Return the mean (B, E) of the real vectors of (B, S, E); zeros for an empty text."""
    weights = ops.cast(real, vectors.dtype)[..., None]
    return ops.sum(vectors * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


class EmbeddingsClassifier(Classifier):
    """A linear output on the mean of a text's embeddings, which ignores the order of words.

    Source: Joulin et al. 2017 (arXiv 1607.01759), fastText's classifier. Difference: no word pairs.
    The settings are those of `Classifier`.
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(spread=_SPREAD, **kwargs)

    def _build_features(self, vectors_shape: tuple) -> int:
        return vectors_shape[-1]

    def _features(self, vectors, real, training) -> tuple:
        return mean_of(vectors, real), None
