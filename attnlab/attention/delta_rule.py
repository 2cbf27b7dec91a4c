"""The delta rule as pure functions: step by step, weights of a whole sequence, and chunks.

At each step the memory M decays, a key's old value is taken out, and a new one is put in:
`M_t = e^(g_t) (I - b_t k_t k_t') M_(t-1) + b_t k_t v_t'`, read as `c_t = M_t' q_t`. b is the
strength of the step; g, at most 0, is the logarithm of its decay, None for none. With
`G = cumsum(g)` and `D_ts = e^(G_t - G_s)` for s <= t, the weights of all steps are
`(Q K' * D) (I + A)^-1 diag(b)` where `A = strictlower(diag(b) (K K' * D))`.

Shapes: queries (B, H, T, K), keys (B, H, S, K), values (B, H, S, V), strength and log_decay
(B, H, S), all in float32 or wider. A step with zeros in both changes nothing.

Sources: Yang et al. 2024 (arXiv 2406.06484), section 3; with a decay Yang et al. 2024 (arXiv
2412.06464), section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.functional import Tensor, causal_mask
from attnlab.attention.state import chunk_size, in_chunks, joined


def delta_steps(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    strength: np.ndarray,
    log_decay: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `delta_contexts` does, as the recurrence is printed: its specification."""
    state = np.zeros((*keys.shape[:2], keys.shape[-1], values.shape[-1]))
    contexts = np.zeros_like(values)
    for t in range(keys.shape[2]):
        k, b = keys[:, :, t, :, None], strength[:, :, t, None, None]
        if log_decay is not None:
            state = np.exp(log_decay[:, :, t, None, None]) * state
        state = state + b * k * (values[:, :, t, None] - np.sum(k * state, axis=2, keepdims=True))
        contexts[:, :, t] = np.sum(queries[:, :, t, :, None] * state, axis=2)
    return contexts, state


def delta_weights(
    queries: Tensor,
    keys: Tensor,
    strength: Tensor,
    log_decay: Tensor | None,
    mask: Tensor,
    start_index: Any = 0,
) -> Tensor:
    """Return the weights (B, H, T, S), of any sign.

    `mask` is None or bool, broadcastable to (B, H, T, S); `start_index` is the position of the
    first query.
    """
    between = None
    products = ops.matmul(queries, ops.swapaxes(keys, -1, -2))
    if log_decay is not None:
        sums = ops.cumsum(log_decay, axis=-1)
        steps = start_index + ops.arange(ops.shape(queries)[-2])
        steps = ops.minimum(steps, ops.shape(keys)[-2] - 1)
        since = ops.take(sums, steps, axis=-1)[..., None] - sums[..., None, :]
        products = products * ops.exp(ops.minimum(since, 0.0))
        between = sums[..., None] - sums[..., None, :]
    if mask is not None:
        products = ops.where(mask, products, ops.zeros((), products.dtype))
    upper = ops.swapaxes(_overlap(keys, strength, between), -1, -2)
    solved = ops.solve_triangular(upper, ops.swapaxes(products, -1, -2), lower=False)
    return ops.swapaxes(solved, -1, -2) * strength[..., None, :]


def delta_contexts(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    strength: Tensor,
    log_decay: Tensor | None,
    state: Tensor = None,
) -> tuple[Tensor, Tensor]:
    """Return contexts (B, H, T, V), and the memory M (B, H, K, V) after the last step.

    Chunks are independent except for the memory M: `M_next = F M + N`, with F and N of the chunk.
    """
    steps, size = ops.shape(queries)[2], chunk_size(queries)
    strength = in_chunks(strength[..., None], size)
    queries, keys, values = (in_chunks(each, size) for each in (queries, keys, values))
    between, k_decayed, k_to_end, q_decayed = None, keys, keys, queries
    identity = ops.eye(keys.shape[-1], dtype=keys.dtype)
    if log_decay is not None:
        sums = ops.cumsum(in_chunks(log_decay[..., None], size), axis=-2)
        total, decay = sums[..., -1:, :], ops.exp(sums)
        between = sums - ops.swapaxes(sums, -1, -2)
        k_decayed, q_decayed = keys * decay, queries * decay
        k_to_end = keys * ops.exp(total - sums)
        identity = identity * ops.exp(total)
    beta_v_k = ops.concatenate([strength * values, strength * k_decayed], axis=-1)
    solved = ops.solve_triangular(_overlap(keys, strength[..., 0], between), beta_v_k, lower=True)
    new, old = solved[..., : values.shape[-1]], solved[..., values.shape[-1] :]
    k_to_end = ops.swapaxes(k_to_end, -1, -2)
    factors, added = identity - ops.matmul(k_to_end, old), ops.matmul(k_to_end, new)
    starts, state = _memories(factors, added, state)
    inside = _lower(ops.matmul(queries, ops.swapaxes(keys, -1, -2)), between, diagonal=True)
    contexts = ops.matmul(q_decayed - ops.matmul(inside, old), starts) + ops.matmul(inside, new)
    return joined(contexts, steps), state


def _overlap(keys, strength, between):
    """Return `I + A`, (..., S, S)."""
    products = ops.matmul(strength[..., None] * keys, ops.swapaxes(keys, -1, -2))
    identity = ops.eye(ops.shape(keys)[-2], dtype=keys.dtype)
    return _lower(products, between, diagonal=False) + identity


def _lower(products, between, diagonal):
    """Return the lower triangle of products (..., S, S), decayed by e^between."""
    size, zero = ops.shape(products)[-1], ops.zeros((), products.dtype)
    lower = causal_mask(size, size, 0 if diagonal else -1)
    if between is not None:
        products = products * ops.exp(ops.where(lower, between, zero))
    return ops.where(lower, products, zero)


def _memories(factors, added, state):
    """Return M before each chunk (B, H, N, K, V), and M after the last one (B, H, K, V)."""
    if state is None:
        state = ops.zeros_like(added[:, :, 0])
    if factors.shape[2] == 1:
        return state[:, :, None], ops.matmul(factors[:, :, 0], state) + added[:, :, 0]
    chunks = [ops.transpose(each, (2, 0, 1, 3, 4)) for each in (factors, added)]
    ends = tf.scan(lambda memory, chunk: tf.matmul(chunk[0], memory) + chunk[1], chunks, state)
    starts = ops.concatenate([state[None], ends[:-1]], axis=0)
    return ops.transpose(starts, (1, 2, 0, 3, 4)), ends[-1]
