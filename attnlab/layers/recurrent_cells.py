"""Stacked recurrent cells that advance one time step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import Tensor
from attnlab.layers.recurrent import has_own_loop, recurred

_CELLS = {
    "simple": keras.layers.SimpleRNNCell,
    "gru": keras.layers.GRUCell,
    "lstm": keras.layers.LSTMCell,
}


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
