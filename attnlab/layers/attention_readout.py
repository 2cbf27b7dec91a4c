"""What a model reads of an encoder's states if the last state attends to all of them."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import Attention


class AttentionReadout:
    """A part of models that have an encoder, and a mechanism between its states and its last one.

    The states are the memory, the last one is the query, and the mechanism gives the context. What
    is read (`readout`):

    - `concat`: [context; state], as both enter Bahdanau's output layer;
    - `context`: the context alone, as in the book's chapter 9;
    - `attentional_state`: tanh(W_c [context; state]), Luong et al. (2015), equation 5;
    - `state`: the last state alone, a plain RNN; so it is for a mechanism without a context.
    """

    def look_by(self, attention: Attention, readout: str, width: int) -> None:
        """Set the mechanism, the readout and the width of the states; call it in `__init__`."""
        self.attention = attention
        self.reads = readout if attention.has_context else "state"
        if self.reads == "attentional_state":
            self.combine = keras.layers.Dense(
                width, activation="tanh", use_bias=False, name="attentional_state"
            )

    @property
    def fixed_length(self) -> int | None:
        """The length of the mechanism's per-position weights, where it has such."""
        return None if self.reads == "state" else self.attention.fixed_length

    def build_look(self, states_shape: tuple) -> int:
        """Create the weights for states (B, S, W); returns the width of what is read."""
        batch, _, width = states_shape
        if self.reads == "state":
            return width
        self.attention.build((batch, 1, width), states_shape)
        context = self.attention.context_width(width, width)
        if self.reads == "attentional_state":
            self.combine.build((batch, context + width))
            return width
        return context + (width if self.reads == "concat" else 0)

    def read(self, context, state):
        """What is read of a context (B, V) and a state (B, W)."""
        if self.reads in ("state", "context"):
            return state if self.reads == "state" else context
        joined = ops.concatenate([context, state], axis=-1)
        return self.combine(joined) if self.reads == "attentional_state" else joined
