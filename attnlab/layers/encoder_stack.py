"""Transformer encoder layers on each other, as a part of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.layers.transformer import TransformerEncoderLayer


class EncoderStack:
    """A part of models that have Transformer encoder layers, each with a mechanism of its own.

    With `norm="pre"` a norm stands behind the last layer, which `normed` is.
    """

    def stack(self, attention: Sequence[Attention], *, norm: str = "pre", **layer: Any) -> None:
        """Make the layers; called once the model is begun.

        Args:
            attention: a mechanism for each layer.
            norm: `pre` or `post`.
            **layer: `units`, `feed_forward`, `dropout` of `TransformerEncoderLayer`.
        """
        self.encoder = [
            TransformerEncoderLayer(attention=each, norm=norm, name=f"encoder_{number}", **layer)
            for number, each in enumerate(attention)
        ]
        self.final_norm = None
        if norm == "pre":
            self.final_norm = keras.layers.LayerNormalization(epsilon=1e-6, name="final_norm")

    def build_stack(self, shape: tuple) -> None:
        """Create the weights for vectors (B, T, units)."""
        for layer in self.encoder:
            layer.build(shape)
        if self.final_norm is not None:
            self.final_norm.build(shape)

    def through_stack(self, vectors, mask=None, training=None) -> tuple[Any, AttentionOutput]:
        """Vectors (B, T, units) behind the last layer, not normed, and what it attended to."""
        output = None
        for layer in self.encoder:
            vectors, output = layer(vectors, attention_mask=mask, training=training)
        return vectors, output

    def normed(self, vectors):
        """Vectors (..., units) behind the last layer as an output reads them."""
        return vectors if self.final_norm is None else self.final_norm(vectors)
