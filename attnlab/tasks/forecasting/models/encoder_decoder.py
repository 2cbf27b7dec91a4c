"""A recurrent encoder and decoder that forecast: a look back at every step of the decoder."""

from __future__ import annotations

from keras import ops

from attnlab.attention.base import Attention
from attnlab.errors import RequestError
from attnlab.layers.recurrent import LayerStates
from attnlab.layers.recurrent_cells import StackedCells, through_time
from attnlab.tasks.forecasting.models.recurrent import RecurrentForecaster


class EncoderDecoderForecaster(RecurrentForecaster):
    """A decoder writes the forecast, `at_once` values a step, and looks back before or after each.

    Its cells are as many and as wide as the encoder's, and begin with the last states of that. A
    step reads the values before those that it writes: at first the newest of the window, then its
    own forecast, in training as in use. The mechanism is asked by the state before the step, and
    the context enters the first cell, where its paper has it so (Bahdanau et al. 2015), else by the
    state after it (Luong et al. 2015); the head reads both as in `RecurrentForecaster`. With
    Bahdanau's attention and one value a step this is the LSTMa of Zhou et al. (2021, arXiv
    2012.07436), as far as they tell. Differences: the linear parts of `Forecaster` beside it, and
    more than one value a step, which makes a long horizon as many times cheaper.

    Raises:
        RequestError: the mechanism drops weights in training.
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
        if attention.dropout:
            raise RequestError(
                "attention.dropout: expected 0.0 where model.at_once has the forecast made in "
                f"steps, got {attention.dropout}."
            )
        self.cells = StackedCells(**stack, units=self.encoder.width, name="decoder")
        self.before = attention.placement == "before_step" and self.reads != "state"

    def stackable(self, batch: int) -> int:
        """One: the loop over the steps of a decoder knows of no axis of runs."""
        return 1

    def _build_features(self, history_shape: tuple) -> int:
        width = self.encoder.width
        entering = self.attention.context_width(width, width) if self.before else 0
        self.cells.build((None, self.at_once), entering)
        return super()._build_features(history_shape)

    def _encoded(self, window, training):
        newest = window[..., -self.at_once :, 0]
        return self.encoder.encode(window, training=training), newest

    def _forecast(self, encoded, straight, training) -> tuple:
        states, newest = encoded
        memory = () if self.reads == "state" else self.attention.project(states.states)
        steps = -(-self.horizon // self.at_once)
        known = self._in_steps(straight, newest, steps)
        first = _joined(states)

        def step(index, state, entering):
            (cells, before), (known, drops) = state, entering
            projected, asking = self.cells.project(before), cells[-1][0]
            if self.before:
                context = self._look(asking[:, None], memory, training).context[:, 0]
                projected = projected + self.cells.project_entering(context)
            cells = self.cells.advance(cells, projected, drops)
            features = top = cells[-1][0]
            if self.reads != "state":
                if not self.before:
                    asking = top
                    context = self._look(asking[:, None], memory, training).context[:, 0]
                features = self._read(context, top)
            written = self.head(features)
            return (cells, known + written), (written, asking)

        drops = self.cells.drops(known, training)
        widths = [self.at_once, self.encoder.width]
        start = first, ops.cast(newest, self.compute_dtype)
        written, asked = through_time(step, start, (known, drops), widths, self.compute_dtype)
        forecast = ops.reshape(written, (-1, steps * self.at_once))[:, : self.horizon]
        if self.reads == "state":
            return forecast, None
        # All steps look once more, for the weights; a program that asks for none leaves it out.
        return forecast, self._look(asked, memory, False)

    def _in_steps(self, straight, newest, steps: int):
        """What a forecast is added to, as the steps write it: (B, steps, at_once)."""
        known = ops.zeros((ops.shape(newest)[0], self.horizon), self.compute_dtype)
        for part in straight:
            known = known + part
        missing = steps * self.at_once - self.horizon
        return ops.reshape(ops.pad(known, [[0, 0], [0, missing]]), (-1, steps, self.at_once))


def _joined(states: LayerStates) -> tuple:
    """The last states of both directions beside each other: for each layer (B, W) each."""
    return tuple(
        tuple(ops.concatenate(parts, axis=-1) for parts in zip(*directions, strict=True))
        for directions in states.last
    )
