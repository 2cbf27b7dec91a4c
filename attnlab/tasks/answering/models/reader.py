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
    """Rows of a question and a text (B, 1 + Q + P) to logits of starts and ends (B, 2, 1 + P).

    Place 0 of the logits is START, which means "no answer here"; the others are the places of the
    text. Start logit w_s' v + b_s, end logit w_e' v + b_e (Devlin et al. 2019, arXiv
    1810.04805, section 4.2, with biases) of the vector v of each place, which a subclass
    computes. For the rows see the module `encoding`.

    Args:
        question_places: Q.
        text_places: P.
        **kwargs: of every Keras model.
    """

    def __init__(self, *, question_places: int, text_places: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.question_places, self.text_places = question_places, text_places

    def add_output(self, *dropouts: Dropout) -> None:
        """Make the output layer, whose input gets the last dropout; called by constructors."""
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
        """Build what reads; returns the width of what it makes."""
        raise NotImplementedError

    def _read(self, tokens, training) -> tuple:
        """What the output reads of START and the text, (B, 1 + P, W), and weights.

        The weights are those of the places of the text on the question, (B, H, P, Q); None where
        nothing attends.
        """
        raise NotImplementedError


class EmbeddingReader(Reader):
    """A reader with embeddings of its own.

    Args:
        vocabulary: how many tokens there are.
        embedding: width of a token's vector.
        spread: standard deviation of the embeddings at the start.
        dropout: share of what the output reads that is dropped in training, and of the embeddings,
            the same numbers of all tokens of a row (Gal and Ghahramani 2016, arXiv 1512.05287).
        **kwargs: of `Reader`.
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
        """Build what reads; returns the width of what it makes."""
        raise NotImplementedError

    def _reading(self, vectors, real, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """What the output reads of START and the text, (B, 1 + P, W), and what was attended to.

        Vectors are (B, 1 + Q + P, E), `real` (B, 1 + Q + P) is False where there is padding. The
        weights of what was attended to are those of the places of the text alone, (B, H, P, Q).
        """
        raise NotImplementedError
