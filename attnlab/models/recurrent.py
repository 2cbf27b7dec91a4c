"""A recurrent encoder: what attention attends to, and the state that asks."""

from __future__ import annotations

from typing import NamedTuple

import keras
from keras import ops

_CELLS = {
    "simple": keras.layers.SimpleRNN,
    "gru": keras.layers.GRU,
    "lstm": keras.layers.LSTM,
}


class EncoderOutput(NamedTuple):
    """What a recurrent encoder makes of a sequence.

    Attributes:
        states: (B, S, W) the memory, W = units, twice that if bidirectional.
        last_state: (B, W) each direction's state after its last step.
    """

    states: keras.KerasTensor
    last_state: keras.KerasTensor


@keras.saving.register_keras_serializable(package="attnlab")
class RecurrentEncoder(keras.layers.Layer):
    """Stacked recurrent layers over a sequence.

    Args:
        cell: `simple` (Elman), `gru` or `lstm`.
        units: width of each direction's state.
        layers: how many stand on each other.
        bidirectional: read in both directions and join the states, as Bahdanau et al. (2015) do.
        dropout: share of each layer's output that is dropped in training.
        **kwargs: of every Keras layer.
    """

    def __init__(
        self,
        *,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.units, self.layers = cell, units, layers
        self.bidirectional, self.dropout = bidirectional, dropout
        self.recurrent = [self._layer(number) for number in range(layers)]
        self.dropouts = [keras.layers.Dropout(dropout) for _ in range(layers)] if dropout else []

    def _layer(self, number: int) -> keras.layers.Layer:
        layer = _CELLS[self.cell](self.units, return_sequences=True, name=f"{self.cell}_{number}")
        if not self.bidirectional:
            return layer
        return keras.layers.Bidirectional(layer, name=f"bidirectional_{number}")

    @property
    def width(self) -> int:
        """W, the width of a state."""
        return self.units * (2 if self.bidirectional else 1)

    def build(self, sequence_shape) -> None:
        """Create the weights for a sequence of shape (B, S, F)."""
        shape = tuple(sequence_shape)
        for layer in self.recurrent:
            layer.build(shape)
            shape = (*shape[:2], self.width)

    def call(self, sequence, training=None) -> EncoderOutput:
        """Encode (B, S, F)."""
        states = sequence
        for number, layer in enumerate(self.recurrent):
            states = layer(states)
            if self.dropouts:
                states = self.dropouts[number](states, training=training)
        if not self.bidirectional:
            return EncoderOutput(states, states[:, -1])
        # Read backwards, the sequence ends at its first step.
        forward, backward = states[:, -1, : self.units], states[:, 0, self.units :]
        return EncoderOutput(states, ops.concatenate([forward, backward], axis=-1))

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "cell": self.cell,
            "units": self.units,
            "layers": self.layers,
            "bidirectional": self.bidirectional,
            "dropout": self.dropout,
        }
