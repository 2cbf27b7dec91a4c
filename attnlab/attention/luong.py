"""Global and local attention of Luong et al. (2015)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import (
    Tensor,
    additive_score,
    dot_score,
    dtype_of,
    require_choice,
    require_equal_widths,
    widen,
)
from attnlab.errors import RequestError


class LuongAttention(Attention):
    """Content-based scores of Luong et al. (2015), Eq. 8; base of global and local attention.

    - dot: `s' h`
    - general: `s' W h`
    - concat: `v' tanh(W [s; h])`

    Source: Luong, Pham, Manning 2015 (arXiv 1508.04025), section 3.1. Difference: nothing.

    Args:
        score: "dot", "general" or "concat".
        units: width of the hidden layers; None takes the width of the query.
        **kwargs: those of `Attention`.

    Raises:
        RequestError: an unknown score; dot scores of unequal widths; `rope` with another score
            than dot and general.
    """

    scores: ClassVar[tuple[str, ...]] = ("dot", "general", "concat")
    rotary: ClassVar[bool] = True

    def __init__(self, *, score: str = "dot", units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.score_name, self.units = require_choice("score", score, self.scores), units
        if self.rope and score not in ("dot", "general"):
            raise RequestError(
                f"model.positions=rope: score={score} can't have rotary positions: it isn't a dot "
                "product."
            )

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the score's weights: none, W (M, Q), or W (Q + M, U) and v (U,)."""
        query_width, memory_width = query_shape[-1], memory_shape[-1]
        scored = query_width
        if self.score_name == "dot":
            require_equal_widths("score=dot", query_shape, memory_shape)
        elif self.score_name == "general":
            self.kernel = self.add_kernel("kernel", (memory_width, query_width))
        elif self.score_name == "concat":
            scored = self.units or query_width
            self.kernel = self.add_kernel("kernel", (query_width + memory_width, scored))
            self.score_vector = self.add_kernel("score_vector", (scored,))
        self.add_short_convolutions(query=scored, keys=scored, values=memory_width)
        self._query_width = query_width

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return the memory's share of the score as keys and the memory itself as values."""
        if self.score_name == "general":
            return ProjectedMemory(ops.matmul(memory, self.as_compute(self.kernel)), memory)
        if self.score_name == "concat":
            kernel = self.as_compute(self.kernel)[self._query_width :]
            return ProjectedMemory(ops.matmul(memory, kernel), memory)
        return ProjectedMemory(memory, memory)

    def project_query(self, query: Tensor) -> Tensor:
        """Return the query or, for concat, its share of the score."""
        if self.score_name == "concat":
            return ops.matmul(query, self.as_compute(self.kernel)[: self._query_width])
        return query

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (B, T, S)."""
        if self.score_name == "concat":
            return additive_score(query, keys, self.as_compute(self.score_vector))
        return dot_score(query, keys)


@keras.saving.register_keras_serializable(package="attnlab")
class LuongGlobalAttention(LuongAttention):
    """Weigh the whole memory by the current state: `weights_t = softmax(score(s_t, h))`.

    The scores are those of `LuongAttention`, and "location": `softmax(W s)`, from the state alone,
    for memories of at most `max_length` steps.

    Source: Luong, Pham, Manning 2015 (arXiv 1508.04025), section 3.1, Eq. 7 to 9. Difference:
    location scores of positions beyond the memory are cut off before the softmax, where the paper
    leaves open what becomes of them.

    Args:
        max_length: positions that "location" can score; None takes the memory's length at `build`.
        **kwargs: `score` and `units` as for `LuongAttention`, and those of `Attention`.

    Raises:
        RequestError: as for `LuongAttention`; location scores without any length to go by, with a
            short convolution, or a memory longer than they reach.
    """

    scores: ClassVar[tuple[str, ...]] = ("dot", "general", "concat", "location")

    def __init__(self, *, max_length: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if self.score_name == "location" and self.short_convolution:
            raise RequestError(
                "model.short_convolution: score=location can't have a short convolution: it has no "
                "keys."
            )
        # The longest memory that location scores reach; None also for other scores.
        self.fixed_length = max_length if self.score_name == "location" else None

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the score's weights; for location W (Q, max_length)."""
        super().build(query_shape, memory_shape)
        if self.score_name != "location":
            return
        self.fixed_length = self.fixed_length or memory_shape[1]
        if self.fixed_length is None:
            raise RequestError("score=location needs max_length, or a memory of known length")
        self.kernel = self.add_kernel("kernel", (query_shape[-1], self.fixed_length))

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys and values (B, S, M)."""
        if (memory.shape[1] or 0) > (self.fixed_length or math.inf):
            raise RequestError(
                f"score=location reaches {self.fixed_length} memory steps (max_length), "
                f"got a memory of {memory.shape[1]}"
            )
        return super().project_memory(memory)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (B, T, S); location uses of the keys only their number."""
        if self.score_name != "location":
            return super().score(query, keys)
        scores = ops.matmul(query, self.as_compute(self.kernel))
        if keys.shape[1] == self.fixed_length:
            return scores
        return scores[..., : ops.shape(keys)[1]]


