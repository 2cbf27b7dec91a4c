"""Attention pooling without a query, the layer of the book's chapter 9."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import Tensor
from attnlab.errors import RequestError


@keras.saving.register_keras_serializable(package="attnlab")
class PoolingAttention(Attention):
    """Weigh the memory by a score of its own: `e_s = tanh(h_s' w + b_s)`.

    `weights = softmax(e)`, `context = sum_s weights_s h_s`. No query takes part: each query step
    gets the same context. The bias is one per time step, so the memory has the length it was
    built with. Scores are in (-1, 1): over 20 steps no weight can exceed 0.28.

    Source: "Building Transformer Models with Attention", chapter 9, listing 9.6, with its
    parameters (22 at 2 units and 20 steps) and initial values. Difference: masks.

    Raises:
        RequestError: the length of the memory is unknown when the layer is built.
    """

    takes_bias: ClassVar[bool] = False
    has_queries: ClassVar[bool] = False

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create w (M,) and b (S,)."""
        _, self.fixed_length, width = memory_shape
        if self.fixed_length is None:
            raise RequestError(
                "attention pooling has a bias per time step and needs a memory of known length"
            )
        self.kernel = self.add_weight(
            name="kernel", shape=(width,), initializer=keras.initializers.RandomNormal(0.0, 0.05)
        )
        self.bias = self.add_weight(name="bias", shape=(self.fixed_length,), initializer="zeros")

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Score the memory: keys (B, S, 1) of scores, values (B, S, M)."""
        scores = ops.matmul(memory, self.as_compute(self.kernel)) + self.as_compute(self.bias)
        return ProjectedMemory(ops.expand_dims(ops.tanh(scores), -1), memory)

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return the memory's own weights for each query step, (B, 1, T, S)."""
        weights = self.normalize(ops.expand_dims(ops.swapaxes(keys, 1, 2), 1), mask)
        batch, steps = ops.shape(query)[:2]
        if query.shape[1] == 1:
            return weights
        return ops.broadcast_to(weights, (batch, 1, steps, ops.shape(keys)[1]))
