"""What all translators share: the protocol of encoding, decoding and stepping, the vocabularies."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.errors import RequestError


class DecoderOutput(NamedTuple):
    """What a decoder makes of a whole target."""

    states: Any  # (B, T, D) before the projection on the vocabulary, see `Translator.logits`
    # weights (B, H, T, S) of each decoder layer, by what is attended to: `cross` for the source,
    # `decoder` (B, H, T, T) for the target itself. Empty without attention.
    attention: dict[str, tuple]


class StepOutput(NamedTuple):
    """What a decoder makes of one token of each target."""

    logits: Any  # (B, V) float32, of the next token
    weights: Any  # (B, H, S) of the last decoder layer over the source; None without attention
    state: Any  # to be given to the next step


class Translator(keras.Model):
    """Source and target to the logits of each next target token.

    A source row is `tokens + [END]`, a target row `[START] + tokens`, both padded at the end with
    `PAD`; padding changes no result. What a subclass calls memory and state is a structure of
    tensors whose axis 0 is the batch, in each of them, so that a search can repeat and reorder
    them with `tf.nest` without knowing the model.

    Both embeddings have the `width`. `tie_embeddings` is `none`; `output`: the output matrix is the
    target's embedding; `all`: the source's too, for a vocabulary that both sides share. An output
    matrix that is not tied has its `output_initializer`. `max_source` is the longest source, END
    counted, for mechanisms of fixed length.

    Attributes:
        fixed_length: the longest source that the mechanism's weights reach, known once they are
            created; None where any length will do.
        max_positions: the longest sequence that learned positions reach; None likewise.
        faster_with_xla: whether XLA trains it faster on this CPU if all batches have one shape.
    """

    fixed_length: int | None = None
    max_positions: int | None = None
    faster_with_xla: bool = False
    _weights_program: Any = None  # what `attend` compiled

    def __init__(
        self,
        *,
        source_size: int,
        target_size: int,
        width: int,
        max_source: int | None = None,
        tie_embeddings: str = "none",
        output_initializer: str | keras.initializers.Initializer = "glorot_uniform",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.source_size, self.target_size = source_size, target_size
        self.width, self.max_source, self.tie_embeddings = width, max_source, tie_embeddings
        self.target_embedding = self._embedding(target_size, "target_embedding")
        self.source_embedding = self.target_embedding
        if tie_embeddings != "all":
            self.source_embedding = self._embedding(source_size, "source_embedding")
        self.vocabulary = None
        if tie_embeddings == "none":
            self.vocabulary = keras.layers.Dense(
                target_size, kernel_initializer=output_initializer, name="vocabulary"
            )

    def _embedding(self, size: int, name: str) -> keras.layers.Layer:
        """One language's table; vectors of length 1 on average, whatever their width."""
        initializer = keras.initializers.RandomNormal(0.0, self.width**-0.5)
        return keras.layers.Embedding(
            size, self.width, embeddings_initializer=initializer, name=name
        )

    def build_vocabularies(self, states_width: int) -> None:
        """Create the embeddings and the output projection of decoder states (B, T, D)."""
        self.target_embedding.build((None, None))
        if self.source_embedding is not self.target_embedding:
            self.source_embedding.build((None, None))
        if self.vocabulary is not None:
            self.vocabulary.build((None, None, states_width))
        elif states_width != self.width:
            raise RequestError(
                f"model.tie_embeddings={self.tie_embeddings}: expected embeddings as wide as what "
                f"the output layer reads, {states_width}, got {self.width}."
            )

    def expect(self, counts: np.ndarray) -> None:
        """Start from how often each target word occurs: its logit's bias becomes log share.

        A bias that starts at 0 gets there by learning rates, in thousands of steps. Until then the
        states before it make up for it: they turn the same for every word, and what is bounded,
        as Luong's `tanh(W_c [c; s])`, saturates for good. The papers leave open where it starts;
        a tied output matrix has no bias, so then this does nothing.

        `counts` (V,) is how often each word is to be written in the training part; one more is
        counted of each, so that none is impossible.
        """
        if self.vocabulary is not None:
            shares = (counts + 1.0) / (np.sum(counts) + len(counts))
            self.vocabulary.bias.assign(np.log(shares))

    def draws(self, steps):
        """The most random numbers that one generator draws in training on targets of T steps."""
        return 1

    def encode(self, source, training=None):
        """Make of sources (B, S) the memory of each decoding step: mask, projected keys, values."""
        raise NotImplementedError

    def decode(self, target, memory, training=None) -> DecoderOutput:
        """Read whole targets (B, T) that begin with START, each step seeing those before it."""
        raise NotImplementedError

    def initial_state(self, memory, length):
        """What the first `step` starts from.

        `length`, int or scalar int tensor, is the most steps to come; with None the state may grow
        with each step, which XLA doesn't allow.
        """
        raise NotImplementedError

    def step(self, tokens, index, memory, state) -> StepOutput:
        """Read one more token of each target.

        `tokens` are (B,) int32, `index` their position in the target, a scalar int32 tensor; START
        stands at 0. `state` is that of `initial_state`, or of the step before.
        """
        raise NotImplementedError

    def logits(self, states):
        """Logits (..., V) in float32 of decoder states (..., D)."""
        if self.vocabulary is not None:
            return ops.cast(self.vocabulary(states), "float32")
        kernel = ops.cast(self.target_embedding.embeddings, self.compute_dtype)
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")

    def call(self, inputs, training=None):
        """Logits (B, T, V) of (source, target)."""
        source, target = inputs
        memory = self.encode(source, training=training)
        return self.logits(self.decode(target, memory, training=training).states)

    def attend(self, source, target) -> dict[str, np.ndarray]:
        """Attention weights of all layers for ids (B, S) and (B, T), by what is attended to.

        Returns:
            `cross` (B, L, H, T, S) of the L decoder layers, where there is attention; for a
            Transformer also `encoder` (B, L, H, S, S) and `decoder` (B, L, H, T, T).
        """
        if self._weights_program is None:
            ids = tf.TensorSpec((None, None), tf.int32)
            self._weights_program = tf.function(
                self._all_weights, input_signature=(ids, ids), autograph=False
            )
        weights = self._weights_program(*(tf.constant(ids, tf.int32) for ids in (source, target)))
        return {
            name: np.stack([ops.cast(layer, "float32").numpy() for layer in layers], axis=1)
            for name, layers in weights.items()
        }

    def embeddings(self) -> dict[str, np.ndarray]:
        """The learned vectors (words, width): `source` and `target`, or `shared` if one is both."""
        tables = {"source": self.source_embedding, "target": self.target_embedding}
        if self.source_embedding is self.target_embedding:
            tables = {"shared": self.target_embedding}
        return {name: ops.convert_to_numpy(each.embeddings) for name, each in tables.items()}

    def _all_weights(self, source, target) -> dict[str, tuple]:
        """What `attend` gives, as tensors: (B, H, T, S) of each layer."""
        return self.decode(target, self.encode(source, training=False), training=False).attention

    def _memory_length(self, attention: Attention) -> int | None:
        """The memory length to build a mechanism for: the longest source, or what it reaches."""
        longest = self.max_source
        return min(longest, attention.fixed_length or longest) if longest else None
