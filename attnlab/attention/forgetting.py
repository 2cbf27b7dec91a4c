"""The Forgetting Transformer's attention: softmax with a gate that forgets, Lin et al. (2025)."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import Tensor, scaled_dot_score, widen
from attnlab.attention.heads import HeadsAttention
from attnlab.attention.state import mask_vectors


@keras.saving.register_keras_serializable(package="attnlab")
class ForgettingAttention(HeadsAttention):
    """Attend by dot products that lose a little at each step that a gate forgets.

    `e_ts = q_t' k_s / sqrt(d) + log f_(s+1) + ... + log f_t` with `f_t = sigmoid(x_t w + b)`, a
    gate per head; `weights = softmax(e)` over s <= t. No positions are needed: the gates give
    order.

    Source: Lin et al. 2025 (FoX, arXiv 2503.02130), section 3. Difference: b starts at 5, not 0:
    with 0 a head sees about two steps at the start, and associative recall is not learned.
    """

    causal_only: ClassVar[bool] = True
    rotary: ClassVar[bool] = True
    extra_columns: ClassVar[int] = 1

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections and the gates' weights."""
        super().build(query_shape, memory_shape)
        self.gate_kernel = self.add_kernel("gate_kernel", (memory_shape[-1], self.heads))
        five = keras.initializers.Constant(5.0)
        self.gate_bias = self.add_weight(name="gate_bias", shape=(self.heads,), initializer=five)

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys with the gates' logarithms as last column (B, H, S, K + 1), and values."""
        keys, values = super().project_memory(memory)
        gates = widen(self.split(memory, self.gate_kernel, self.gate_bias))
        forgotten = self.as_compute(ops.log_sigmoid(gates))
        return ProjectedMemory(ops.concatenate([keys, forgotten], axis=-1), values)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the dot products; `align` adds the gates."""
        return scaled_dot_score(query, keys[..., :-1])

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return each head's weights (B, H, T, S)."""
        # A step that no query may see forgets nothing.
        seen = keys if mask is None else mask_vectors(keys, ops.any(mask, axis=-2))
        sums = ops.cumsum(widen(seen[..., -1]), axis=-1)
        steps = start_index + ops.arange(ops.shape(query)[1])
        now = ops.take(sums, ops.clip(steps, 0, ops.shape(keys)[-2] - 1), axis=-1)
        forgotten = ops.minimum(now[..., None] - sums[..., None, :], 0.0)
        bias = forgotten if bias is None else forgotten + ops.cast(bias, forgotten.dtype)
        return super().align(query, keys, mask, start_index, bias)
