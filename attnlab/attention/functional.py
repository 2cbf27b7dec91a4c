"""Attention as pure functions of tensors: scores, masks, weights, positions.

The layers of this package add weights to these functions and nothing else. Every function works
on eager, graph and symbolic (functional-model) tensors and inside `jit_compile=True`.

Letters of shapes, here and in the whole package: B batch, T query steps, S memory steps, H heads;
Q, M, K, V the widths of queries, raw memory, keys and values; U the units of a hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from attnlab.errors import RequestError

Tensor = Any  # eager, graph or symbolic
NARROW_DTYPES = ("float16", "bfloat16")
LOWEST = -1e30  # a masked score: far below any real one, and finite in float32 and float64


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return a setting; raise `RequestError` if it isn't one of the choices."""
    if value not in choices:
        raise RequestError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def require_equal_widths(kind: str, query_shape: tuple, memory_shape: tuple) -> None:
    """Raise `RequestError` unless Q = M; `kind` is the setting that needs it, for the message."""
    if query_shape[-1] != memory_shape[-1]:
        raise RequestError(
            f"{kind} needs a query and a memory of equal width, got {query_shape[-1]} and "
            f"{memory_shape[-1]}; choose a mechanism or score with a learned projection"
        )


def widen(x: Tensor) -> Tensor:
    """Cast float16 and bfloat16 tensors to float32; wider ones don't change."""
    return ops.cast(x, "float32") if dtype_of(x) in NARROW_DTYPES else x


def dtype_of(x: Tensor) -> str:
    """Return the name of the dtype of a tensor."""
    return getattr(x.dtype, "name", x.dtype)


def rms_normalize(vectors: Tensor, scale: Tensor = None, epsilon: float = 1e-6) -> Tensor:
    """Return `x / sqrt(mean(x^2) + epsilon) * scale` of vectors (..., K), in float32 or wider.

    Source: Zhang and Sennrich 2019 (arXiv 1910.07467), Eq. 4, with an epsilon.
    """
    vectors = widen(vectors)
    mean = ops.mean(ops.square(vectors), axis=-1, keepdims=True)
    vectors = vectors * ops.rsqrt(mean + epsilon)
    return vectors if scale is None else vectors * ops.cast(scale, dtype_of(vectors))


# --- masks -------------------------------------------------------------------------------------


def padding_mask(mask: Tensor) -> Tensor:
    """Turn a padding mask (B, S) into an attention mask (B, 1, S); True for real memory steps."""
    return ops.expand_dims(mask, 1)


def causal_mask(query_length: Any, memory_length: Any, start_index: Any = 0) -> Tensor:
    """Let a query see the memory up to its own position: (1, T, S), True if s <= start_index + t.

    The lengths T and S and the first query's position are ints or scalar int tensors.
    """
    rows = ops.arange(query_length, dtype="int32") + ops.cast(start_index, "int32")
    columns = ops.arange(memory_length, dtype="int32")
    return ops.expand_dims(columns, 0)[None] <= ops.expand_dims(rows, 1)[None]


# --- scores: query x keys -> (B, T, S) ---------------------------------------------------------


def dot_score(query: Tensor, keys: Tensor) -> Tensor:
    """Score by the inner product, `s' h` (Luong et al. 2015, Eq. 8, dot).

    The product isn't scaled, so it is computed in float32.
    """
    return ops.matmul(widen(query), ops.swapaxes(widen(keys), -1, -2))


def scaled_dot_score(query: Tensor, keys: Tensor, head_size: int | None = None) -> Tensor:
    """Score by `q' k / sqrt(d_k)` (Vaswani et al. 2017, Eq. 1) in the query's dtype.

    `head_size` is d_k, if it differs from the width of the keys, as in the book's narrow
    heads.
    """
    scale = (head_size or query.shape[-1]) ** -0.5
    query = query * ops.cast(scale, dtype_of(query))
    return ops.matmul(query, ops.swapaxes(keys, -1, -2))


def additive_score(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """Score by `v' tanh(q + k)` (Bahdanau et al. 2015, A.1.2) in the query's dtype.

    Query (B, T, U) and keys (B, S, U) are projected; `vector` is v (U,).
    """
    return ops.matmul(ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(keys, 1)), vector)


# --- weights: the setting `attention.normalizer` -----------------------------------------------
#
# Each function takes scores (..., S) and None or a mask that can be broadcast to their shape, True
# = attend. It returns weights of that shape in float32 or wider. Masked weights are exactly 0, and
# a row without an admitted position has zero weights and zero gradients. Masked scores influence
# neither result nor gradient, if they are finite.

_OUTSIDE = -4.0  # below the largest score by more than sparse weights reach: 1, or 2 for entmax


