"""Recurrent encoders, cells that advance one step at a time, and what a model reads of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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
_CELLS = {
    "simple": keras.layers.SimpleRNNCell,
    "gru": keras.layers.GRUCell,
    "lstm": keras.layers.LSTMCell,
}


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
        limit = ops.maximum(ops.max(lengths), 1) if stops else None
        if not self.bidirectional:
            states = recurred(self.cell, layer.cell, sequence, limit=limit)
            return states[0], (_ends(states, lengths),)
        forward = recurred(self.cell, layer.forward_layer.cell, sequence, limit=limit)
        read_backwards = _reversed(sequence, lengths)
        backward = recurred(self.cell, layer.backward_layer.cell, read_backwards, limit=limit)
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
    kind: str, cell: keras.layers.Layer, sequence: Tensor, first: tuple = (), limit: Tensor = None
) -> tuple:
    """Return the states (..., B, S, U) of a Keras cell for inputs (..., B, S, F); see `recur`."""
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias)
    weights = [ops.cast(weight, cell.compute_dtype) for weight in weights]
    return recurrence.recur(kind, ops.cast(sequence, cell.compute_dtype), *weights, first, limit)


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


class StackedCells(keras.layers.Layer):
    """One time step of stacked cells, with the products that all steps share computed at once.

    The cells and their weights are Keras's. The first cell's input has two parts: `project`
    multiplies what is known in advance, for all steps at once; `project_entering` multiplies what
    depends on the previous step (Bahdanau's matrices C, in addition to his W). The argument of
    `advance` is their sum.

    Args:
        cell: `simple`, `gru` or `lstm`.
        units: width of the states.
        layers: number of stacked cells.
        dropout: share of the values between cells that is dropped in training.
        reset_after: form of the GRU, as for `RecurrentEncoder`.
        **kwargs: of every Keras layer.
    """

    def __init__(
        self,
        *,
        cell: str,
        units: int,
        layers: int = 1,
        dropout: float = 0.0,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kind, self.units, self.reset_after = cell, units, reset_after
        self.has_own_loop = has_own_loop(cell, reset_after)
        form = {"reset_after": reset_after} if cell == "gru" else {}
        self.cells = [_CELLS[cell](units, name=f"{cell}_{n}", **form) for n in range(layers)]
        self.dropouts = [Dropout(dropout) for _ in range(layers - 1 if dropout else 0)]

    def build(self, known_shape: tuple, entering: int = 0) -> None:
        """Create the weights for known inputs (..., F) and entering inputs of a width, if any."""
        width = known_shape[-1]
        for cell in self.cells:
            cell.build((None, width))
            width = self.units
        if entering:
            gates = self.cells[0].kernel.shape[1]
            self.entering_kernel = self.add_weight(
                name="entering_kernel", shape=(entering, gates), initializer="glorot_uniform"
            )

    def project(self, inputs: Tensor) -> Tensor:
        """Return what inputs (..., F) known in advance add to the first cell's gates, (..., G)."""
        return self._projected(self.cells[0], inputs)

    def project_entering(self, inputs: Tensor) -> Tensor:
        """Return what inputs (B, F) that depend on the previous step add to these gates, (B, G)."""
        return ops.matmul(inputs, self._cast(self.entering_kernel))

    def drops(self, inputs: Tensor, training: bool | None) -> tuple:
        """Return the dropout between cells as factors (B, T, units), for inputs (B, T, F)."""
        if not training:
            return ()
        shape = (*ops.shape(inputs)[:2], self.units)
        ones = ops.ones(shape, self.compute_dtype)
        return tuple(dropout(ones, training=True) for dropout in self.dropouts)

    def through(self, inputs: Tensor, states: tuple, training: bool | None) -> Tensor:
        """Return the last cell's output at each step, (B, T, units), of inputs known in advance."""
        drops = self.drops(inputs, training)
        for number, (cell, first) in enumerate(zip(self.cells, states, strict=True)):
            if number and drops:
                inputs = inputs * drops[number - 1]
            inputs = recurred(self.kind, cell, inputs, first)[0]
        return inputs

    def advance(self, states: tuple, projected: Tensor, drops: tuple = ()) -> tuple:
        """Return the next states; the output of the last cell is `states[-1][0]`.

        `states` has per cell its state, for an LSTM two: (B, units) each. `projected` (B, G) is the
        sum of the projections, `drops` one step of `drops`, (B, units) each.
        """
        following = []
        for number, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            if number:
                passed = following[-1][0]
                passed = passed * drops[number - 1] if drops else passed
                projected = self._projected(cell, passed)
            following.append(getattr(self, f"_{self.kind}")(cell, projected, state))
        return tuple(following)

    def _simple(self, cell, projected, state):
        """`h = tanh(W x + U h + b)`."""
        return (ops.tanh(projected + self._recurrent(cell, state[0])),)

    def _lstm(self, cell, projected, state):
        """`c = f c + i tanh(..)`, `h = o tanh(c)`."""
        gates = projected + self._recurrent(cell, state[0])
        i, f, new, o = ops.split(gates, 4, axis=-1)
        carry = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(new)
        return ops.sigmoid(o) * ops.tanh(carry), carry

    def _gru(self, cell, projected, state):
        """`h = z h + (1 - z) h'`, `h' = tanh(W x + U (r h))` or `tanh(W x + r U h)`."""
        (old,) = state
        kernel, two = self._cast(cell.recurrent_kernel), [2 * self.units]
        gates, new = ops.split(projected, two, axis=-1)
        if self.reset_after:
            inner = ops.matmul(old, kernel) + self._cast(cell.bias)[1]
            inner_gates, inner = ops.split(inner, two, axis=-1)
        else:
            gate_kernel, kernel = ops.split(kernel, two, axis=-1)
            inner_gates = ops.matmul(old, gate_kernel)
        z, r = ops.split(ops.sigmoid(gates + inner_gates), 2, axis=-1)
        inner = r * inner if self.reset_after else ops.matmul(r * old, kernel)
        new = ops.tanh(new + inner)
        return (new + z * (old - new),)

    def _projected(self, cell, inputs):
        bias = self._cast(cell.bias)
        bias = bias[0] if len(bias.shape) == 2 else bias
        return ops.matmul(inputs, self._cast(cell.kernel)) + bias

    def _recurrent(self, cell, old):
        return ops.matmul(old, self._cast(cell.recurrent_kernel))

    def _cast(self, weight):
        return ops.cast(weight, self.compute_dtype)


def through_time(
    step: Callable[..., tuple], state: Any, inputs: Any, widths: Sequence[int], dtype: str
) -> tuple:
    """Return the outputs (B, T, width) of a loop over the steps of a sequence.

    `step(index, state, inputs of one step)` returns the next state, a structure of tensors, and
    the step's outputs (B, width). `inputs` is a structure of tensors (B, T, ...). `widths` has a
    width per output; all outputs have one dtype.
    """
    parts = [tf.transpose(part, (1, 0, 2)) for part in tf.nest.flatten(inputs)]
    batch, length = parts[0].shape[1], ops.shape(parts[0])[0]
    array = partial(tf.TensorArray, size=length, clear_after_read=False)
    series = [array(part.dtype, element_shape=part.shape[1:]).unstack(part) for part in parts]
    outputs = [array(dtype, element_shape=(batch, width)) for width in widths]

    def body(index, state, outputs):
        entering = tf.nest.pack_sequence_as(inputs, [part.read(index) for part in series])
        state, values = step(index, state, entering)
        pairs = zip(outputs, values, strict=True)
        return index + 1, state, [output.write(index, value) for output, value in pairs]

    _, _, outputs = tf.while_loop(
        lambda index, *_: index < length,
        body,
        (tf.constant(0), state, outputs),
        maximum_iterations=length,  # XLA needs it for gradients
    )
    return tuple(tf.transpose(output.stack(), (1, 0, 2)) for output in outputs)


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
