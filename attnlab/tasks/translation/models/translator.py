"""The base class of translators: encode, decode, step, and the vocabularies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.errors import RequestError


class DecoderOutput(NamedTuple):
    """The output of a decoder for a whole target."""

    states: Any  # (B, T, D), from which `Translator.logits` computes the logits
    weights: tuple  # (B, H, T, S) over the source, of each decoder layer; () without attention


class Translator(keras.Model, ABC):
    """Maps source and target to the logits of each next target token.

    A source row is `tokens + [END]`, a target row `[START] + tokens`, both padded at the end with
    `PAD`; padding changes no result. Memory and state are structures of tensors, each with the
    batch on axis 0, so that a search can repeat and reorder them with `tf.nest`.

    `tie_embeddings` is `none`; `output`: the output matrix is the target embedding; `all`: it is
    the source embedding too, for a shared vocabulary. `output_initializer` draws an output matrix
    that is not tied. `max_source` is the longest source, END included.

    Attributes:
        fixed_length: the longest source that the mechanism's weights allow, set by `build`; None if
            there is no limit.
        max_positions: the length of the table of learned positions; None without them.
        faster_with_xla: whether XLA trains it faster on this CPU if all batches have one shape.
    """

    fixed_length: int | None = None
    max_positions: int | None = None
    faster_with_xla: bool = False
    _weights_program: Any = None  # compiled by the first call of `attend`

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
        """Return one language's embedding; its vectors have length 1 on average."""
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
        """Set the output bias to the log share of each target word; `counts` (V,) are of train.

        A bias that starts at 0 needs thousands of steps to get there. Until then the states make up
        for it: they become equal for every word, and bounded ones, such as Luong's
        `tanh(W_c [c; s])`, saturate for good. The papers don't say how the bias is initialized. 1
        is added to each count, so that no word is impossible.
        """
        if self.vocabulary is not None:
            shares = (counts + 1.0) / (np.sum(counts) + len(counts))
            self.vocabulary.bias.assign(np.log(shares))

    def draws(self, steps):
        """Return how often one generator draws in a training step on targets of T tokens."""
        return 1

    @abstractmethod
    def encode(self, source, training=None):
        """Encode sources (B, S) into the memory: mask, projected keys and values."""

    @abstractmethod
    def decode(self, target, memory, training=None) -> DecoderOutput:
        """Decode whole targets (B, T) from START; a step sees no later token."""

    @abstractmethod
    def initial_state(self, memory, length):
        """Return the state before the first `step`.

        `length`, int or scalar int tensor, is the largest number of steps; with None the state may
        grow with each step, which XLA doesn't allow.
        """

    @abstractmethod
    def step(self, tokens, index, memory, state) -> tuple[Any, Any]:
        """Read one more token of each target; return logits (B, V) of the next one, and the state.

        `tokens` are (B,) int32, `index` their position in the target, a scalar int32 tensor; START
        is at 0. `state` is that of `initial_state`, or of the previous step.
        """

    def logits(self, states):
        """Return logits (..., V) in float32 of decoder states (..., D)."""
        if self.vocabulary is not None:
            return ops.cast(self.vocabulary(states), "float32")
        kernel = ops.cast(self.target_embedding.embeddings, self.compute_dtype)
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")

    def call(self, inputs, training=None):
        """Return logits (B, T, V) of (source, target)."""
        source, target = inputs
        memory = self.encode(source, training=training)
        return self.logits(self.decode(target, memory, training=training).states)

    def attention_weights(self, source, target) -> np.ndarray | None:
        """Return the cross-attention weights (B, L, H, T, S) of all layers; None without attention.

        `source` and `target` are ids (B, S) and (B, T).
        """
        if self._weights_program is None:
            ids = tf.TensorSpec((None, None), tf.int32)
            self._weights_program = tf.function(
                self._weights, input_signature=(ids, ids), autograph=False
            )
        layers = self._weights_program(*(tf.constant(ids, tf.int32) for ids in (source, target)))
        arrays = [ops.cast(layer, "float32").numpy() for layer in layers]
        return np.stack(arrays, axis=1) if arrays else None

    def _weights(self, source, target) -> tuple:
        return self.decode(target, self.encode(source, training=False), training=False).weights

    def embeddings(self) -> dict[str, np.ndarray]:
        """Return the embeddings (words, width): `source` and `target`, or only `shared`."""
        tables = {"source": self.source_embedding, "target": self.target_embedding}
        if self.source_embedding is self.target_embedding:
            tables = {"shared": self.target_embedding}
        return {name: ops.convert_to_numpy(layer.embeddings) for name, layer in tables.items()}

    def _memory_length(self, attention: Attention) -> int | None:
        """Return the memory length to build a mechanism for: `max_source`, or its fixed length."""
        longest = self.max_source
        return min(longest, attention.fixed_length or longest) if longest else None
