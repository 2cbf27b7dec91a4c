"""Language models, of a Transformer or recurrent cells; scores of windows or rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.errors import RequestError
from attnlab.internals import is_shapes_only
from attnlab.layers.recurrent import AttentionReadout, StackedCells
from attnlab.layers.transformer import EncoderStack
from attnlab.tasks.language.data import PADDING, ScoredRows
from attnlab.training.compilation import XlaLimit, compile_function
from attnlab.training.step import InMemoryModel, gather_rows

_TOGETHER, _VALUES = 128, 2**24  # most windows that are scored together, most logits


class LanguageModel(InMemoryModel, ABC):
    """Maps tokens (B, T) to logits (B, T, V) of the token after each; a place sees its past only.

    The logits are `x E'` with the embeddings E (V, width) if `tie_embeddings` (Press and Wolf 2017,
    arXiv 1608.05859), else `x W`. `dropout` is the share of the embeddings dropped in training.

    Training data are a stream of tokens, where a row is the first place of a window of T =
    `context` tokens; or, with `asked=K`, rows of T tokens and of the K places that are scored,
    (N, T + K).
    """

    xla_limit: XlaLimit | None = None  # up to which size XLA trains it faster; None: never
    spread = 0.02  # standard deviation of the initial embeddings and of an untied output

    def __init__(
        self,
        *,
        vocabulary: int,
        context: int,
        width: int,
        dropout: float = 0.0,
        tie_embeddings: bool = True,
        asked: int = 0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary, self.context, self.width = vocabulary, context, width
        self.asked = asked
        normal = keras.initializers.RandomNormal(stddev=self.spread)
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

    @abstractmethod
    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the layers for vectors (B, T, width)."""

    @abstractmethod
    def vectors(self, tokens, training=None):
        """Return the vectors (B, T, width) that predict the token after each."""

    @property
    def longest(self) -> int | None:
        """Most tokens that `step` reads after `initial_state`; None: any number."""
        return self.context

    @abstractmethod
    def initial_state(self, batch, length: int | None) -> Any:
        """Return the state before the first token of `batch` texts of at most `length` tokens."""

    @abstractmethod
    def next_vectors(self, tokens, index, state) -> tuple[Any, Any]:
        """Return `vectors` of the next tokens (B, T), and the state after them."""

    def call(self, tokens, training=None):
        """Return logits (B, T, V) in float32."""
        return self.logits(self.vectors(tokens, training))

    def step(self, tokens, index, state) -> tuple[Any, Any]:
        """Return the logits (B, T, V) after tokens (B, T) from place `index`, and the state."""
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
        tokens = tf.cast(gather_rows(data[0], places), tf.int32)
        return tokens[..., :-1], tokens[..., 1:]

    def decode(self, encoded: tuple, training: bool | None = None):
        """Return logits at all places of windows (B, T), or at K places of rows (B, T + K)."""
        (inputs,) = encoded
        if not self.asked:
            return self(inputs, training=training)
        return self.logits_at(inputs[:, : -self.asked], inputs[:, -self.asked :], training)

    def is_decayed(self, variable) -> bool:
        """Return whether a variable is a matrix, apart from axes of length 1."""
        return sum(size > 1 for size in variable.shape) > 1


class TransformerLanguageModel(EncoderStack, LanguageModel):
    """Causal pre-norm Transformer layers and a final norm between embeddings and logits.

    With `activation="gelu"`, `norm="layer"`, `biases=False` and `tie_embeddings=True` it is
    nanoGPT's model. Initial matrices are drawn from N(0, 0.02); those that add to the residual
    stream, of the attention (`output_kernel`) and of the feed-forward network (`contract`), from
    N(0, 0.02 / sqrt(2 layers)). Biases start at 0.

    Source: Radford et al. 2019 (GPT-2), section 2.3, and its code; github.com/karpathy/nanoGPT
    (3adf61e). Difference: any mechanism, position scheme, norm and activation.

    The arguments are those of `LanguageModel` and `EncoderStack.stack`; a learned table has
    `context` positions, and the mechanism decides its own biases.
    """

    xla_limit = XlaLimit.TRANSFORMER_STACK

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        units: int,
        feed_forward: int,
        positions: str = "learned",
        norm: str = "layer",
        activation: str = "gelu",
        biases: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        super().__init__(width=units, dropout=dropout, **kwargs)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout, "causal": True}
        form = {"activation": activation, "normalization": norm, "biases": biases, "epsilon": 1e-5}
        self.stack(attention, positions=positions, **layer, **form)

    @property
    def fixed_length(self) -> int | None:
        """The only length that the mechanism's weights fit; None: any up to the positions'."""
        return self.encoder[0].attention.fixed_length

    @property
    def longest(self) -> int | None:
        """See `LanguageModel.longest`; any number with states of constant size and no table."""
        states = all(layer.attention.has_state for layer in self.encoder)
        return None if states and self.position.kind != "learned" else self.context

    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the layers, and draw GPT-2's initial values."""
        self.build_stack(shape, self.context)
        for layer in self.encoder:
            matrices = [weight for weight in layer.trainable_variables if len(weight.shape) == 2]
            kernels = [weight for weight in matrices if weight.name.endswith("kernel")]
            # These add to the residual stream.
            into = [k for k in kernels if k.name == "output_kernel" or "/contract/" in k.path]
            small = self.spread / (2 * len(self.encoder)) ** 0.5
            draws = [*((k, self.spread) for k in kernels), *((k, small) for k in into)]
            for kernel, spread in [] if is_shapes_only() else draws:
                initial = keras.initializers.RandomNormal(stddev=spread)
                kernel.assign(initial(kernel.shape, kernel.dtype))

    def vectors(self, tokens, training=None):
        """See `LanguageModel.vectors`."""
        return self.normed(self._through(tokens, training)[0])

    def initial_state(self, batch, length: int | None) -> list[Any]:
        """Return an empty cache per layer; see `LanguageModel.initial_state`."""
        return self.empty_caches(batch, length)

    def next_vectors(self, tokens, index, state) -> tuple[Any, list[Any]]:
        """See `LanguageModel.next_vectors`."""
        vectors = self.position(self.embedding(tokens), start_index=index)
        vectors, state = self.next_through_stack(vectors, state, index)
        return self.normed(vectors), state

    def _through(self, tokens, training):
        vectors = self.dropout(self.position(self.embedding(tokens)), training=training)
        return self.through_stack(vectors, training=training)


