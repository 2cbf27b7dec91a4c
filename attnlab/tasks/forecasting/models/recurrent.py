"""A recurrent forecaster whose last state attends to all states."""

from __future__ import annotations

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.layers.recurrent import AttentionReadout, RecurrentEncoder
from attnlab.tasks.forecasting.models.forecaster import Forecaster
from attnlab.training.steps import Border, is_faster_with_xla


class RecurrentForecaster(AttentionReadout, Forecaster):
    """A recurrent encoder whose last state attends to all states; see `AttentionReadout`.

    `readout` says what the head reads. For the other settings see
    `RecurrentEncoder` and `Forecaster`.
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
        readout: str = "concat",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"units": units, "layers": layers, "bidirectional": bidirectional}
        self.encoder = RecurrentEncoder(cell=cell, dropout=dropout, name="encoder", **sizes)
        self.look_by(attention, readout, self.encoder.width)

    @property
    def faster_with_xla(self) -> bool:
        """Return whether XLA trains it faster than the graph on this CPU."""
        return is_faster_with_xla(self.encoder.units, Border.RECURRENT_FORECASTER)

    def _values_per_item(self) -> int:
        return self.encoder.width

    def _build_features(self, history_shape: tuple) -> int:
        self.encoder.build(history_shape)
        return self.build_look((*history_shape[:2], self.encoder.width))

    def _encoded(self, window, training):
        return self.encoder(window, training=training)

    def _features(self, encoded, training):
        states, last_state = encoded
        if self.reads == "state":
            return last_state, None
        output = self._look(last_state[:, None], self.attention.project(states), training)
        return self.read(output.context[:, 0], last_state), output

    def _look(self, queries, memory: ProjectedMemory, training) -> AttentionOutput:
        """Attend with queries (B, T, W), all at the position of the last value of the history."""
        steps = memory.values.shape[-2]
        return self.attention(queries, memory, start_index=steps - 1, training=training)
