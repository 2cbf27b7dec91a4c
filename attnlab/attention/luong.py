"""The scores that Luong's global and local attention share."""

from __future__ import annotations

from typing import ClassVar

from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import additive_score, dot_score
from attnlab.attention.requirements import require_choice, require_equal_widths
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

    Raises:
        RequestError: an unknown score; dot scores of unequal widths; `rope` with another score
            than dot and general.
    """

    scores: ClassVar[tuple[str, ...]] = ("dot", "general", "concat")
    rotary: ClassVar[bool] = True

    def __init__(self, *, score: str = "dot", units: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.score_name = require_choice("score", score, self.scores)
        if self.rope and score not in ("dot", "general"):
            raise RequestError(f"score={score} can't have rotary positions: it isn't a dot product")
        self.units = units

    def build(self, query_shape, memory_shape):
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

    def project_memory(self, memory) -> ProjectedMemory:
        """Return the memory's share of the score as keys and the memory itself as values."""
        if self.score_name == "general":
            return ProjectedMemory(ops.matmul(memory, self.as_compute(self.kernel)), memory)
        if self.score_name == "concat":
            kernel = self.as_compute(self.kernel)[self._query_width :]
            return ProjectedMemory(ops.matmul(memory, kernel), memory)
        return ProjectedMemory(memory, memory)

    def project_query(self, query):
        """Return the query or, for concat, its share of the score."""
        if self.score_name == "concat":
            return ops.matmul(query, self.as_compute(self.kernel)[: self._query_width])
        return query

    def score(self, query, keys):
        """Return the scores (B, T, S)."""
        if self.score_name == "concat":
            return additive_score(query, keys, self.as_compute(self.score_vector))
        return dot_score(query, keys)