def masked_softmax(scores: Tensor, mask: Tensor = None) -> Tensor:
    """Return the softmax over the last axis, where the mask is True."""
    return _admitted(_softmax(_masked(scores, mask)), mask)


def sink_softmax(scores: Tensor, mask: Tensor = None, sink: Any = 0.0) -> Tensor:
    """Return `exp(s) / (exp(a) + sum exp(s))`: a softmax with one more outcome, the sink.

    The weights of a row add up to less than 1; what is missing went to the sink. Source: the sinks
    of GPT-OSS, whose `a` is learned for each head. Miller (2023, "Attention is off by one") has
    a = 0, which is `softmax_one`. `sink` is a, a number or a tensor broadcastable to (..., 1).
    """
    scores = _masked(scores, mask)
    sink = ops.cast(sink, dtype_of(scores))
    highest = ops.maximum(ops.max(scores, axis=-1, keepdims=True), sink)
    highest = ops.stop_gradient(highest)
    weights = ops.exp(scores - highest)
    return weights / (ops.exp(sink - highest) + ops.sum(weights, axis=-1, keepdims=True))


def sparsemax(scores: Tensor, mask: Tensor = None) -> Tensor:
    """Return the distribution nearest to the scores, `max(s - tau, 0)`, most of it exactly 0.

    tau makes a row add up to 1: with scores sorted downwards and K the last k for which
    `1 + k s_k > s_1 + ... + s_k`, it is `(s_1 + ... + s_K - 1) / K`. Source: Martins and Astudillo
    2016 (arXiv 1602.02068), algorithm 1.
    """
    shifted, ordered, ranks = _sorted(_masked(scores, mask))
    inside = 1 + ranks * ordered > ops.cumsum(ordered, axis=-1)
    support, size = _support(shifted, ordered, inside)
    tau = (ops.sum(shifted * support, axis=-1, keepdims=True) - 1) / size
    return _admitted(ops.relu(shifted - tau), mask)


def entmax15(scores: Tensor, mask: Tensor = None) -> Tensor:
    """Return `max(s / 2 - tau, 0)^2`, between softmax and sparsemax: 1.5-entmax.

    tau makes a row add up to 1: with z = s / 2 sorted downwards, M and Q the means of the first k
    and of their squares, it is `tau_k = M - sqrt((1 - k (Q - M^2)) / k)` for the last k with
    `tau_k <= z_k`. Source: Peters, Niculae and Martins 2019 (arXiv 1905.05702), algorithm 2.
    """
    shifted, ordered, ranks = _sorted(_masked(scores, mask) / 2)
    means = ops.cumsum(ordered, axis=-1) / ranks
    spread = ops.cumsum(ops.square(ordered), axis=-1) - ranks * ops.square(means)
    inside = means - ops.sqrt(ops.relu(1 - spread) / ranks) <= ordered
    support, size = _support(shifted, ordered, inside)
    mean = ops.sum(shifted * support, axis=-1, keepdims=True) / size
    spread = ops.sum(ops.square(shifted - mean) * support, axis=-1, keepdims=True)
    tau = mean - ops.sqrt((1 - spread) / size)
    return _admitted(ops.square(ops.relu(shifted - tau)), mask)


def sigmoid(scores: Tensor, mask: Tensor = None) -> Tensor:
    """Return `sigmoid(s - log n)`: each position for itself, so that a row adds up to anything.

    n is the number of positions that a row admits. Source: Ramapuram et al. 2024 (arXiv
    2409.04431), section 3. Difference: the paper's n is fixed, the length of the training
    sequences. Here lengths may differ, and a query that is decoded step by step gets the weights
    that it gets together with the others.
    """
    scores = widen(scores)
    every = ops.ones((ops.shape(scores)[-1],), "bool")
    mask = every if mask is None else ops.logical_and(mask, every)
    count = ops.sum(ops.cast(mask, dtype_of(scores)), axis=-1, keepdims=True)
    return _admitted(ops.sigmoid(scores - ops.log(ops.maximum(count, 1))), mask)


NORMALIZERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "softmax": masked_softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "sigmoid": sigmoid,
    "softmax_one": sink_softmax,
}


def _softmax(scores):
    """Return the softmax over the last axis; 1 for a single step, for which Keras would warn."""
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)


def _masked(scores, mask):
    """Return scores in float32 or wider, very low ones where masked."""
    scores = widen(scores)
    return scores if mask is None else ops.where(mask, scores, ops.cast(LOWEST, dtype_of(scores)))


def _admitted(weights, mask):
    """Return weights with exact zeros where masked."""
    return weights if mask is None else ops.where(mask, weights, ops.zeros_like(weights))


