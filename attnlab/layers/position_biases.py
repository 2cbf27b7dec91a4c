"""Biases of scores by the distance between query and key: ALiBi's slopes and T5's buckets."""

from __future__ import annotations

import numpy as np
from keras import ops

BUCKETS, FARTHEST = 32, 128  # of T5


def slopes(heads: int) -> np.ndarray:
    """Return ALiBi's slope of each head, (H,): `2^(-8 h / H)` for h = 1 to H.

    If H isn't a power of two, the slopes of the next lower power c come first, then every second
    slope of 2 c, from its first on.

    Source: Press, Smith, Lewis 2022 (arXiv 2108.12409), section 3, and its code for other numbers
    of heads. Difference: nothing.
    """
    power = 2 ** (heads.bit_length() - 1)
    found = 2.0 ** (-8 * np.arange(1, power + 1) / power)
    further = 2.0 ** (-4 * np.arange(1, 2 * power + 1, 2) / power)
    return np.concatenate([found, further[: heads - power]])


def distances(steps, memory_steps, start_index):
    """Return s - p, how far each key is behind each query, int32 (T, S); negative in the past."""
    rows = ops.arange(steps, dtype="int32") + ops.cast(start_index, "int32")
    return ops.arange(memory_steps, dtype="int32")[None] - rows[:, None]


def buckets(distance, causal: bool):
    """Return T5's bucket of distances s - p, 0 to 31.

    Short distances have a bucket each, longer ones share buckets of logarithmic width, and those
    from 128 on share the last. With `causal` all buckets are for the past; else the first half is
    for the past and the query itself, the second half for keys behind the query (s > p).

    Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and its code. Difference: nothing.
    """
    size = BUCKETS if causal else BUCKETS // 2
    exact = size // 2
    far = np.arange(FARTHEST + 1)
    share = np.log(np.maximum(far, 1) / exact) / np.log(FARTHEST / exact)
    shared = np.minimum(exact + (share * (size - exact)).astype(int), size - 1)
    table = np.where(far < exact, far, shared).astype("int32")
    past = ops.maximum(-distance, 0) if causal else ops.abs(distance)
    found = ops.take(table, ops.minimum(past, FARTHEST))
    return found if causal else found + ops.where(distance > 0, size, 0)


def by_distance(values, steps, memory_steps):
    """Spread values of distances (H, T + S - 1) over queries and keys: (H, T, S).

    Row t has the values from T - 1 - t on; the first one is that of the most negative distance. A
    gather would do it, too, but its gradient is a slow scatter.
    """
    heads, width = values.shape[0], steps + memory_steps - 1
    # In copies of width + 1 that are read in rows of `width`, each row starts one value earlier.
    copies = ops.tile(ops.pad(values, [[0, 0], [0, 1]]), [1, steps])[:, : steps * width]
    return ops.reshape(copies, (heads, steps, width))[:, :, steps - 1 :]