@keras.saving.register_keras_serializable(package="attnlab")
class LuongLocalAttention(LuongAttention):
    """Weigh a window of the memory around a position p_t, `[p_t - D, p_t + D]`.

    - monotonic (local-m): `p_t = t`; `weights = softmax(score(s_t, h))` over the window.
    - predictive (local-p): `p_t = S sigmoid(v_p' tanh(W_p s_t))`; the same softmax, and then
      `weights_s * exp(-(s - p_t)^2 / (2 sigma^2))` with `sigma = D / 2`, not normalised again:
      its rows sum to at most 1.

    S is the true source length: the last attended position + 1. t counts from `start_index`.
    Positions outside of the memory are ignored; a window that lies outside altogether gives zero
    weights and a zero context.

    Source: Luong, Pham, Manning 2015 (arXiv 1508.04025), section 3.2, Eq. 9 and 10. Difference:
    positions count from 0, so p_t is in (0, S) and the last position is S - 1.

    Args:
        alignment: "monotonic" or "predictive".
        score: "dot", "general" or "concat".
        window: D, in memory steps (the paper's 10).
        **kwargs: `units` as for `LuongAttention`, also of W_p; and those of `Attention`.

    Raises:
        RequestError: an unknown alignment; as for `LuongAttention`.
    """

    window: int

    def __init__(
        self,
        *,
        alignment: str = "predictive",
        score: str = "general",
        window: int = 10,
        **kwargs: Any,
    ):
        super().__init__(score=score, **kwargs)
        self.alignment = require_choice("alignment", alignment, ("monotonic", "predictive"))
        self.window = window

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the score's weights and, for predictive alignment, W_p (Q, U) and v_p (U,)."""
        super().build(query_shape, memory_shape)
        if self.alignment == "predictive":
            units = self.units or query_shape[-1]
            self.position_kernel = self.add_kernel("position_kernel", (query_shape[-1], units))
            self.position_vector = self.add_kernel("position_vector", (units,))

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return the weights within the window, (B, 1, T, S)."""
        length = ops.shape(keys)[1]
        centers = self.centers(query, length, mask, start_index)
        distance = ops.arange(length, dtype=dtype_of(centers)) - centers  # (..., T, S)
        inside = ops.abs(distance) <= self.window
        mask = inside if mask is None else ops.logical_and(mask, inside)
        weights = super().align(query, keys, mask, start_index, bias)
        if self.alignment == "monotonic":
            return weights
        return weights * ops.exp(ops.square(distance) * (-0.5 / (self.window / 2) ** 2))

    def centers(
        self, query: Tensor, length: Any, mask: Tensor = None, start_index: Any = 0
    ) -> Tensor:
        """Return each query's p_t from 0, float32 or wider: (B, 1, T, 1), monotonic (1, 1, T, 1).

        `mask` is None or broadcastable to (B, 1, T, S), with two axes at least; `length` is that
        of the memory.
        """
        if self.alignment == "monotonic":
            steps = ops.arange(ops.shape(query)[1], dtype="int32") + ops.cast(start_index, "int32")
            return ops.cast(steps, "float32")[None, None, :, None]
        hidden = ops.tanh(ops.matmul(query, self.as_compute(self.position_kernel)))
        place = ops.sum(widen(hidden * self.as_compute(self.position_vector)), axis=-1)
        place = ops.sigmoid(place)[:, None, :, None]
        source_length = ops.reshape(ops.cast(length, "float32"), (1, 1, 1))
        if mask is not None:  # up to the last attended position
            ends = ops.arange(1, length + 1, dtype="float32")
            source_length = ops.max(ops.where(mask, ends, 0.0), axis=-1, keepdims=True)
        return place * ops.cast(source_length, place.dtype)
