"""A recurrent encoder: what attention attends to, and the state that asks."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.layers import recurrence

_CELLS = {"simple": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


class LayerStates(NamedTuple):
    """All that a recurrent encoder knows at the end of a sequence.

    Attributes:
        states: (B, S, W) of the last layer.
        last: layer, direction, number -> (B, units) after the last real step: the state and, of an
            LSTM, the cell's.
    """

    states: keras.KerasTensor
    last: tuple[tuple[tuple, ...], ...]

    @property
    def summary(self) -> keras.KerasTensor:
        """(B, W): the last layer's state after the last real step, of both directions."""
        return ops.concatenate([direction[0] for direction in self.last[-1]], axis=-1)


class RecurrentEncoder(keras.layers.Layer):
    """Stacked recurrent layers over a sequence.

    Args:
        cell: `simple` (Elman), `gru` or `lstm`.
        units: width of each direction's state.
        layers: how many stand on each other.
        bidirectional: read in both directions and join the states, as Bahdanau et al. (2015) do.
        dropout: share of each layer's output that is dropped in training.
        drops_last: whether that of the last layer is, or only what passes between layers.
        reset_after: of a GRU: whether its reset gate acts behind the matrix on the state, as fast
            kernels have it, or before, as Cho et al. (2014) do.
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
        drops_last: bool = True,
        reset_after: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.units, self.bidirectional = cell, units, bidirectional
        self.reset_after, self.has_own_loop = reset_after, has_own_loop(cell, reset_after)
        self.recurrent = [self._layer(number) for number in range(layers)]
        dropped = layers if drops_last else layers - 1
        self.dropouts = [Dropout(dropout) for _ in range(dropped)] if dropout else []

    def _layer(self, number: int) -> keras.layers.Layer:
        form = {"reset_after": self.reset_after} if self.cell == "gru" else {}
        layer = _CELLS[self.cell](
            self.units,
            return_sequences=True,
            return_state=not self.has_own_loop,
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
            return states, states[..., -1, :]
        # Read backwards, the sequence ends at its first step.
        forward, backward = states[..., -1, : self.units], states[..., 0, self.units :]
        return states, ops.concatenate([forward, backward], axis=-1)

    def _recurred(self, layer, sequence, lengths):
        """What a Keras layer gives on sequences of some lengths, or of one, faster.

        Leading axes before the batch are those of stacked weights.
        """
        # A compiled program has one shape, and need not go on to the end of it.
        taken = None if lengths is None else ops.maximum(ops.max(lengths), 1)
        if not self.bidirectional:
            states = recurred(self.cell, layer.cell, sequence, taken=taken)
            return states[0], (_ends(states, lengths),)
        forward = recurred(self.cell, layer.forward_layer.cell, sequence, taken=taken)
        read_backwards = _reversed(sequence, lengths)
        backward = recurred(self.cell, layer.backward_layer.cell, read_backwards, taken=taken)
        joined = ops.concatenate([forward[0], _reversed(backward[0], lengths)], axis=-1)
        return joined, (_ends(forward, lengths), _ends(backward, lengths))

    def _by_keras(self, layer, sequence, mask, training):
        """The same by the layer itself."""
        states, *ends = layer(sequence, mask=mask, training=training)
        return states, tuple((end,) for end in ends)

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
        lengths = None if mask is None else ops.sum(ops.cast(mask, "int32"), axis=-1)
        for number, layer in enumerate(self.recurrent):
            if self.has_own_loop:
                states, ends = self._recurred(layer, states, lengths)
            else:
                states, ends = self._by_keras(layer, states, mask, training)
            last.append(ends)
            if number < len(self.dropouts):
                states = self.dropouts[number](states, training=training)
        return LayerStates(states, tuple(last))


def has_own_loop(cell: str, reset_after: bool) -> bool:
    """Whether `recurrence` runs a cell; not a GRU with `reset_after=False`."""
    return reset_after or cell != "gru"


def recurred(kind: str, cell, sequence, first: tuple = (), taken=None) -> tuple:
    """The states (..., B, S, U) of a Keras cell on sequences (..., B, S, F); see `recur`."""
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias)
    weights = [ops.cast(weight, cell.compute_dtype) for weight in weights]
    return recurrence.recur(kind, ops.cast(sequence, cell.compute_dtype), *weights, first, taken)


def _reversed(sequence, lengths):
    """Sequences (..., B, S, W) read from their ends; what is behind an end stays there."""
    if lengths is None:
        return ops.flip(sequence, axis=-2)
    return tf.reverse_sequence(sequence, lengths, seq_axis=1)


def _ends(states: tuple, lengths) -> tuple:
    """The last state of each sequence, (..., B, U); the first one of an empty one."""
    if lengths is None:
        return tuple(each[..., -1, :] for each in states)
    return tuple(tf.gather(each, ops.maximum(lengths, 1) - 1, batch_dims=1) for each in states)


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
