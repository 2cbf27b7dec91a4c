"""Global attention of Luong et al. (2015)."""

from __future__ import annotations

from typing import ClassVar

import keras
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.luong import LuongAttention
from attnlab.errors import RequestError


@keras.saving.register_keras_serializable(package="attnlab")
class LuongGlobalAttention(LuongAttention):
    """Weigh the whole memory by the current state: `weights_t = softmax(score(s_t, h))`.

    - dot: `s' h`
    - general: `s' W h`
    - concat: `v' tanh(W [s; h])`
    - location: `softmax(W s)`, from the state alone, for memories of at most `max_length` steps

    Source: Luong, Pham, Manning 2015 (arXiv 1508.04025), section 3.1, Eq. 7 to 9. Difference:
    location scores of positions beyond the memory are cut off before the softmax, where the paper
    leaves open what becomes of them.

    Args:
        score: "dot", "general", "concat" or "location".
        max_length: positions that "location" can score; None takes the memory's length at `build`.
        units: width of the hidden layer of "concat"; None takes the width of the query.

    Raises:
        RequestError: an unknown score; `units` or `max_length` without effect; dot scores of
            unequal widths; location scores without any length to go by, with a short convolution,
            or a memory longer than they reach.
    """

    scores: ClassVar[tuple[str, ...]] = ("dot", "general", "concat", "location")
    _positions: int | None = None

    def __init__(
        self,
        *,
        score: str = "dot",
        max_length: int | None = None,
        units: int | None = None,
        **kwargs,
    ):
        super().__init__(score=score, units=units, **kwargs)
        if score == "location" and self.short_convolution:
            raise RequestError("score=location can't have a short convolution: it has no keys")
        if score != "location" and max_length is not None:
            raise RequestError(f"max_length={max_length} has no effect without score=location")
        if score != "concat" and units is not None:
            raise RequestError(f"units={units} has no effect without score=concat")
        self.max_length = max_length

    @property
    def fixed_length(self) -> int | None:
        """The longest memory that location scores reach, once known; None for other scores."""
        return (self.max_length or self._positions) if self.score_name == "location" else None

    def build(self, query_shape, memory_shape):
        """Create the score's weights; for location W (Q, max_length)."""
        super().build(query_shape, memory_shape)
        if self.score_name != "location":
            return
        self._positions = self.max_length or memory_shape[1]
        if self._positions is None:
            raise RequestError("score=location needs max_length, or a memory of known length")
        self._require_reach(memory_shape[1])
        self.kernel = self.add_kernel("kernel", (query_shape[-1], self._positions))

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys and values (B, S, M); location uses of the keys only their number."""
        if self.score_name == "location":
            self._require_reach(memory.shape[1])
        return super().project_memory(memory)

    def score(self, query, keys):
        """Return the scores (B, T, S)."""
        if self.score_name != "location":
            return super().score(query, keys)
        scores = ops.matmul(query, self.as_compute(self.kernel))
        if keys.shape[1] == self._positions:
            return scores
        return scores[..., : ops.shape(keys)[1]]

    def _require_reach(self, length):
        if length is not None and length > self._positions:
            raise RequestError(
                f"score=location reaches {self._positions} memory steps (max_length), "
                f"got a memory of {length}"
            )
