"""The delta rule as pure functions: weights of a whole sequence, and chunks with a state.

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

import tensorflow as tf
from keras import ops

from attnlab.attention.functional import causal_mask
from attnlab.attention.state import chunk_size, in_chunks, joined


def delta_weights(queries, keys, strength, log_decay, mask, start_index=0):
    """Return the weights (B, H, T, S), of any sign.

    `mask` is None or bool, broadcastable to (B, H, T, S); `start_index` is the position of the
    first query.
    """
    between = None
    read = ops.matmul(queries, ops.swapaxes(keys, -1, -2))
    if log_decay is not None:
        sums = ops.cumsum(log_decay, axis=-1)
        steps = start_index + ops.arange(ops.shape(queries)[-2])
        steps = ops.minimum(steps, ops.shape(keys)[-2] - 1)
        since = ops.take(sums, steps, axis=-1)[..., None] - sums[..., None, :]
        read = read * ops.exp(ops.minimum(since, 0.0))
        between = sums[..., None] - sums[..., None, :]
    if mask is not None:
        read = ops.where(mask, read, ops.zeros((), read.dtype))
    upper = ops.swapaxes(_overlap(keys, strength, between), -1, -2)
    found = ops.solve_triangular(upper, ops.swapaxes(read, -1, -2), lower=False)
    return ops.swapaxes(found, -1, -2) * strength[..., None, :]


def delta_contexts(queries, keys, values, strength, log_decay, state=None):
    """Return contexts (B, H, T, V), and the memory M (B, H, K, V) after the last step.

    Chunks are independent except for the memory M: `M_next = F M + N`, with F and N of the chunk.
    """
    steps, size = ops.shape(queries)[2], chunk_size(queries)
    strength = in_chunks(strength[..., None], size)
    queries, keys, values = (in_chunks(each, size) for each in (queries, keys, values))
    between, kept, written, then = None, keys, keys, queries
    identity = ops.eye(keys.shape[-1], dtype=keys.dtype)
    if log_decay is not None:
        sums = ops.cumsum(in_chunks(log_decay[..., None], size), axis=-2)
        total, decay = sums[..., -1:, :], ops.exp(sums)
        between = sums - ops.swapaxes(sums, -1, -2)
        kept, written, then = keys * decay, keys * ops.exp(total - sums), queries * decay
        identity = identity * ops.exp(total)
    put_in = ops.concatenate([strength * values, strength * kept], axis=-1)
    solved = ops.solve_triangular(_overlap(keys, strength[..., 0], between), put_in, lower=True)
    new, old = solved[..., : values.shape[-1]], solved[..., values.shape[-1] :]
    written = ops.swapaxes(written, -1, -2)
    factors, added = identity - ops.matmul(written, old), ops.matmul(written, new)
    starts, state = _memories(factors, added, state)
    read = _lower(ops.matmul(queries, ops.swapaxes(keys, -1, -2)), between, diagonal=True)
    found = ops.matmul(then - ops.matmul(read, old), starts) + ops.matmul(read, new)
    return joined(found, steps), state


def _overlap(keys, strength, between):
    """Return `I + A`, (..., S, S)."""
    products = ops.matmul(strength[..., None] * keys, ops.swapaxes(keys, -1, -2))
    return _lower(products, between, diagonal=False) + ops.eye(
        ops.shape(keys)[-2], dtype=keys.dtype
    )


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
