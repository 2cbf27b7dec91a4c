"""What all classifiers share: embeddings, dropout, the output."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.attention.dropout import Dropout
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import InMemoryModel

_SPREAD = 0.1  # of embeddings whose mean is read: each of many words counts by itself


class Classifier(InMemoryModel):
    """Texts (B, S) of tokens, padded at the end with PAD, to the logits of classes (B, C).

    Args:
        vocabulary: how many tokens there are.
        classes: C.
        embedding: width of a token's vector.
        spread: standard deviation of the embeddings at the start. Keras's own, 0.03, keeps words so
            alike that what two of them say together is not found in hundreds of steps.
        dropout: share of what the output reads that is dropped in training, and of the embeddings,
            the same numbers of all words of a text (Gal and Ghahramani 2016, arXiv 1512.05287).
        **kwargs: of every Keras model.
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
        # Of embeddings the same numbers at all words of a text, which are few to draw.
        shapes = ((None, 1, embedding), None)
        self.dropouts = [Dropout(dropout, noise_shape=shape) for shape in shapes]
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


class EmbeddingsClassifier(Classifier):
    """The mean of a text's embeddings, and one output: the order of words counts for nothing.

    Source: Joulin et al. 2017 (arXiv 1607.01759), fastText's classifier. Difference: no pairs of
    words. The settings are those of `Classifier`.
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(spread=_SPREAD, **kwargs)

    def _build_features(self, vectors_shape: tuple) -> int:
        return vectors_shape[-1]

    def _features(self, vectors, real, training) -> tuple:
        return mean_of(vectors, real), None
