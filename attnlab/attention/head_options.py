"""The options of multi-head attention as pure functions; G is the number of key heads."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from attnlab.attention.functional import LOWEST, Tensor, dtype_of, widen_scores


class Blocks(NamedTuple):
    """A sequence in blocks of W steps, each with the W steps before it; N blocks in B rows."""

    queries: Tensor  # (B N, H, W, K)
    keys: Tensor  # (B N, G, 2 W, K)
    values: Tensor  # (B N, G, 2 W, V)
    mask: Tensor  # (B N, 1, W, 2 W) bool, True = attend


def by_group(tensor: Tensor, groups: int) -> Tensor:
    """Put heads that share keys into one row of steps: (B, H, T, K) to (B, G, T H / G, K).

    Head h belongs to group floor(h G / H).
    """
    batch, heads, steps, width = ops.shape(tensor)
    return ops.reshape(tensor, (batch, groups, heads // groups * steps, width))


def by_head(tensor: Tensor, heads: int) -> Tensor:
    """Undo `by_group`: (B, G, T H / G, S) to (B, H, T, S)."""
    batch, groups, rows, width = ops.shape(tensor)
    return ops.reshape(tensor, (batch, heads, rows // (heads // groups), width))


def mixed(scores: Tensor, mixing: Tensor) -> Tensor:
    """Return `sum_g mixing_gh scores_g` for each head h: (B, H, T, S), in float32 or wider."""
    scores = widen_scores(scores)
    return ops.einsum("bgts,gh->bhts", scores, ops.cast(mixing, dtype_of(scores)))


def best(scores: Tensor, mask: Tensor, number: int) -> Tensor:
    """Return a mask (B, H, T, S) of the admitted scores among a row's `number` largest, and ties.

    Rows with fewer admitted scores keep all.
    """
    scores = ops.stop_gradient(widen_scores(scores))
    if mask is not None:
        scores = ops.where(mask, scores, ops.cast(LOWEST, dtype_of(scores)))
    steps = scores.shape[-1]
    number = ops.minimum(number, ops.shape(scores)[-1]) if steps is None else min(number, steps)
    among = scores >= ops.top_k(scores, number)[0][..., -1:]
    return among if mask is None else ops.logical_and(mask, among)


# --- sliding windows ---------------------------------------------------------------------------


def sliding_mask(
    query_length: Any, memory_length: Any, start_index: Any, window: int, causal: bool
) -> Tensor:
    """Let a query at position p see the memory within a window: (1, T, S) bool.

    Causal: the last `window` positions, p's own among them, `0 <= p - s < window`; else
    `|p - s| <= window`.
    """
    rows = ops.arange(query_length, dtype="int32") + ops.cast(start_index, "int32")
    distance = rows[:, None] - ops.arange(memory_length, dtype="int32")
    if causal:
        return ops.logical_and(distance >= 0, distance < window)[None]
    return (ops.abs(distance) <= window)[None]


def in_blocks(
    queries: Tensor, keys: Tensor, values: Tensor, memory_mask: Tensor, window: int
) -> Blocks:
    """Split a causal sequence of T steps into blocks of W, whose windows need two blocks of keys.

    Queries have H heads, keys and values G; `memory_mask` is (B, T), True = attend.
    """
    behind = -queries.shape[2] % window
    real = ops.pad(memory_mask, ((0, 0), (window, behind)))
    real = ops.reshape(real, (ops.shape(real)[0], -1, window))  # (B, N + 1, W)
    real = ops.concatenate([real[:, :-1], real[:, 1:]], axis=-1)
    real = ops.reshape(real, (-1, 1, 1, 2 * window))
    distance = ops.arange(window)[:, None] + window - ops.arange(2 * window)
    near = ops.logical_and(distance >= 0, distance < window)
    return Blocks(
        _blocks(ops.pad(queries, ((0, 0), (0, 0), (0, behind), (0, 0))), window),
        _pairs(keys, window, behind),
        _pairs(values, window, behind),
        ops.logical_and(real, near),
    )


def out_of_blocks(blocks: Tensor, batch: Any, steps: int) -> Tensor:
    """Put blocks (B N, H, W, V) together again: (B, H, T, V)."""
    _, heads, window, width = ops.shape(blocks)
    blocks = ops.reshape(blocks, (batch, -1, heads, window, width))
    joined = ops.reshape(ops.transpose(blocks, (0, 2, 1, 3, 4)), (batch, heads, -1, width))
    return joined[:, :, :steps]


def _blocks(sequence, window):
    """Split (B, G, N W, K) into (B N, G, W, K)."""
    batch, heads, _, width = ops.shape(sequence)
    blocks = ops.reshape(sequence, (batch, heads, -1, window, width))
    return ops.reshape(ops.transpose(blocks, (0, 2, 1, 3, 4)), (-1, heads, window, width))


def _pairs(sequence, window, behind):
    """Return each block of (B, G, T, K) after the block before it: (B N, G, 2 W, K)."""
    before = ops.pad(sequence, ((0, 0), (0, 0), (window, behind), (0, 0)))
    parts = [_blocks(before[:, :, :-window], window), _blocks(before[:, :, window:], window)]
    return ops.concatenate(parts, axis=2)
