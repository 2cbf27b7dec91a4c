"""Recurrent encoders: the states that attention reads, the last state, and the readout."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import Tensor
from attnlab.attention.keras_internals import all_layers
from attnlab.layers import recurrence

_LAYERS = {"simple": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


class LayerStates(NamedTuple):
    """All states of a recurrent encoder after a sequence."""

    states: Tensor  # (B, S, W) of the last layer
    # Indexed by layer, direction and number: the state (B, units) after the last real step, and for
    # an LSTM also the cell's state.
    last: tuple[tuple[tuple, ...], ...]

    @property
    def summary(self) -> Tensor:
        """(B, W): the last layer's state after the last real step, with both directions joined."""
        return ops.concatenate([direction[0] for direction in self.last[-1]], axis=-1)


class RecurrentEncoder(keras.layers.Layer):
    """Stacked recurrent layers over a sequence.

    Args:
        cell: `simple` (Elman), `gru` or `lstm`.
        units: width of each direction's state.
        layers: number of stacked layers.
        bidirectional: read in both directions and join the states, as Bahdanau et al. (2015) do.
        dropout: share of each layer's output that is dropped in training.
        drops_last: whether dropout also applies to the last layer's output.
        reset_after: for a GRU, whether the reset gate is applied after the matrix product with the
            state, as in fast kernels, or before it, as in Cho et al. (2014).
        **kwargs: of every Keras layer.
    """

    stops_at_padding = True  # whether loops end with the longest real sequence of the batch

    def __init__(
        self,
        *,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        drops_last: bool = True,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.units, self.bidirectional = cell, units, bidirectional
        self.reset_after, self.has_own_loop = reset_after, has_own_loop(cell, reset_after)
        form = {"return_sequences": True, "return_state": not self.has_own_loop}
        if cell == "gru":
            form["reset_after"] = reset_after
        self.recurrent = []
        for number in range(layers):
            layer = _LAYERS[cell](units, name=f"{cell}_{number}", **form)
            if bidirectional:
                layer = keras.layers.Bidirectional(layer, name=f"bidirectional_{number}")
            self.recurrent.append(layer)
        dropped = layers if drops_last else layers - 1
        self.dropouts = [Dropout(dropout) for _ in range(dropped)] if dropout else []

    @property
    def width(self) -> int:
        """W, the width of a state."""
        return self.units * (2 if self.bidirectional else 1)

    def build(self, sequence_shape: tuple) -> None:
        """Create the weights for a sequence of shape (B, S, F)."""
        shape = tuple(sequence_shape)
        for layer in self.recurrent:
            layer.build(shape)
            shape = (*shape[:2], self.width)

    def call(self, sequence: Tensor, training: bool | None = None) -> tuple[Tensor, Tensor]:
        """Return the states (B, S, W) of (B, S, F), and each direction's last one, (B, W)."""
        states = self.encode(sequence, training=training).states
        if not self.bidirectional:
            return states, states[..., -1, :]
        # Read backwards, the sequence ends at its first step.
        forward, backward = states[..., -1, : self.units], states[..., 0, self.units :]
        return states, ops.concatenate([forward, backward], axis=-1)

    def encode(
        self, sequence: Tensor, mask: Tensor = None, training: bool | None = None
    ) -> LayerStates:
        """Encode sequences (B, S, F) of several lengths.

        `mask` is None, or bool (B, S), True for real steps; False only at the end. The states of
        masked steps are finite but meaningless.
        """
        states, last = sequence, []
        lengths = None if mask is None else ops.sum(ops.cast(mask, "int32"), axis=-1)
        for number, layer in enumerate(self.recurrent):
            if self.has_own_loop:
                states, ends = self._recurred(layer, states, lengths)
            else:
                states, *ends = layer(states, mask=mask, training=training)
                ends = tuple((end,) for end in ends)
            last.append(ends)
            if number < len(self.dropouts):
                states = self.dropouts[number](states, training=training)
        return LayerStates(states, tuple(last))

    def _recurred(self, layer, sequence, lengths):
        """Return the states of a Keras layer, and its last states, faster than the layer does.

        Axes before the batch are those of stacked weights. `lengths` None: all sequences are full.
        """
        stops = self.stops_at_padding and lengths is not None
        taken = ops.maximum(ops.max(lengths), 1) if stops else None
        if not self.bidirectional:
            states = recurred(self.cell, layer.cell, sequence, taken=taken)
            return states[0], (_ends(states, lengths),)
        forward = recurred(self.cell, layer.forward_layer.cell, sequence, taken=taken)
        read_backwards = _reversed(sequence, lengths)
        backward = recurred(self.cell, layer.backward_layer.cell, read_backwards, taken=taken)
        joined = ops.concatenate([forward[0], _reversed(backward[0], lengths)], axis=-1)
        return joined, (_ends(forward, lengths), _ends(backward, lengths))


def with_whole_loops(model: keras.Model) -> keras.Model:
    """Return a model whose recurrent layers compute all steps, those of padding too.

    An exported loop returns the states of computed steps only.
    """
    for layer in all_layers(model):
        if isinstance(layer, RecurrentEncoder):
            layer.stops_at_padding = False
    return model


def has_own_loop(cell: str, reset_after: bool) -> bool:
    """Return whether `recurrence` implements a cell: all but a GRU with `reset_after=False`."""
    return reset_after or cell != "gru"


def recurred(
    kind: str, cell: keras.layers.Layer, sequence: Tensor, first: tuple = (), taken: Tensor = None
) -> tuple:
    """Return the states (..., B, S, U) of a Keras cell for inputs (..., B, S, F); see `recur`."""
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias)
    weights = [ops.cast(weight, cell.compute_dtype) for weight in weights]
    return recurrence.recur(kind, ops.cast(sequence, cell.compute_dtype), *weights, first, taken)


