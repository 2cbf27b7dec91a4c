"""Attention as pure functions of tensors: scores, masks, the masked softmax, Luong's windows.

The layers of this package add weights to these functions and nothing else. Every function works
on eager, graph and symbolic (functional-model) tensors and inside `jit_compile=True`. Letters of
shapes are those of `attnlab.attention.base`.
"""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from attnlab.errors import RequestError

NARROW_DTYPES = ("float16", "bfloat16")
FLOAT16_MAX = 65504.0
LOWEST = -1e30  # a masked score: far below any real one, and finite in float32 and float64


def widen(x):
    """Cast float16 and bfloat16 tensors to float32; wider ones don't change."""
    return ops.cast(x, "float32") if dtype_of(x) in NARROW_DTYPES else x


def dtype_of(x) -> str:
    """Return the name of the dtype of an eager, graph or symbolic tensor."""
    return getattr(x.dtype, "name", x.dtype)


def rms_normalized(vectors, scale=None, epsilon=1e-6):
    """Return `x / sqrt(mean(x^2) + epsilon) * scale` of vectors (..., K), in float32 or wider.

    Source: Zhang and Sennrich 2019 (arXiv 1910.07467), Eq. 4, with an epsilon.
    """
    vectors = widen(vectors)
    mean = ops.mean(ops.square(vectors), axis=-1, keepdims=True)
    vectors = vectors * ops.rsqrt(mean + epsilon)
    return vectors if scale is None else vectors * ops.cast(scale, dtype_of(vectors))


# --- masks -------------------------------------------------------------------------------------


def padding_mask(mask):
    """Turn a padding mask (B, S) into an attention mask (B, 1, S); True for real memory steps."""
    return ops.expand_dims(mask, 1)


def causal_mask(query_length, memory_length, start_index=0):
    """Let a query see the memory up to its own position: (1, T, S), True if s <= start_index + t.

    The lengths T and S and the first query's position are ints or scalar int tensors.
    """
    rows = ops.arange(query_length, dtype="int32") + ops.cast(start_index, "int32")
    columns = ops.arange(memory_length, dtype="int32")
    return ops.expand_dims(columns, 0)[None] <= ops.expand_dims(rows, 1)[None]


def source_length(mask, memory_length):
    """Count the memory up to its last attended position: the true source length, float32.

    (1, 1, 1) without a mask; else (..., 1), one for each row of a mask that has two axes at least.
    """
    if mask is None:
        return ops.reshape(ops.cast(memory_length, "float32"), (1, 1, 1))
    ends = ops.arange(1, memory_length + 1, dtype="float32")
    return ops.max(ops.where(mask, ends, 0.0), axis=-1, keepdims=True)


# --- scores: query x keys -> (B, T, S) ---------------------------------------------------------


def dot_score(query, keys):
    """Score by the inner product, `s' h` (Luong et al. 2015, Eq. 8, dot): (B, T, S).

    The product isn't scaled, so it is computed in float32: in float16 a sum of a few hundred
    moderate terms exceeds 65504.
    """
    return ops.matmul(widen(query), ops.swapaxes(widen(keys), -1, -2))


def scaled_dot_score(query, keys, head_size=None):
    """Score by `q' k / sqrt(d_k)` (Vaswani et al. 2017, Eq. 1): (..., T, S) in the query's dtype.

    The query is divided before the product, which keeps float16 in range. `head_size` is d_k, if
    it differs from the width of the keys, as in the seed book's narrow heads.
    """
    scale = (head_size or query.shape[-1]) ** -0.5
    query = query * ops.cast(scale, dtype_of(query))
    return ops.matmul(query, ops.swapaxes(keys, -1, -2))


def additive_score(query, keys, vector):
    """Score by `v' tanh(q + k)` (Bahdanau et al. 2015, A.1.2): (B, T, S) in the query's dtype.

    Query (B, T, U) and keys (B, S, U) are projected; `vector` is v (U,).
    """
    return ops.matmul(ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(keys, 1)), vector)


# --- weights -----------------------------------------------------------------------------------


def masked_softmax(scores, mask=None):
    """Return the softmax over the last axis in float32 or wider, where the mask is True.

    A row without such a position gives exact zeros, not NaN or uniform weights, and a zero
    gradient. Masked scores influence neither result nor gradient, if they are finite.
    """
    scores = widen_scores(scores)
    if mask is None:
        return _softmax(scores)
    lowest = ops.cast(LOWEST, dtype_of(scores))
    weights = _softmax(ops.where(mask, scores, lowest))
    return ops.where(mask, weights, ops.zeros_like(weights))


def widen_scores(scores):
    """Return scores in float32 or wider and finite: in float16 a product may have overflowed."""
    if dtype_of(scores) == "float16":
        return ops.clip(widen(scores), -FLOAT16_MAX, FLOAT16_MAX)
    return widen(scores)


def _softmax(scores):
    """Return the softmax over the last axis; 1 for a single step, for which Keras would warn."""
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)


# --- short convolutions ------------------------------------------------------------------------


def causal_convolution(vectors, taps, start_index=0):
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


def rotated(vectors, start_index=0, base=10000.0):
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


# --- Luong's local attention -------------------------------------------------------------------


def window_distance(centers, memory_length):
    """Return j - p_t (..., T, S), the distance of memory positions from centres p_t (..., T, 1)."""
    return ops.arange(memory_length, dtype=dtype_of(centers)) - centers


def window_mask(distance, window):
    """Return whether positions are in [p_t - D, p_t + D] (Luong et al. 2015, section 3.2)."""
    return ops.abs(distance) <= window


def gaussian_window(distance, sigma):
    """Return factors `exp(-(j - p_t)^2 / (2 sigma^2))` (Luong et al. 2015, Eq. 10)."""
    return ops.exp(ops.square(distance) * (-0.5 / sigma**2))
