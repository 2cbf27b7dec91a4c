"""Base classes of readers: embeddings, dropout, the output layer of starts and ends."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.attention.dropout import Dropout
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import InMemoryModel

_NEVER = -1e9  # the logit of padding


class Reader(InMemoryModel):
    """Maps rows of a question and a text (B, 1 + Q + P) to logits of starts and ends (B, 2, 1 + P).

    Place 0 of the logits is START, which means "no answer here"; the others are the places of the
    text. A subclass computes a vector v for each place. The start logit is w_s' v + b_s, the end
    logit w_e' v + b_e (Devlin et al. 2019, arXiv 1810.04805, section 4.2, with biases). The module
    `encoding` describes the rows.

    Args:
        question_places: Q.
        text_places: P.
        **kwargs: those of every Keras model.
    """

    def __init__(self, *, question_places: int, text_places: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.question_places, self.text_places = question_places, text_places

    def add_output(self, *dropouts: Dropout) -> None:
        """Create the output layer, whose input gets the last dropout; called by constructors."""
        self.dropouts = [*dropouts]
        self.output_layer = keras.layers.Dense(2, name="output")

    def build(self, tokens_shape) -> None:
        """Create the weights for rows of shape (B, 1 + Q + P)."""
        width = self._build_read(tokens_shape)
        self.output_layer.build((tokens_shape[0], 1 + self.text_places, width))

    def call(self, tokens, training=None):
        """Return logits (B, 2, 1 + P) in float32."""
        read, _ = self._read(tokens, training)
        logits = self.output_layer(self.dropouts[-1](read, training=training))
        logits = ops.cast(ops.swapaxes(logits, 1, 2), "float32")
        there = self.without_question(self._real(tokens))
        return ops.where(there[:, None], logits, _NEVER)

    def attend(self, tokens):
        """Return attention weights (B, H, P, Q) of the text on the question, or None."""
        return self._read(tokens, training=False)[1]

    def text_vectors(self, tokens):
        """Return the encoder's vector of each place of the text, (B, P, W)."""
        raise NotImplementedError

    def question(self, sequence):
        """Return the question's places (B, Q, ...) of (B, 1 + Q + P, ...)."""
        return sequence[:, 1 : 1 + self.question_places]

    def without_question(self, sequence):
        """Return START and the text, (B, 1 + P, ...), of (B, 1 + Q + P, ...)."""
        return ops.concatenate([sequence[:, :1], sequence[:, 1 + self.question_places :]], axis=1)

    def _real(self, tokens):
        return ops.not_equal(tokens, PAD)

    def _build_read(self, tokens_shape: tuple) -> int:
        """Create the weights before the output layer; return the width of its input."""
        raise NotImplementedError

    def _read(self, tokens, training) -> tuple:
        """Return the input of the output layer, (B, 1 + P, W) for START and the text, and weights.

        Weights are those of the places of the text on the question, (B, H, P, Q); None without
        attention.
        """
        raise NotImplementedError


class EmbeddingReader(Reader):
    """A reader with embeddings of its own.

    Args:
        vocabulary: the number of tokens.
        embedding: width of a token's vector.
        spread: initial standard deviation of the embeddings.
        dropout: dropout rate of the output layer's input and of the embeddings; at all tokens of a
            row the same components are dropped (Gal and Ghahramani 2016, arXiv 1512.05287).
        **kwargs: those of `Reader`.
    """

    def __init__(
        self, *, vocabulary: int, embedding: int, dropout: float, spread: float = 1.0, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        normal = keras.initializers.RandomNormal(stddev=spread)
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=normal, name="embedding"
        )
        shapes = ((None, 1, embedding), None)
        self.add_output(*(Dropout(dropout, noise_shape=shape) for shape in shapes))

    def _build_read(self, tokens_shape: tuple) -> int:
        self.embedding.build(tokens_shape)
        return self._build_reading((*tokens_shape, self.embedding.output_dim))

    def _read(self, tokens, training) -> tuple:
        vectors, real = self._embedded(tokens, training), self._real(tokens)
        read, output = self._reading(vectors, real, training)
        return read, None if output is None else output.weights

    def _embedded(self, tokens, training):
        return self.dropouts[0](self.embedding(tokens), training=training)

    def _build_reading(self, vectors_shape: tuple) -> int:
        """Create the weights after the embeddings; return the width of the output layer's input."""
        raise NotImplementedError

    def _reading(self, vectors, real, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """Return the input of the output layer, (B, 1 + P, W), and the attention's output.

        Vectors are (B, 1 + Q + P, E); `real` (B, 1 + Q + P) is False for padding. The attention
        weights are those of the places of the text only, (B, H, P, Q).
        """
        raise NotImplementedError
