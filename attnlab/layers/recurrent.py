"""Recurrent encoders, cells that advance one step at a time, and what a model reads of them.

Letters of shapes, in addition to those of `attention.functional`: F features of the input, W the
width of the states, G the gates of all units together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout, iteration_of_loop
from attnlab.attention.functional import Tensor
from attnlab.internals import all_layers

_KERAS = {"simple": "SimpleRNN", "gru": "GRU", "lstm": "LSTM"}


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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cell, self.units, self.bidirectional = cell, units, bidirectional
        self.recurrent, make = [], getattr(keras.layers, _KERAS[cell])
        for number in range(layers):
            layer = make(units, return_sequences=True, name=f"{cell}_{number}")
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
        states = self.encode(sequence, training=training).states  # with dropout, unlike `summary`
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
        # Axes before the batch are those of stacked weights.
        states = sequence
        last: list[tuple[tuple, ...]] = []
        lengths = None if mask is None else ops.sum(ops.cast(mask, "int32"), axis=-1)
        stops = self.stops_at_padding and lengths is not None
        limit = ops.maximum(ops.max(lengths), 1) if stops else None
        for number, layer in enumerate(self.recurrent):
            if self.bidirectional:
                forward = recur_cell(self.cell, layer.forward_layer.cell, states, limit=limit)
                states = _reverse(states, lengths)
                backward = recur_cell(self.cell, layer.backward_layer.cell, states, limit=limit)
                states = ops.concatenate([forward[0], _reverse(backward[0], lengths)], axis=-1)
                last.append((_last_real(forward, lengths), _last_real(backward, lengths)))
            else:
                series = recur_cell(self.cell, layer.cell, states, limit=limit)
                states = series[0]
                last.append((_last_real(series, lengths),))
            if number < len(self.dropouts):
                states = self.dropouts[number](states, training=training)
        return LayerStates(states, tuple(last))


def with_whole_loops(model: keras.Model) -> keras.Model:
    """Return a model whose recurrent layers compute all steps, those of padding too.

    An exported loop returns the states of computed steps only.
    """
    for layer in all_layers(model):
        if isinstance(layer, RecurrentEncoder):
            layer.stops_at_padding = False
    return model


def recur_cell(
    kind: str, cell: keras.layers.Layer, sequence: Tensor, first: tuple = (), limit: Tensor = None
) -> tuple:
    """Return the states (..., B, S, U) of a Keras cell for inputs (..., B, S, F); see `recur`."""
    tensors = (sequence, cell.kernel, cell.recurrent_kernel, cell.bias)
    x, kernel, recurrent_kernel, bias = (ops.cast(t, cell.compute_dtype) for t in tensors)
    return recur(kind, x, kernel, recurrent_kernel, bias, first, limit)


def _reverse(sequence, lengths):
    """Return sequences (..., B, S, W) with real steps reversed; padding stays at the end."""
    if lengths is None:
        return ops.flip(sequence, axis=-2)
    return tf.reverse_sequence(sequence, lengths, seq_axis=1)


def _last_real(states: tuple, lengths: Tensor) -> tuple:
    """Return the last real state (..., B, U) of each sequence; the first state of an empty one."""
    if lengths is None:
        return tuple(series[..., -1, :] for series in states)
    return tuple(tf.gather(s, ops.maximum(lengths, 1) - 1, batch_dims=1) for s in states)


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
        **kwargs: of every Keras layer.
    """

    def __init__(
        self,
        *,
        cell: str,
        units: int,
        layers: int = 1,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kind, self.units = cell, units
        make = getattr(keras.layers, f"{_KERAS[cell]}Cell")
        self.cells = [make(units, name=f"{cell}_{n}") for n in range(layers)]
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

    def project(self, inputs: Tensor, number: int = 0) -> Tensor:
        """Return what inputs (..., F) known in advance add to a cell's gates, (..., G)."""
        cell = self.cells[number]
        bias = self._cast(cell.bias)
        bias = bias[0] if self.kind == "gru" else bias
        return ops.matmul(inputs, self._cast(cell.kernel)) + bias

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

    def through(self, inputs: Tensor, states: tuple, training: bool | None) -> tuple[Tensor, tuple]:
        """Return the last cell's states (B, T, units), of inputs known in advance.

        With them come the states of all cells after the last step, as `advance` returns them.
        """
        drops, after = self.drops(inputs, training), []
        for number, (cell, first) in enumerate(zip(self.cells, states, strict=True)):
            if number and drops:
                inputs = inputs * drops[number - 1]
            series = recur_cell(self.kind, cell, inputs, first)
            after.append(tuple(state[..., -1, :] for state in series))
            inputs = series[0]
        return inputs, tuple(after)

    def advance(self, states: tuple, projected: Tensor, drops: tuple = ()) -> tuple:
        """Return the next states; the output of the last cell is `states[-1][0]`.

        `states` has per cell its state, for an LSTM two: (B, units) each. `projected` (B, G) is the
        sum of the projections, `drops` one step of `drops`, (B, units) each.
        """
        following: list[tuple] = []
        for number, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            if number:
                h = following[-1][0] * drops[number - 1] if drops else following[-1][0]
                projected = self.project(h, number)
            products = ops.matmul(state[0], self._cast(cell.recurrent_kernel))
            if self.kind == "simple":  # h = tanh(W x + U h + b)
                following.append((ops.tanh(projected + products),))
            elif self.kind == "lstm":  # c = f c + i n, h = o tanh(c)
                i, f, n, o = ops.split(projected + products, 4, axis=-1)
                c = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(n)
                following.append((ops.sigmoid(o) * ops.tanh(c), c))
            else:  # h = z h + (1 - z) n, n = tanh(W x + r (U h + b))
                products = products + self._cast(cell.bias)[1]
                of_x, of_h = (
                    ops.split(x, [2 * self.units], axis=-1) for x in (projected, products)
                )
                z, r = ops.split(ops.sigmoid(of_x[0] + of_h[0]), 2, axis=-1)
                n = ops.tanh(of_x[1] + r * of_h[1])
                following.append((n + z * (state[0] - n),))
        return tuple(following)

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
        with iteration_of_loop(index):
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

    def init_readout(self, attention: Attention, readout: str, width: int) -> None:
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

    def build_readout(self, states_shape: tuple) -> int:
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


# --- recurrences over a whole sequence, with their gradients written by hand -------------------
#
# Automatic gradients of a loop store every intermediate value, and sum the weights' gradient step
# by step. Here the forward loop stores only states and gates, and the gates' derivatives are
# computed for all steps at once. The backward loop propagates the states' gradient and stores the
# gates' gradients, from which the rest is again computed for all steps at once. On a CPU this takes
# less than half the time, for the same results. Axes before the batch are those of stacked weights.


class _Cell(NamedTuple):
    """A recurrent cell: its step and its derivatives.

    Tensors are of one step, or have the steps as their first axis. Gates are (..., B, G, U).
    """

    states: int  # 2 for an LSTM
    stored: int  # number of values (..., B, U) that a step stores for the gradient
    # Takes the input of each gate (..., B, U), the product of the state and the recurrent kernel
    # for each gate, with its bias, and the old states. Returns the new states and stored values.
    step: Callable[..., tuple[tuple, tuple]]
    # Takes the stored values, the old and the new states of all steps; returns what `inner` needs.
    slopes: Callable[..., tuple]
    # Takes the gradients of the new states, and slopes; returns the gradients of the gates, and
    # those of the old states without the part through the product.
    inner: Callable[[Sequence, Sequence], tuple]
    # Index of the first gate that takes its input from x; gates before it take U h alone.
    first_input_gate: int = 0


def recur(
    cell: str,
    sequence: Tensor,
    kernel: Tensor,
    recurrent_kernel: Tensor,
    bias: Tensor,
    first: tuple = (),
    limit: Tensor = None,
) -> tuple:
    """Return the states (..., B, S, U) of a cell after each step; for an LSTM the cell's, too.

    Args:
        cell: `simple`, `gru` (with the reset gate after the product) or `lstm`.
        sequence: (..., B, S, F).
        kernel: (..., F, G).
        recurrent_kernel: (..., U, G).
        bias: (..., G), for a GRU (..., 2, G).
        first: the initial state (..., B, U), for an LSTM two; by default zeros.
        limit: number of steps to compute, a scalar; later states are zeros. None: all.
    """
    last = len(sequence.shape) - 1
    inputs = tf.transpose(sequence, [last - 1, *range(last - 1), last])  # (S, ..., B, F)
    input_bias = bias[..., :1, :] if cell == "gru" else bias[..., None, :]
    if kernel.shape[-2] == 1:
        projected = _scale_feature(inputs, kernel, input_bias)
    else:
        projected = _split_rows(tf.matmul(_join_rows(inputs), kernel) + input_bias, inputs)
    of_cell = {"simple": _simple, "gru": _gru, "lstm": _lstm}[cell]()
    if not first:
        shape = (*_sizes(projected)[1:-1], recurrent_kernel.shape[-2])
        first = tuple(tf.zeros(shape, inputs.dtype) for _ in range(of_cell.states))
    inner_bias = bias[..., 1:, :] if cell == "gru" else None
    states = _scan(of_cell, projected, recurrent_kernel, first, limit, inner_bias)
    return tuple(tf.transpose(state, [*range(1, last), 0, last]) for state in states)


@tf.custom_gradient
def _scale_feature(inputs, kernel, bias):
    """Return `x w + b` (S, ..., B, G) for one feature x, (S, ..., B, 1)."""

    def gradient(upstream):
        rows = _join_rows(upstream)
        d_both = tf.matmul(_with_ones(_join_rows(inputs)), rows, transpose_a=True)
        d_inputs = tf.reduce_sum(upstream * kernel, axis=-1, keepdims=True)
        return d_inputs, d_both[..., :1, :], d_both[..., 1:, :]

    return inputs * kernel + bias, gradient


def _simple() -> _Cell:
    """The cell `h = tanh(x + U h)` of Elman (1990); x is projected, with bias."""

    def step(x, products, states):
        return (tf.tanh(x[0] + products[0]),), ()

    def slopes(stored, before, states):
        return (1.0 - states[0] * states[0],)

    def inner(d_states, slopes):
        return _stack_gates(d_states[0] * slopes[0]), (0.0,)

    return _Cell(1, 0, step, slopes, inner)


def _lstm() -> _Cell:
    """The cell `c = f c + i n`, `h = o tanh(c)` of Hochreiter and Schmidhuber (1997).

    The gates i, f, n, o are in one axis in this order, as in Keras: i, f and o are sigmoids of
    `x + U h`, n is its tanh. The states are h and c.
    """

    def step(x, products, states):
        i, f, n, o = map(tf.add, x, products)
        i, f, n, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(n), tf.sigmoid(o)
        c = f * states[1] + i * n
        return (o * tf.tanh(c), c), (i, f, n, o)

    def slopes(stored, before, states):
        i, f, n, o = stored
        top = tf.tanh(states[1])
        of_c = (n * i * (1.0 - i), before[1] * f * (1.0 - f), i * (1.0 - n * n))
        return _stack_gates(*of_c), top * o * (1.0 - o), o * (1.0 - top * top), f

    def inner(d_states, slopes):
        of_c, of_o, through_top, f = slopes
        d_c = d_states[1] + d_states[0] * through_top
        d_gates = d_c[..., None, :] * of_c, _stack_gates(d_states[0] * of_o)
        return tf.concat(d_gates, axis=-2), (0.0, d_c * f)

    return _Cell(2, 4, step, slopes, inner)


def _gru() -> _Cell:
    """The cell `h = z h + (1 - z) n`, `n = tanh(x_n + r (U_n h + b_n))` of Cho et al. (2014).

    The gates z, r, n are in one axis in this order, as in Keras with `reset_after`.

    Source: arXiv 1406.1078. Difference: the reset gate acts after the product.
    """

    def step(x, products, states):
        z, r = map(tf.sigmoid, map(tf.add, x[:2], products[:2]))
        n = tf.tanh(x[2] + r * products[2])
        return (n + z * (states[0] - n),), (z, r, n, products[2])

    def slopes(stored, before, states):
        z, r, n, product = stored
        of_n = (1.0 - z) * (1.0 - n * n)
        of_z, of_r = (before[0] - n) * z * (1.0 - z), of_n * product * r * (1.0 - r)
        # n, z, r of the product; z, r, n of the input
        return _stack_gates(of_n * r, of_z, of_r, of_n), z

    def inner(d_states, slopes):
        return d_states[0][..., None, :] * slopes[0], (d_states[0] * slopes[1],)

    return _Cell(1, 4, step, slopes, inner, first_input_gate=1)


def _stack_gates(*gates):
    """Stack the gates' parts (..., B, U) to (..., B, G, U).

    Gates and units are separate axes, because XLA has no fast code for a joint axis.
    """
    return tf.stack(gates, axis=-2)


def _scan(cell: _Cell, inputs, kernel, first: tuple, limit, bias) -> tuple:
    """Return the states of a cell after each step of `inputs`, starting from `first`."""
    steps, units, count = _sizes(inputs)[0], kernel.shape[-2], cell.states
    shape, gates = inputs.shape[1:-1], kernel.shape[-1] // units

    @tf.custom_gradient
    def scan(inputs, kernel, *others):
        first, biases = others[:count], others[count:]
        split_gates = partial(tf.split, num_or_size_splits=gates, axis=-1)
        # Split before the loop: XLA can't vectorize operations on several parts of a step's inputs.
        of_gates, offsets = split_gates(inputs), [split_gates(bias) for bias in biases]

        def forward(at, states, arrays):
            pairs = zip(split_gates(tf.matmul(states[0], kernel)), *offsets, strict=True)
            products = [sum(bias, product) for product, *bias in pairs]
            states, stored = cell.step([gate[at] for gate in of_gates], products, states)
            row = (*states, _stack_gates(*stored)) if stored else states
            pairs = zip(arrays, row, strict=True)
            return states, [array.write(at, value) for array, value in pairs]

        shapes = [(*shape, units)] * count + [(*shape, cell.stored, units)] * bool(cell.stored)
        _, arrays = _loop(forward, first, steps, limit, shapes, inputs.dtype)
        states = arrays[:count]

        def gradient(*upstream):
            pairs = zip(first, states, strict=True)
            before = [tf.concat([start[None], after[:-1]], 0) for start, after in pairs]
            stored = tf.unstack(arrays[count], axis=-2) if cell.stored else ()
            slopes = cell.slopes(stored, before, states)
            offset = cell.first_input_gate
            transposed = tf.linalg.matrix_transpose(tf.roll(kernel, offset * units, axis=-1))

            def backward(at, d_later, arrays):
                pairs = zip(d_later, upstream, strict=True)
                d_states = tuple(later + series[at] for later, series in pairs)
                d_step, (d_first, *d_others) = cell.inner(d_states, [slope[at] for slope in slopes])
                array = arrays[0].write(at, d_step)
                # Read again: XLA can't vectorize operations that join the axes of gates and units.
                through = tf.matmul(_join_gates(array.read(at)[..., :gates, :]), transposed)
                return (through + d_first, *d_others), [array]

            zeros, shapes = tuple(map(tf.zeros_like, first)), [(*shape, gates + offset, units)]
            settings = shapes, inputs.dtype
            d_first, (d_gates,) = _loop(backward, zeros, steps, limit, *settings, from_end=True)
            rows, h = _join_rows(_join_gates(d_gates[..., :gates, :])), _join_rows(before[0])
            h = _with_ones(h) if biases else h
            d_product = tf.roll(tf.matmul(h, rows, transpose_a=True), -offset * units, axis=-1)
            d_kernel, *d_biases = tf.split(d_product, [units] + [1] * len(biases), axis=-2)
            return _join_gates(d_gates[..., offset:, :]), d_kernel, *d_first, *d_biases

        return tuple(states), gradient

    return scan(inputs, kernel, *first, *([] if bias is None else [bias]))


def _join_gates(gated):
    """Join the axes of gates and units: (..., B, G, U) to (..., B, G U)."""
    *outer, gates, units = gated.shape
    if outer.count(None) > 1:
        outer = _sizes(gated)[:-2]
    return tf.reshape(gated, (*(-1 if size is None else size for size in outer), gates * units))


def _loop(
    body, states: tuple, steps, limit, shapes: Sequence[tuple], dtype, *, from_end: bool = False
) -> tuple[tuple, list]:
    """Loop `body(step, states, arrays) -> (states, arrays)`; returns last states and arrays.

    The arrays are (steps, ...); after the first `limit` steps they contain zeros.
    """
    limit = steps if limit is None else limit
    make = partial(tf.TensorArray, dtype, steps, clear_after_read=False)
    arrays = [make(element_shape=shape) for shape in shapes]
    # Counting down, not from `limit`: XLA would compile again for each value of a slice's bound.
    start, change = (limit - 1, -1) if from_end else (0, 1)

    _, states, arrays = tf.while_loop(
        lambda at, *_: at >= 0 if from_end else at < limit,
        lambda at, states, arrays: (at + change, *body(at, states, arrays)),
        (start, states, arrays),
        maximum_iterations=steps,
    )
    return states, [array.stack() for array in arrays]


def _join_rows(sequence):
    """Join steps and batch in one axis: (S, ..., B, W) to (..., S B, W)."""
    steps, *leading, batch, width = _sizes(sequence)
    order = [*range(1, len(leading) + 1), 0, len(leading) + 1, len(leading) + 2]
    return tf.reshape(tf.transpose(sequence, order), (*leading, steps * batch, width))


def _with_ones(rows):
    """Append a 1 to each of rows (..., N, W), so that a product also sums, which is slow in XLA."""
    return tf.concat([rows, tf.ones_like(rows[..., :1])], axis=-1)


def _split_rows(joined, sequence):
    """Undo `_join_rows` of a sequence, for rows that may have another width."""
    steps, *leading, batch, _ = _sizes(sequence)
    count = len(leading)
    rows = tf.reshape(joined, (*leading, steps, batch, joined.shape[-1]))
    return tf.transpose(rows, [count, *range(count), count + 1, count + 2])


def _sizes(tensor) -> list:
    """Return the shape of a tensor, with scalar tensors for unknown sizes."""
    sizes = tf.shape(tensor)
    return [sizes[axis] if size is None else size for axis, size in enumerate(tensor.shape)]
