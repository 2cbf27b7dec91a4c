"""A recurrent forecaster: one look back through an attention mechanism."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.layers.recurrent import RecurrentEncoder
from attnlab.tasks.forecasting.models.forecaster import Forecaster


class RecurrentForecaster(Forecaster):
    """A recurrent encoder whose last state looks back over all states.

    The states are the memory, the last one is the query, and the mechanism gives the context.
    What the head reads (`readout`):

    - `state`: the last state alone, a plain RNN;
    - `context`: the context alone, as in the book's chapter 9;
    - `concat`: [context; state], as both enter Bahdanau's output layer;
    - `attentional_state`: tanh(W_c [context; state]), Luong et al. (2015), equation 5;
    - `auto`: the mechanism's own of these.

    The other settings are those of `RecurrentEncoder` and `Forecaster`.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        readout: str = "auto",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.attention = attention
        sizes = {"units": units, "layers": layers, "bidirectional": bidirectional}
        self.encoder = RecurrentEncoder(cell=cell, dropout=dropout, name="encoder", **sizes)
        self.reads = attention.readout if readout == "auto" else readout
        if self.reads == "attentional_state":
            self.combine = keras.layers.Dense(
                self.encoder.width, activation="tanh", use_bias=False, name="attentional_state"
            )

    @property
    def fixed_length(self) -> int | None:
        """The length of the mechanism's per-position weights, where it has such."""
        return None if self.reads == "state" else self.attention.fixed_length

    def _values_per_item(self) -> int:
        return self.encoder.width

    def _build_features(self, history_shape: tuple) -> int:
        self.encoder.build(history_shape)
        batch, steps, _ = history_shape
        width = self.encoder.width
        if self.reads == "state":
            return width
        self.attention.build((batch, 1, width), (batch, steps, width))
        context = self.attention.context_width(width, width)
        if self.reads == "attentional_state":
            self.combine.build((batch, context + width))
            return width
        return context + (width if self.reads == "concat" else 0)

    def _encoded(self, window, training):
        return self.encoder(window, training=training)

    def _features(self, encoded, training):
        states, last_state = encoded
        if self.reads == "state":
            return last_state, None
        output = self._look(last_state[:, None], self.attention.project(states), training)
        return self._read(output.context[:, 0], last_state), output

    def _look(self, queries, memory: ProjectedMemory, training) -> AttentionOutput:
        """Attend by queries (B, T, W), of which each stands where the history ends."""
        steps = memory.values.shape[-2]
        return self.attention(queries, memory, start_index=steps - 1, training=training)

    def _read(self, context, state):
        """What the head reads of a context (B, V) and a state (B, W)."""
        if self.reads in ("state", "context"):
            return state if self.reads == "state" else context
        joined = ops.concatenate([context, state], axis=-1)
        return self.combine(joined) if self.reads == "attentional_state" else joined