def _reversed(sequence, lengths):
    """Return sequences (..., B, S, W) with real steps reversed; padding stays at the end."""
    if lengths is None:
        return ops.flip(sequence, axis=-2)
    return tf.reverse_sequence(sequence, lengths, seq_axis=1)


def _ends(states: tuple, lengths) -> tuple:
    """Return the last real state (..., B, U) of each sequence; the first state of an empty one."""
    if lengths is None:
        return tuple(each[..., -1, :] for each in states)
    return tuple(tf.gather(each, ops.maximum(lengths, 1) - 1, batch_dims=1) for each in states)


class AttentionReadout:
    """Base class of models in which the last state of an encoder attends to all its states.

    The states are the memory, the last state is the query, and the mechanism returns the context.
    The model's output layer reads one of these (`readout`):

    - `concat`: [context; state], as both enter Bahdanau's output layer;
    - `context`: only the context, as in the book's chapter 9;
    - `attentional_state`: tanh(W_c [context; state]), Luong et al. (2015), equation 5;
    - `state`: only the last state, a plain RNN; used for a mechanism without a context.
    """

    def look_by(self, attention: Attention, readout: str, width: int) -> None:
        """Set mechanism, readout and width of the states; to be called in `__init__`."""
        self.attention = attention
        self.reads = readout if attention.has_context else "state"
        if self.reads == "attentional_state":
            self.combine = keras.layers.Dense(
                width, activation="tanh", use_bias=False, name="attentional_state"
            )

    @property
    def fixed_length(self) -> int | None:
        """The only memory length that the mechanism's weights fit; None: any length."""
        return None if self.reads == "state" else self.attention.fixed_length

    def build_look(self, states_shape: tuple) -> int:
        """Create the weights for states (B, S, W); returns the width of the readout."""
        batch, _, width = states_shape
        if self.reads == "state":
            return width
        self.attention.build((batch, 1, width), states_shape)
        context = self.attention.context_width(width, width)
        if self.reads == "attentional_state":
            self.combine.build((batch, context + width))
            return width
        return context + (width if self.reads == "concat" else 0)

    def read(self, context: Tensor, state: Tensor) -> Tensor:
        """Return the readout of a context (B, V) and a state (B, W)."""
        if self.reads in ("state", "context"):
            return state if self.reads == "state" else context
        joined = ops.concatenate([context, state], axis=-1)
        return self.combine(joined) if self.reads == "attentional_state" else joined