def _sorted(scores):
    """Return scores below their row's largest, the same sorted downwards, and 1, 2, ..., S.

    The shift changes no weight, so no gradient goes through it, and none through the order.
    """
    shifted = scores - ops.stop_gradient(ops.max(scores, axis=-1, keepdims=True))
    shifted = ops.maximum(shifted, _OUTSIDE)  # squares of masked scores would be infinite
    ordered = -ops.sort(-ops.stop_gradient(shifted), axis=-1)
    return shifted, ordered, ops.arange(1, ops.shape(scores)[-1] + 1, dtype=dtype_of(scores))


def _support(shifted, ordered, inside):
    """Return 1 for each score that gets weight, else 0, and their number in each row."""
    least = ops.min(ops.where(inside, ordered, ops.zeros_like(ordered)), axis=-1, keepdims=True)
    support = ops.cast(ops.stop_gradient(shifted) >= least, dtype_of(shifted))
    return support, ops.sum(support, axis=-1, keepdims=True)


# --- short convolutions ------------------------------------------------------------------------


def causal_convolution(vectors: Tensor, taps: Tensor, start_index: Any = 0) -> Tensor:
    """Mix each vector with the N - 1 before it, column by column: `y_p = sum_j w_j x_(p-N+1+j)`.

    Vectors (..., S, K) get taps w (N, K), those of heads (..., H, S, K) taps (N, H, K). Vectors at
    positions below 0 count as zero; the first one is at `start_index`. It is `ShortConvolution` of
    flash-linear-attention without its bias and activation, a depthwise `Conv1d` whose last tap is
    the newest vector.
    """
    if not isinstance(start_index, int) or start_index < 0:
        positions = ops.arange(ops.shape(vectors)[-2], dtype="int32")
        there = positions + ops.cast(start_index, "int32") >= 0
        vectors = ops.where(there[:, None], vectors, ops.zeros((), dtype_of(vectors)))
    taps = taps[:, :, None] if len(taps.shape) == 3 else taps
    if isinstance(vectors, keras.KerasTensor):  # symbolic: without a gradient
        return _convolved(vectors, taps)[0]
    return ops.custom_gradient(_convolved)(vectors, taps)


def _convolved(vectors, taps):
    """Return `causal_convolution` from position 0, and its gradient; taps (N, K) or (N, H, 1, K).

    In a graph TensorFlow's own gradient of the slices takes seven times as long.
    """
    reach = taps.shape[0] - 1
    sides, broadcast = [[0, 0]] * (len(vectors.shape) - 2), list(range(len(vectors.shape) - 1))
    if len(taps.shape) == 4:
        broadcast.remove(len(vectors.shape) - 3)
    ends = [*range(-reach, 0), None]
    padded = ops.pad(vectors, [*sides, [reach, 0], [0, 0]])
    parts = [padded[..., tap:end, :] for tap, end in enumerate(ends)]

    def gradient(upstream):
        of_taps = [ops.sum(part * upstream, axis=broadcast) for part in parts]
        later = ops.pad(upstream, [*sides, [0, reach], [0, 0]])
        slices = (later[..., reach - tap : end, :] for tap, end in enumerate(reversed(ends)))
        return _mixed(slices, taps), ops.reshape(ops.stack(of_taps), taps.shape)

    return _mixed(parts, taps), gradient


def _mixed(parts, taps):
    """Return the sum of the parts, each times its tap."""
    return sum(part * taps[tap] for tap, part in enumerate(parts))


# --- rotary positions --------------------------------------------------------------------------


def rotate(vectors: Tensor, start_index: Any = 0, base: float = 10000.0) -> Tensor:
    """Turn each pair of numbers by an angle that grows with the position (Su et al. 2021).

    Pair i of a vector at position p is turned by `p base^(-2 i / K)`:
    `(a, b) -> (a cos - b sin, a sin + b cos)`. A dot product of two turned vectors depends on
    their distance, not on their positions. The pairs are (i, i + K / 2), as in Llama and
    KerasHub; the paper (arXiv 2104.09864) pairs (2 i, 2 i + 1), a permutation of the columns.
    Angles are computed in float32. `start_index` is the position of the first vector (..., S, K).

    Raises:
        RequestError: K is odd.
    """
    width = vectors.shape[-1]
    if width % 2:
        raise RequestError(
            f"model.positions=rope turns pairs of numbers: the width of a head must be even, got "
            f"{width}: change model.units or attention.heads"
        )
    steps = ops.arange(ops.shape(vectors)[-2], dtype="int32") + ops.cast(start_index, "int32")
    rates = base ** (-np.arange(0, width, 2, dtype="float32") / width)
    angles = ops.cast(steps, "float32")[:, None] * rates
    cosine, sine = ops.cos(angles), ops.sin(angles)
    first, second = ops.split(widen(vectors), 2, axis=-1)
    cosine, sine = ops.cast(cosine, first.dtype), ops.cast(sine, first.dtype)
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return ops.cast(ops.concatenate(turned, axis=-1), dtype_of(vectors))
