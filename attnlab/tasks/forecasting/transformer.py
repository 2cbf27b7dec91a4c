"""A Transformer encoder that forecasts."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.layers.transformer import EncoderStack
from attnlab.tasks.forecasting.models import Forecaster


class TransformerForecaster(EncoderStack, Forecaster):
    """A Transformer encoder over the history; the head reads the newest position.

    Each value becomes a vector of `units` numbers plus its position; `layers` encoder layers
    (Vaswani et al. 2017, section 3.1) attend from every position to every position. Difference:
    a value is projected, there are no word embeddings.

    `attention` has a mechanism for each layer; `positions` are those of `PositionalEncoding`. The
    other settings are those of `TransformerEncoderLayer` and `Forecaster`.
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
        self.units = units
        self.embed = keras.layers.Dense(units, name="embed")
        self.embedding_dropout = Dropout(dropout)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout}
        self.stack(attention, positions=positions, norm=norm, **layer)

    @property
    def fixed_length(self) -> int | None:
        """Return the only history length that the weights fit; None if they fit every length."""
        if self.positions == "learned":
            return self.position.max_length
        return self.encoder[0].attention.fixed_length

    def _build_network(self, history_shape: tuple) -> int:
        batch, steps, _ = history_shape
        shape = (batch, steps, self.units)
        self.embed.build(history_shape)
        self.build_stack(shape)
        return self.units

    def _network(self, history, straight, training):
        vectors = self.position(self.embed(history))
        vectors = self.embedding_dropout(vectors, training=training)
        vectors, output = self.through_stack(vectors, training=training)
        return self.head(self.normed(vectors[:, -1])), None if output is None else output.weights
