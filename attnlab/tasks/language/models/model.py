"""Base of the language models: embeddings, logits, windows of a stream; scores of a part."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.tasks.language.data import PADDING, ScoredRows
from attnlab.training.keras_internals import shapes_are_all
from attnlab.training.steps import Border, InMemoryModel, compiled, gathered

SPREAD = 0.02  # standard deviation of GPT-2's initial weights
_TOGETHER, _VALUES = 128, 2**24  # most windows that are scored together, most logits


class LanguageModel(InMemoryModel):
    """Maps tokens (B, T) to logits (B, T, V) of the token after each; a place sees its past only.

    A subclass defines `vectors`, `initial_state` and `next_vectors`. The logits are `x E'` with the
    embeddings E if `tie_embeddings` (Press and Wolf 2017, arXiv 1608.05859), else `x W`.

    Training data are a stream of tokens, where a row is the first place of a window; or, with
    `asked=K`, rows of T tokens and of the K places that are scored, (N, T + K).

    Args:
        vocabulary: number of tokens V.
        context: tokens T of a window or row.
        width: of a token's vector.
        tie_embeddings: whether the output has the weights of the embeddings.
        dropout: share of the embeddings that is dropped in training.
        asked: places of a training row that are scored; 0: it is trained on a stream.
        spread: standard deviation of the initial embeddings and of an untied output.
        **kwargs: those of every Keras model.

    Attributes:
        border: up to which size XLA trains it faster; None: never.
    """

    border: Border | None = None

    def __init__(
        self,
        *,
        vocabulary: int,
        context: int,
        width: int,
        tie_embeddings: bool,
        dropout: float,
        asked: int = 0,
        spread: float = SPREAD,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary, self.context, self.width = vocabulary, context, width
        self.asked = asked
        normal = keras.initializers.RandomNormal(stddev=spread)
        self.embedding = keras.layers.Embedding(
            vocabulary, width, embeddings_initializer=normal, name="embedding"
        )
        self.dropout = Dropout(dropout)
        self.output_layer = None
        if not tie_embeddings:
            self.output_layer = keras.layers.Dense(
                vocabulary, use_bias=False, kernel_initializer=normal, name="output"
            )

    def build(self, tokens_shape) -> None:
        """Create the weights for tokens of shape (B, T)."""
        self.embedding.build(tokens_shape)
        shape = (*tokens_shape[:2], self.width)
        self.build_vectors(shape)
        if self.output_layer is not None:
            self.output_layer.build(shape)

    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the layers for vectors (B, T, width)."""
        raise NotImplementedError

    def vectors(self, tokens, training=None):
        """Return the vectors (B, T, width) that predict the token after each."""
        raise NotImplementedError

    @property
    def longest(self) -> int | None:
        """Most tokens that `step` reads after `initial_state`; None: any number."""
        return self.context

    def initial_state(self, batch, length: int | None) -> Any:
        """Return the state before the first token of `batch` texts, for `step`.

        Args:
            batch: int or scalar int tensor.
            length: most tokens of a text; None: unknown.
        """
        raise NotImplementedError

    def next_vectors(self, tokens, index, state) -> tuple[Any, Any]:
        """Return `vectors` of the next tokens (B, T), and the state after them."""
        raise NotImplementedError

    def call(self, tokens, training=None):
        """Return logits (B, T, V) in float32."""
        return self.logits(self.vectors(tokens, training))

    def step(self, tokens, index, state) -> tuple[Any, Any]:
        """Return the logits (B, T, V) after the next tokens of texts, and the state after them.

        Args:
            tokens: (B, T), at places index to index + T - 1.
            index: int or scalar int tensor.
            state: of `initial_state` or the step before.
        """
        vectors, state = self.next_vectors(tokens, index, state)
        return self.logits(vectors), state

    def logits(self, vectors):
        """Return logits (..., V) in float32 for vectors (..., width)."""
        if self.output_layer is not None:
            return ops.cast(self.output_layer(vectors), "float32")
        embeddings = ops.cast(self.embedding.embeddings, vectors.dtype)
        return ops.cast(ops.matmul(vectors, ops.transpose(embeddings)), "float32")

    def logits_at(self, tokens, places, training=None):
        """Return logits (B, K, V) at places (B, K) of rows of tokens (B, T)."""
        vectors = self.vectors(tokens, training)
        return self.logits(ops.take_along_axis(vectors, places[..., None], axis=1))

    def batch(self, data, rows):
        """See `InMemoryModel.batch`; of a stream (runs, N), rows are windows' first places."""
        if self.asked:
            return super().batch(data, rows)
        places = rows[..., None] + tf.range(self.context + 1)
        tokens = tf.cast(gathered(data[0], places), tf.int32)
        return tokens[..., :-1], tokens[..., 1:]

    def decode(self, encoded: tuple, training: bool | None = None):
        """Return logits at all places of windows (B, T), or at K places of rows (B, T + K)."""
        (inputs,) = encoded
        if not self.asked:
            return self(inputs, training=training)
        return self.logits_at(inputs[:, : -self.asked], inputs[:, -self.asked :], training)

    def is_decayed(self, variable) -> bool:
        """Return whether a variable is a matrix, as in GPT-2's successors.

        Axes of length 1 don't count: a number per head, shaped to be broadcast, is no matrix.
        """
        return sum(size > 1 for size in variable.shape) > 1


def redraw(variables, spread: float) -> None:
    """Draw variables anew from N(0, spread), unless only shapes are built."""
    if not shapes_are_all():
        for variable in variables:
            initial = keras.initializers.RandomNormal(stddev=spread)
            variable.assign(initial(variable.shape, variable.dtype))


class Scores(NamedTuple):
    """Of the targets of `ScoredRows`, (N, T) or (N, K); 0 where there is none."""

    losses: np.ndarray  # -ln of the probability of the target, in nats
    tokens: np.ndarray  # the most probable token
    has_target: np.ndarray  # bool

    @property
    def loss(self) -> float:
        """Return the mean over all targets, in nats."""
        return float(self.losses[self.has_target].mean(dtype=np.float64))


class Scorer:
    """Scores windows or rows by a compiled function.

    Args:
        model: a `LanguageModel` or `MaskedWordModel`, used with its current weights, without
            dropout.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        sizes = (model.fixed_length, None, None)
        shapes = [tf.TensorSpec((None, size), tf.int32) for size in sizes]
        self._score = compiled(self._scores, False, shapes)

    def __call__(self, scored: ScoredRows) -> Scores:
        """Score windows or rows."""
        size = _VALUES // (scored.targets.shape[1] * self.model.vocabulary)
        size = min(max(size, 1), _TOGETHER)
        parts = []
        for at in range(0, len(scored.tokens), size):
            batch = (
                array[at : at + size] for array in (scored.tokens, scored.targets, scored.places)
            )
            parts.append([np.asarray(array) for array in self._score(*batch)])
        losses, tokens = map(np.concatenate, zip(*parts, strict=True))
        return Scores(losses, tokens, scored.has_target)

    def _scores(self, tokens, targets, places):
        logits = self.model.logits_at(tokens, places, training=False)
        has_target = tf.cast(targets != PADDING, tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(targets, 0), logits)
        return losses * has_target, tf.argmax(logits, axis=-1, output_type=tf.int32)
