"""Recurrences over a whole sequence, with their gradients written by hand.

Automatic gradients of a loop store every intermediate value, and sum the weights' gradient step by
step. Here the forward loop stores only states and gates, and the gates' derivatives are computed
for all steps at once. The backward loop propagates the states' gradient and stores the gates'
gradients, from which the rest is again computed for all steps at once. On a CPU this takes less
than half the time, for the same results.

All functions accept leading axes before the batch, for models with stacked weights. Shapes: S
steps, F features, U units, G the units times the number of gates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import tensorflow as tf

from attnlab.attention.functional import Tensor


class _Cell(NamedTuple):
    """A recurrent cell: its step and its derivatives.

    Tensors are of one step, or have the steps as their first axis. Gates are (..., B, G, U).
    """

    # Number of values (..., B, U) that a step stores for the gradient.
    stored: int
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
        projected = _scaled(inputs, kernel, input_bias)
    else:
        projected = _parted(tf.matmul(_joined(inputs), kernel) + input_bias, inputs)
    if cell == "gru":
        states = gru(projected, recurrent_kernel, bias[..., 1:, :], first, limit)
    else:
        states = {"simple": simple, "lstm": lstm}[cell](projected, recurrent_kernel, first, limit)
    return tuple(tf.transpose(each, [*range(1, last), 0, last]) for each in states)


@tf.custom_gradient
def _scaled(inputs, kernel, bias):
    """Return `x w + b` (S, ..., B, G) for one feature x, (S, ..., B, 1)."""

    def gradient(upstream):
        rows = _joined(upstream)
        of_both = tf.matmul(_with_ones(_joined(inputs)), rows, transpose_a=True)
        of_inputs = tf.reduce_sum(upstream * kernel, axis=-1, keepdims=True)
        return of_inputs, of_both[..., :1, :], of_both[..., 1:, :]

    return inputs * kernel + bias, gradient


def simple(inputs: Tensor, kernel: Tensor, first: tuple = (), limit: Tensor = None) -> tuple:
    """Return the states `h = tanh(x + U h)` (S, ..., B, U) of an Elman network.

    `inputs` (S, ..., B, U) are projected, with bias; `kernel` is U; the rest is as for `recur`.
    """

    def step(inputs, products, states):
        return (tf.tanh(inputs[0] + products[0]),), ()

    def slopes(stored, before, states):
        return (1.0 - states[0] * states[0],)

    def inner(gradients, slopes):
        return _gates(gradients[0] * slopes[0]), (0.0,)

    cell = _Cell(0, step, slopes, inner)
    return _scan(cell, inputs, kernel, first or _zeros(inputs, kernel, 1), limit)


def lstm(inputs: Tensor, kernel: Tensor, first: tuple = (), limit: Tensor = None) -> tuple:
    """Return the states `c = f c + i n`, `h = o tanh(c)` of an LSTM (Hochreiter, Schmidhuber 1997).

    The gates i, f, n, o are in one axis in this order, as in Keras: i, f and o are sigmoids of
    `x + U h`, n is its tanh. Arguments are those of `simple`; the states are h and c.
    """

    def step(inputs, products, states):
        i, f, n, o = map(tf.add, inputs, products)
        i, f, n, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(n), tf.sigmoid(o)
        cell = f * states[1] + i * n
        return (o * tf.tanh(cell), cell), (i, f, n, o)

    def slopes(stored, before, states):
        i, f, n, o = stored
        top = tf.tanh(states[1])
        of_cell = (n * i * (1.0 - i), before[1] * f * (1.0 - f), i * (1.0 - n * n))
        return _gates(*of_cell), top * o * (1.0 - o), o * (1.0 - top * top), f

    def inner(gradients, slopes):
        of_cell, of_o, through_top, f = slopes
        cell = gradients[1] + gradients[0] * through_top
        parts = cell[..., None, :] * of_cell, _gates(gradients[0] * of_o)
        return tf.concat(parts, axis=-2), (0.0, cell * f)

    cell = _Cell(4, step, slopes, inner)
    return _scan(cell, inputs, kernel, first or _zeros(inputs, kernel, 2), limit)


def gru(
    inputs: Tensor, kernel: Tensor, bias: Tensor, first: tuple = (), limit: Tensor = None
) -> tuple:
    """Return the states `h = z h + (1 - z) n`, `n = tanh(x_n + r (U_n h + b_n))` of a GRU.

    The gates z, r, n are in one axis in this order, as in Keras with `reset_after`. Arguments are
    those of `simple`, and b (..., 1, G).

    Source: Cho et al. 2014 (arXiv 1406.1078). Difference: the reset gate acts after the product.
    """

    def step(inputs, products, states):
        z, r = map(tf.sigmoid, map(tf.add, inputs[:2], products[:2]))
        n = tf.tanh(inputs[2] + r * products[2])
        return (n + z * (states[0] - n),), (z, r, n, products[2])

    def slopes(stored, before, states):
        z, r, n, inner = stored
        of_n = (1.0 - z) * (1.0 - n * n)
        of_z, of_r = (before[0] - n) * z * (1.0 - z), of_n * inner * r * (1.0 - r)
        return _gates(of_n * r, of_z, of_r, of_n), z  # n, z, r of the product; z, r, n of the input

    def inner(gradients, slopes):
        return gradients[0][..., None, :] * slopes[0], (gradients[0] * slopes[1],)

    cell = _Cell(4, step, slopes, inner, first_input_gate=1)
    return _scan(cell, inputs, kernel, first or _zeros(inputs, kernel, 1), limit, bias)


def _zeros(inputs, kernel, count: int) -> tuple:
    """Return `count` initial states of zeros."""
    _, *leading, _ = _sizes(inputs)
    return tuple(tf.zeros((*leading, kernel.shape[-2]), inputs.dtype) for _ in range(count))


def _gates(*parts):
    """Stack the gates' parts (..., B, U) to (..., B, G, U).

    Gates and units are separate axes, because XLA has no fast code for a joint axis.
    """
    return tf.stack(parts, axis=-2)


def _scan(cell: _Cell, inputs, kernel, first: tuple, limit, bias=None) -> tuple:
    """Return the states of a cell after each step of `inputs`, starting from `first`."""
    steps, units, count = _sizes(inputs)[0], kernel.shape[-2], len(first)
    shape, gates = inputs.shape[1:-1], kernel.shape[-1] // units

    @tf.custom_gradient
    def scan(inputs, kernel, *others):
        first, biases = others[:count], others[count:]
        apart = partial(tf.split, num_or_size_splits=gates, axis=-1)
        # Split before the loop: XLA can't vectorize operations on several parts of a step's inputs.
        of_gates, offsets = apart(inputs), [apart(bias) for bias in biases]

        def forward(at, states, arrays):
            pairs = zip(apart(tf.matmul(states[0], kernel)), *offsets, strict=True)
            products = [sum(bias, product) for product, *bias in pairs]
            new, stored = cell.step([gate[at] for gate in of_gates], products, states)
            return new, _write(arrays, at, (*new, _gates(*stored)) if stored else new)

        shapes = [(*shape, units)] * count + [(*shape, cell.stored, units)] * bool(cell.stored)
        _, arrays = _loop(forward, first, steps, limit, shapes, inputs.dtype)
        states = arrays[:count]

        def gradient(*upstream):
            pairs = zip(first, states, strict=True)
            before = [tf.concat([start[None], after[:-1]], 0) for start, after in pairs]
            stored = tf.unstack(arrays[count], axis=-2) if cell.stored else ()
            slopes = cell.slopes(stored, before, states)
            offset = cell.first_input_gate
            there = offset * units
            transposed = tf.linalg.matrix_transpose(tf.roll(kernel, there, axis=-1))

            def backward(at, later, arrays):
                pairs = zip(later, upstream, strict=True)
                gradients = tuple(upper + more[at] for upper, more in pairs)
                of_step, rest = cell.inner(gradients, [slope[at] for slope in slopes])
                (array,) = _write(arrays, at, (of_step,))
                # Read again: XLA can't vectorize operations that join the axes of gates and units.
                through = tf.matmul(_flat(array.read(at)[..., :gates, :]), transposed)
                return (through + rest[0], *rest[1:]), [array]

            zeros, shapes = tuple(map(tf.zeros_like, first)), [(*shape, gates + offset, units)]
            settings = shapes, inputs.dtype
            d_first, (d_gates,) = _loop(backward, zeros, steps, limit, *settings, from_end=True)
            rows, entered = _joined(_flat(d_gates[..., :gates, :])), _joined(before[0])
            entered = _with_ones(entered) if biases else entered
            of_product = tf.roll(tf.matmul(entered, rows, transpose_a=True), -there, axis=-1)
            d_kernel, *d_biases = tf.split(of_product, [units] + [1] * len(biases), axis=-2)
            return _flat(d_gates[..., offset:, :]), d_kernel, *d_first, *d_biases

        return tuple(states), gradient

    return scan(inputs, kernel, *first, *([] if bias is None else [bias]))


def _flat(gated):
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
    made = partial(tf.TensorArray, dtype, steps, clear_after_read=False)
    arrays = [made(element_shape=shape) for shape in shapes]
    # Counting down, not from `limit`: XLA would compile again for each value of a slice's bound.
    start, change = (limit - 1, -1) if from_end else (0, 1)

    _, states, arrays = tf.while_loop(
        lambda at, *_: at >= 0 if from_end else at < limit,
        lambda at, states, arrays: (at + change, *body(at, states, arrays)),
        (start, states, arrays),
        maximum_iterations=steps,
    )
    return states, [array.stack() for array in arrays]


def _write(arrays: Sequence, at, values: Sequence) -> list:
    """Return the arrays with one value written to each."""
    return [array.write(at, value) for array, value in zip(arrays, values, strict=True)]


def _joined(sequence):
    """Join steps and batch in one axis: (S, ..., B, W) to (..., S B, W)."""
    steps, *leading, batch, width = _sizes(sequence)
    order = [*range(1, len(leading) + 1), 0, len(leading) + 1, len(leading) + 2]
    return tf.reshape(tf.transpose(sequence, order), (*leading, steps * batch, width))


def _with_ones(rows):
    """Append a 1 to each of rows (..., N, W), so that a product also sums, which is slow in XLA."""
    return tf.concat([rows, tf.ones_like(rows[..., :1])], axis=-1)


def _parted(joined, sequence):
    """Undo `_joined` of a sequence, for rows that may have another width."""
    steps, *leading, batch, _ = _sizes(sequence)
    count = len(leading)
    parted = tf.reshape(joined, (*leading, steps, batch, joined.shape[-1]))
    return tf.transpose(parted, [count, *range(count), count + 1, count + 2])


def _sizes(tensor) -> list:
    """Return the shape of a tensor, with scalar tensors for unknown sizes."""
    sizes = tf.shape(tensor)
    return [sizes[axis] if size is None else size for axis, size in enumerate(tensor.shape)]
