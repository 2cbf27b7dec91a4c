"""A recurrent encoder: what attention attends to, and the state that asks."""

from __future__ import annotations

from typing import NamedTuple

import keras
from keras import ops

_CELLS = {"simple": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


class LayerStates(NamedTuple):
    """All that a recurrent encoder knows at the end of a sequence.

    Attributes:
        states: (B, S, W) of the last layer.
        last: layer, direction, number -> (B, units) after the last real step: the state and, of an
            LSTM, the cell's. Empty without `last_states`.
    """

    states: keras.KerasTensor
    last: tuple[tuple[tuple, ...], ...]


class RecurrentEncoder(keras.layers.Layer):
    """Stacked recurrent layers over a sequence.

    Args:
        cell: `simple` (Elman), `gru` or `lstm`.
        units: width of each direction's state.
        layers: how many stand on each other.
        bidirectional: read in both directions and join the states, as Bahdanau et al. (2015) do.
        dropout: share of each layer's output that is dropped in training.
        reset_after: of a GRU: whether its reset gate acts behind the matrix on the state, as fast
            kernels have it, or before, as Cho et al. (2014) do.
        last_states: whether `encode` is to give each layer's last states.
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
        reset_after: bool = True,
        last_states: bool = False,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.units, self.bidirectional = cell, units, bidirectional
        self.reset_after, self.last_states = reset_after, last_states
        self.recurrent = [self._layer(number) for number in range(layers)]
        self.dropouts = [keras.layers.Dropout(dropout) for _ in range(layers)] if dropout else []

    def _layer(self, number: int) -> keras.layers.Layer:
        form = {"reset_after": self.reset_after} if self.cell == "gru" else {}
        layer = _CELLS[self.cell](
            self.units,
            return_sequences=True,
            return_state=self.last_states,
            name=f"{self.cell}_{number}",
            **form,
        )
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

    def call(self, sequence, training=None) -> tuple:
        """Encode (B, S, F).

        Returns:
            The memory (B, S, W), and each direction's state after its last step, (B, W).
        """
        states = self.encode(sequence, training=training).states
        if not self.bidirectional:
            return states, states[:, -1]
        # Read backwards, the sequence ends at its first step.
        forward, backward = states[:, -1, : self.units], states[:, 0, self.units :]
        return states, ops.concatenate([forward, backward], axis=-1)

    def encode(self, sequence, mask=None, training=None) -> LayerStates:
        """Encode sequences of several lengths.

        Args:
            sequence: (B, S, F).
            mask: None, or bool (B, S), True where there is something, False at the end alone.
            training: whether to drop.

        Returns:
            States, finite and without meaning where masked, and each layer's last real ones.
        """
        states, last = sequence, []
        for number, layer in enumerate(self.recurrent):
            output = layer(states, mask=mask, training=training)
            states, *ends = output if self.last_states else (output,)
            last.append(tuple(zip(*[iter(ends)] * (2 if self.cell == "lstm" else 1), strict=True)))
            if self.dropouts:
                states = self.dropouts[number](states, training=training)
        return LayerStates(states, tuple(last))
