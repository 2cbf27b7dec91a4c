"""Linear attention of Katharopoulos et al. (2020), with the feature map of Based, too."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import Tensor, causal_mask, require_choice, widen
from attnlab.attention.state import (
    StateAttention,
    chunk_size,
    join_chunks,
    mask_vectors,
    split_chunks,
)

TINY = 1e-20  # below any sum of similarities; makes the quotient of an empty row 0


@keras.saving.register_keras_serializable(package="attnlab")
class LinearAttention(StateAttention):
    """Attend by a similarity that is a product of features, so that the past is one sum.

    `w_ts = phi(q_t)' phi(k_s) / sum_j phi(q_t)' phi(k_j)`, for each head. As
    `sum_s phi(q_t)' phi(k_s) v_s = phi(q_t)' (sum_s phi(k_s) v_s')`, the sums over the memory are
    computed once; causally they grow step by step. Features of a head of width d:

    - "elu": `phi(x) = elu(x) + 1`, d wide. Katharopoulos et al. 2020 (arXiv 2006.16236), Eq. 7.
    - "taylor": `phi(x) = [1, x / d^(1/4), vec(x x') / sqrt(2 d)]`, 1 + d + d^2 wide, so that
      `phi(q)' phi(k) = 1 + u + u^2 / 2` with `u = q' k / sqrt(d)`, the start of the series of
      exp(u). Arora et al. 2024 (Based, arXiv 2402.18668), section 4.1.

    Difference: sums are in float32. Based is a model that has windows of softmax attention, too.

    Args:
        feature_map: "elu" or "taylor".
        key_size: width of a head's queries and keys; None takes that of its values, units / heads.
            Based has 16.
        **kwargs: `heads` and `units` as for `HeadsAttention`, and those of `Attention`.

    Raises:
        RequestError: an unknown feature map.
    """

    def __init__(self, *, feature_map: str = "elu", key_size: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.key_size = key_size
        self.feature_map = require_choice("feature_map", feature_map, ("elu", "taylor"))

    def key_width_of(self, units: int) -> int:
        """Return the width of a head's queries and keys."""
        return self.key_size or self.head_size_of(units)

    @property
    def state_sizes(self) -> tuple[int, int]:
        """The features' width, and that of the values with one column for the denominator."""
        width = self.key_width
        features = width if self.feature_map == "elu" else 1 + width + width**2
        return features, self.head_size + 1

    def activate(self, name: str, tensor: Tensor) -> Tensor:
        """Return queries and keys with their features for "elu", which are as wide."""
        if name == "values" or self.feature_map != "elu":
            return tensor
        # elu(x) + 1 in another form: far below 0, e^x - 1 is rounded to -1.
        return ops.where(tensor > 0, tensor + 1, ops.exp(ops.minimum(tensor, 0)))

    def features(self, vectors: Tensor) -> Tensor:
        """Return phi of queries or keys as `activate` returned them: (..., K) to (..., F)."""
        vectors = widen(vectors)
        if self.feature_map == "elu":
            return vectors
        width = vectors.shape[-1]
        scaled = vectors * (2 * width) ** -0.25
        squares = ops.expand_dims(scaled, -1) * ops.expand_dims(scaled, -2)
        squares = ops.reshape(squares, (*ops.shape(vectors)[:-1], width**2))
        parts = [ops.ones_like(vectors[..., :1]), vectors * width**-0.25, squares]
        return ops.concatenate(parts, axis=-1)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return similarities phi(q)' phi(k), (..., T, S), in float32 or wider; none is below 0."""
        query, keys = widen(query), ops.swapaxes(widen(keys), -1, -2)
        if self.feature_map == "elu":
            return ops.matmul(query, keys)
        products = ops.matmul(query * query.shape[-1] ** -0.5, keys)
        return 1 + products * (1 + products / 2)

    def weigh(self, queries: Tensor, keys: Tensor, mask: Tensor, start_index: Any) -> Tensor:
        """Return similarities as shares of their sum."""
        scores = self.score(queries, keys)
        if mask is not None:
            scores = ops.where(mask, scores, ops.zeros((), scores.dtype))
        return scores / ops.maximum(ops.sum(scores, axis=-1, keepdims=True), TINY)

    def direct_context(
        self, query: Tensor, memory: ProjectedMemory, memory_mask: Tensor, causal: bool
    ) -> Tensor | None:
        """Return the context by sums over the memory."""
        if causal:
            return super().direct_context(query, memory, memory_mask, causal)
        values = _with_ones(memory.values, memory_mask)
        sums = ops.matmul(ops.swapaxes(self.features(memory.keys), -1, -2), values)
        features = self.features(self.prepare_query(query))
        return self.join(_quotient(ops.matmul(features, sums)))

    def through(
        self,
        queries: Tensor,
        memory: ProjectedMemory,
        memory_mask: Tensor = None,
        state: Tensor = None,
    ) -> tuple[Tensor, Tensor]:
        """Weigh inside each chunk, and add what the sums of the chunks before it give."""
        steps, size = ops.shape(queries)[2], chunk_size(queries)
        keys, values = memory.keys, _with_ones(memory.values, memory_mask)
        queries, keys, values = (split_chunks(x, size) for x in (queries, keys, values))
        past = causal_mask(size, size)
        scores = self.score(queries, keys)
        inside = ops.matmul(ops.where(past, scores, ops.zeros((), scores.dtype)), values)
        sums = ops.matmul(ops.swapaxes(self.features(keys), -1, -2), values)
        first = ops.zeros_like(sums[:, :, :1]) if state is None else state[:, :, None]
        starts = ops.cumsum(ops.concatenate([first, sums], axis=2), axis=2)
        sums = inside + ops.matmul(self.features(queries), starts[:, :, :-1])
        return _quotient(join_chunks(sums, steps)), starts[:, :, -1]


def _with_ones(values, memory_mask):
    """Add a column of ones, for the denominator: (B, H, S, V + 1), zeros where masked."""
    values = widen(values)
    values = ops.concatenate([values, ops.ones_like(values[..., :1])], axis=-1)
    return mask_vectors(values, None if memory_mask is None else memory_mask[:, None])


def _quotient(sums):
    """Divide the sums (..., V + 1) by their last column: (..., V)."""
    return sums[..., :-1] / ops.maximum(sums[..., -1:], TINY)
