"""Additive attention of Bahdanau et al. (2015)."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import Tensor, additive_score


@keras.saving.register_keras_serializable(package="attnlab")
class BahdanauAttention(Attention):
    """Score by a small network: `e_ts = v' tanh(W s_t + U h_s)`.

    `weights = softmax(e)`, `context_t = sum_s weights_ts h_s`. In translation the query is the
    decoder's previous state, hence the placement before the step.

    Source: Bahdanau, Cho, Bengio 2015 (arXiv 1409.0473), section 3.1 and appendix A.1.2.
    Difference: nothing; no bias, as printed. One matrix on `[s; h]` is the same function.

    Args:
        units: width of the hidden layer (the paper's 1000); None takes the width of the query.

    Examples:
        >>> layer = BahdanauAttention(units=16)
        >>> context, weights = layer(query, memory)  # (B, T, M), (B, 1, T, S)
    """

    placement: ClassVar[str] = "before_step"

    def __init__(self, *, units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create W (Q, U), U (M, U) and v (U,)."""
        units = self.units or query_shape[-1]
        self.query_kernel = self.add_kernel("query_kernel", (query_shape[-1], units))
        self.memory_kernel = self.add_kernel("memory_kernel", (memory_shape[-1], units))
        self.score_vector = self.add_kernel("score_vector", (units,))
        self.add_short_convolutions(query=units, keys=units, values=memory_shape[-1])

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys `U h` (B, S, U) and the memory itself as values."""
        return ProjectedMemory(ops.matmul(memory, self.as_compute(self.memory_kernel)), memory)

    def project_query(self, query: Tensor) -> Tensor:
        """Return `W s`, (B, T, U)."""
        return ops.matmul(query, self.as_compute(self.query_kernel))

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return `v' tanh(W s + U h)`, (B, T, S)."""
        return additive_score(query, keys, self.as_compute(self.score_vector))
