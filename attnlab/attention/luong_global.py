"""Global attention of Luong et al. (2015), and the scores that local attention shares."""

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
    require_choice,
    require_equal_widths,
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
    _positions: int | None = None

    def __init__(self, *, max_length: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if self.score_name == "location" and self.short_convolution:
            raise RequestError(
                "model.short_convolution: score=location can't have a short convolution: it has no "
                "keys."
            )
        self.max_length = max_length

    @property
    def fixed_length(self) -> int | None:
        """The longest memory that location scores reach, once known; None for other scores."""
        return (self.max_length or self._positions) if self.score_name == "location" else None

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the score's weights; for location W (Q, max_length)."""
        super().build(query_shape, memory_shape)
        if self.score_name != "location":
            return
        self._positions = self.max_length or memory_shape[1]
        if self._positions is None:
            raise RequestError("score=location needs max_length, or a memory of known length")
        self.kernel = self.add_kernel("kernel", (query_shape[-1], self._positions))

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
        if keys.shape[1] == self._positions:
            return scores
        return scores[..., : ops.shape(keys)[1]]
