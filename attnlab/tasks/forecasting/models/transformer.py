"""A Transformer encoder that forecasts."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from attnlab.attention.base import Attention
from attnlab.layers.positional_encoding import PositionalEncoding
from attnlab.layers.transformer import TransformerEncoderLayer
from attnlab.tasks.forecasting.models.forecaster import Forecaster


class TransformerForecaster(Forecaster):
    """A Transformer encoder over the history; the head reads the newest position.

    Each value becomes a vector of `units` numbers plus its position; `layers` encoder layers
    (Vaswani et al. 2017, section 3.1) attend from every position to every position. Difference:
    a value is projected, there are no word embeddings.

    `attention` has a mechanism for each layer; `positions` are `sinusoidal` or `learned`. The other
    settings are those of `TransformerEncoderLayer` and `Forecaster`.
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        units: int = 32,
        feed_forward: int = 64,
        dropout: float = 0.0,
        norm: str = "pre",
        positions: str = "sinusoidal",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.positions = units, positions
        self.embed = keras.layers.Dense(units, name="embed")
        self.embedding_dropout = keras.layers.Dropout(dropout)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout, "norm": norm}
        self.encoder = [
            TransformerEncoderLayer(attention=each, name=f"encoder_{number}", **layer)
            for number, each in enumerate(attention)
        ]
        self.final_norm = None
        if norm == "pre":
            self.final_norm = keras.layers.LayerNormalization(epsilon=1e-6, name="final_norm")

    @property
    def fixed_length(self) -> int | None:
        """The length that learned positions or per-position attention weights are tied to."""
        if self.positions == "learned":
            return self.position.max_length
        return self.encoder[0].attention.fixed_length

    def _build_features(self, history_shape: tuple) -> int:
        batch, steps, _ = history_shape
        shape = (batch, steps, self.units)
        self.position = PositionalEncoding(kind=self.positions, max_length=steps, name="position")
        self.embed.build(history_shape)
        self.position.build(shape)
        for layer in self.encoder:
            layer.build(shape)
        if self.final_norm is not None:
            self.final_norm.build(shape)
        return self.units

    def _features(self, history, training):
        vectors = self.position(self.embed(history))
        vectors = self.embedding_dropout(vectors, training=training)
        output = None
        for layer in self.encoder:
            vectors, output = layer(vectors, training=training)
        newest = vectors[:, -1]
        if self.final_norm is not None:
            newest = self.final_norm(newest)
        return newest, output