class RecurrentLanguageModel(AttentionReadout, LanguageModel):
    """Stacked recurrent cells; each state s_t attends to s_1 to s_t, and the logits read both.

    With the context c_t of the mechanism the vector at a place is `tanh(W [c_t; s_t])`, as in Luong
    et al. 2015 (arXiv 1508.04025), equation 5; with `attention=none` it is s_t.

    Source: Daniluk et al. 2017 (arXiv 1702.04521), section 3.1, attention over the model's own
    past. Differences: any mechanism; it sees all of the window, the current state included.

    `units` is the width of the embeddings and of the states; `dropout` is the share dropped of the
    embeddings, between the cells and before the output. For the others see `LanguageModel`.
    """

    spread = 0.1

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "lstm",
        units: int = 128,
        layers: int = 1,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        if attention.has_context and not attention.has_queries:
            raise RequestError(
                "attention: expected a mechanism with a query, so that each place has weights of "
                f"its own, got {type(attention).__name__}."
            )
        super().__init__(width=units, dropout=dropout, **kwargs)
        sizes = {"units": units, "layers": layers, "dropout": dropout}
        self.cells = StackedCells(cell=cell, name="cells", **sizes)
        self.init_readout(attention, "attentional_state", units)
        self.before_output = Dropout(dropout)

    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the cells, the mechanism and the readout."""
        self.cells.build(shape)
        self.build_readout(shape)

    def vectors(self, tokens, training=None):
        """See `LanguageModel.vectors`."""
        embedded = self.dropout(self.embedding(tokens), training=training)
        states, _ = self.cells.through(embedded, self._empty(ops.shape(tokens)[0]), training)
        context = None
        if self.reads != "state":
            context = self.attention(states, states, causal=True, training=training).context
        return self.before_output(self.read(context, states), training=training)

    @property
    def longest(self) -> int | None:
        """See `LanguageModel.longest`; None if the whole state has a constant size."""
        constant = self.reads == "state" or self.attention.has_state
        return None if constant else self.context

    def initial_state(self, batch, length: int | None) -> tuple[tuple, Any]:
        """Return the cells' states and an empty cache; see `LanguageModel.initial_state`."""
        cache = ()
        if self.reads != "state":
            cache = self.attention.empty_cache(batch, length, self.width)
        return self._empty(batch), cache

    def next_vectors(self, tokens, index, state) -> tuple[Any, tuple[tuple, Any]]:
        """See `LanguageModel.next_vectors`."""
        before, cache = state
        states, after = self.cells.through(self.embedding(tokens), before, False)
        context = None
        if self.reads != "state":
            attended, cache = self.attention.attend_to_past(states, cache, start_index=index)
            context = attended.context
        return self.read(context, states), (after, cache)

    def _empty(self, batch) -> tuple:
        """Return zeros for each cell's state, (B, units); an LSTM has two."""
        count = 2 if self.cells.kind == "lstm" else 1
        zeros = ops.zeros((batch, self.width), self.cells.compute_dtype)
        return tuple((zeros,) * count for _ in self.cells.cells)


class Scores(NamedTuple):
    """Of the targets of `ScoredRows`, (N, K)."""

    losses: np.ndarray  # -ln of the probability of the target, in nats; 0 where there is none
    tokens: np.ndarray  # the most probable token


class Scorer:
    """Scores windows or rows with the current weights of a language or masked-word model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        sizes = (model.fixed_length, None, None)
        shapes = [tf.TensorSpec((None, size), tf.int32) for size in sizes]
        self._score = compile_function(self._scores, False, shapes)

    def __call__(self, scored: ScoredRows) -> Scores:  # noqa: D102
        size = _VALUES // (scored.targets.shape[1] * self.model.vocabulary)
        size = min(max(size, 1), _TOGETHER)
        parts = []
        for at in range(0, len(scored.tokens), size):
            scores = self._score(*scored.at(slice(at, at + size)))
            parts.append([np.asarray(array) for array in scores])
        return Scores(*map(np.concatenate, zip(*parts, strict=True)))

    def _scores(self, tokens, targets, places):
        logits = self.model.logits_at(tokens, places, training=False)
        has_target = tf.cast(targets != PADDING, tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(targets, 0), logits)
        return losses * has_target, tf.argmax(logits, axis=-1, output_type=tf.int32)
