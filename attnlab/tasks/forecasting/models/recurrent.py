"""Recurrent forecasters that attend once, or at every step of a decoder."""

from __future__ import annotations

from functools import partial
from typing import Any

from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.layers.recurrent import (
    AttentionReadout,
    RecurrentEncoder,
    StackedCells,
    through_time,
)
from attnlab.tasks.forecasting.models.forecaster import Forecaster
from attnlab.training.steps import Border, is_faster_with_xla


class RecurrentForecaster(AttentionReadout, Forecaster):
    """A recurrent encoder whose last state attends to all states; see `AttentionReadout`."""

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


class EncoderDecoderForecaster(RecurrentForecaster):
    """A decoder that forecasts `at_once` values per step and attends to the history at each step.

    The decoder has as many cells as the encoder, of the same width, and starts from the encoder's
    last states. The input of a step are the `at_once` values before those that it forecasts: first
    the newest values of the window, then its own forecasts, in training as well as in use. For a
    mechanism with `placement="before_step"` (Bahdanau et al. 2015) the query is the state before
    the step, and the context is an input of the first cell. For others (Luong et al. 2015) the
    query is the state after the step. The head reads context and state as in
    `RecurrentForecaster`. With Bahdanau's attention and one value per step this is the LSTMa of
    Zhou et al. (2021, arXiv 2012.07436), as far as the paper describes it. Differences: the linear
    parts of `Forecaster`, and several values per step, which divides the cost of a long horizon.

    The position of every query is the end of the history, so a monotonic window stays there.
    Attention weights have no dropout: the settings refuse `attention.dropout`.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        layers: int = 1,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        stack = {"cell": cell, "layers": layers, "dropout": dropout}
        super().__init__(attention=attention, **stack, **kwargs)
        self.cells = StackedCells(**stack, units=self.encoder.width, name="decoder")
        self.before = attention.placement == "before_step" and self.reads != "state"

    @property
    def ahead(self) -> range:
        """Return the first forecast step of each decoder step, which has one query each."""
        return range(1, self.horizon + 1, self.at_once)

    def stackable(self, batch: int) -> int:
        """Return 1: the loop over the steps of a decoder does not support stacked runs."""
        return 1

    def _build_features(self, history_shape: tuple) -> int:
        width = self.encoder.width
        entering = self.attention.context_width(width, width) if self.before else 0
        self.cells.build((None, self.at_once), entering)
        return super()._build_features(history_shape)

    def _encoded(self, window, training):
        newest = window[..., -self.at_once :, 0]
        return self.encoder.encode(window, training=training), newest

    def _forecast(self, encoded, straight, training):
        written, _ = self._written(encoded, straight, training)
        return ops.reshape(written, (-1, len(self.ahead) * self.at_once))[:, : self.horizon]

    def _weights(self, encoded, straight):
        if self.reads == "state":
            return None
        _, asked = self._written(encoded, straight, False)
        memory = self.attention.project(encoded[0].states)
        # One at a time: a mechanism may treat several queries as consecutive positions.
        look = partial(self._look, memory=memory, training=False)
        weights = ops.map(lambda query: look(query[:, None]).weights, ops.swapaxes(asked, 0, 1))
        return ops.moveaxis(weights[..., 0, :], 0, 2)

    def _written(self, encoded, straight, training) -> tuple:
        """Return the forecasts of all steps, (B, T, at_once), and their queries, (B, T, W)."""
        states, first = encoded
        memory = () if self.reads == "state" else self.attention.project(states.states)
        known = self._in_steps(straight, first)

        def look(query):
            if self.reads == "state":
                return None
            return self._look(query[:, None], memory, training).context[:, 0]

        def step(index, state, entering):
            (cells, newest), (known, drops) = state, entering
            projected = self.cells.project(ops.cast(newest, self.compute_dtype))
            if self.before:
                context = look(query := cells[-1][0])
                projected = projected + self.cells.project_entering(context)
            cells = self.cells.advance(cells, projected, drops)
            if not self.before:
                context = look(query := cells[-1][0])
            written = ops.cast(self.head(self.read(context, cells[-1][0])), "float32")
            return (cells, known + written), (written, ops.cast(query, "float32"))

        last = tuple(  # of both directions per layer, (B, W), W their joint width
            tuple(ops.concatenate(parts, axis=-1) for parts in zip(*directions, strict=True))
            for directions in states.last
        )
        entering = known, self.cells.drops(known, training)
        widths = [self.at_once, self.encoder.width]
        return through_time(step, (last, first), entering, widths, "float32")

    def _in_steps(self, straight, newest):
        """Return the sum of the linear parts, divided into steps: (B, T, at_once)."""
        known = ops.zeros((ops.shape(newest)[0], self.horizon), "float32")
        for part in straight:
            known = known + part
        missing = -self.horizon % self.at_once
        known = ops.pad(known, [[0, 0], [0, missing]])
        return ops.reshape(known, (-1, len(self.ahead), self.at_once))


def make_recurrent(at_once: int | None = None, **settings: Any) -> RecurrentForecaster:
    """Make a recurrent forecaster, with a decoder if `at_once` is given."""
    cls = RecurrentForecaster if at_once is None else EncoderDecoderForecaster
    return cls(at_once=at_once, **settings)
