"""A Transformer encoder of texts, given as token numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import Tensor
from attnlab.layers.transformer import EncoderStack

PAD, END = 0, 3  # of `attnlab.text.tokenizers`


class Encoding(NamedTuple):
    """What an encoder makes of rows (B, S) of tokens."""

    vectors: Tensor  # (B, S, W) of the last layer
    weights: Tensor  # (B, H, S, S) of its self-attention


class TextEncoder(EncoderStack, keras.layers.Layer):
    """Embeddings, segments, positions, and Transformer encoder layers.

    The embeddings of tokens, segments and positions are summed; norm, dropout and the layers
    follow. The segment is 0 up to the first END and 1 after it.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3 and figure 2. Differences: any
    mechanism is the self-attention; pre-norm and other positions are possible, too.

    Args:
        attention: a mechanism for each layer.
        vocabulary: number of tokens.
        most: number of positions of the learned table: the most tokens of a row.
        units: width of the vectors.
        feed_forward: inner width of the feed-forward networks, whose activation is GELU.
        dropout: share of the sum and of each sub-layer's output that is dropped in training.
        norm: `pre` or `post`.
        positions: one of `positional_encoding.KINDS`.

    A call gets tokens (B, S), padded at the end with PAD, which is masked.
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        vocabulary: int,
        most: int,
        units: int,
        feed_forward: int,
        dropout: float = 0.0,
        norm: str = "pre",
        positions: str = "learned",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.width, self.layers, self.most = units, len(attention), most
        normal = keras.initializers.RandomNormal(stddev=0.02)
        settings = {"output_dim": units, "embeddings_initializer": normal}
        self.embedding = keras.layers.Embedding(vocabulary, name="embedding", **settings)
        self.segments = keras.layers.Embedding(2, name="segments", **settings)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6, name="norm")
        self.dropout = Dropout(dropout)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout}
        self.stack(attention, positions=positions, norm=norm, activation="gelu", **layer)

    @property
    def fixed_length(self) -> int | None:
        """The only row length that the mechanism's weights fit; None: any length."""
        return self.encoder[0].attention.fixed_length

    @property
    def depths(self) -> dict[str, int]:
        """See `attnlab.encoders.tuning.FineTuned`."""
        depths = {variable.path: 0 for variable in self.variables}
        for number, layer in enumerate(self.encoder, 1):
            depths |= {variable.path: number for variable in layer.variables}
        if self.final_norm is not None:
            depths |= {variable.path: self.layers for variable in self.final_norm.variables}
        return depths

    def build(self, tokens_shape: tuple) -> None:
        """Create the weights for rows of shape (B, S)."""
        shape = (*tokens_shape, self.width)
        self.embedding.build(tokens_shape)
        self.segments.build(tokens_shape)
        self.norm.build(shape)
        self.build_stack(shape, self.most)

    def call(self, tokens: Tensor, training: bool | None = None) -> Encoding:
        """Encode (B, S) tokens."""
        ends = ops.cast(ops.equal(tokens, END), "int32")
        behind = ops.cast(ops.cumsum(ends, axis=1) - ends > 0, "int32")
        vectors = self.position(self.embedding(tokens) + self.segments(behind))
        vectors = self.dropout(self.norm(vectors), training=training)
        mask = ops.not_equal(tokens, PAD)[:, None]
        vectors, attended = self.through_stack(vectors, mask, training)
        return Encoding(self.normed(vectors), attended.weights)
