"""DeltaNet: linear attention that replaces what it knows of a key, Yang et al. (2024)."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.delta_rule import delta_contexts, delta_weights
from attnlab.attention.functional import Tensor, rms_normalized, widen
from attnlab.attention.state import State, StateAttention, only


@keras.saving.register_keras_serializable(package="attnlab")
class DeltaAttention(StateAttention):
    """Attend through a memory matrix that each step corrects where its key points.

    `M_t = M_(t-1) + b_t k_t (v_t - M_(t-1)' k_t)'`, `c_t = M_t' q_t`, for each head, with
    `q = l2(SiLU(x W_Q))`, `k = l2(SiLU(x W_K))`, `v = x W_V` and `b = sigmoid(x W_b)`; then
    `context = [RMSNorm(c_1); ...; RMSNorm(c_H)] W_O`, one scale for all heads. The weights, as
    signed numbers, are in `delta_rule`.

    Source: Yang et al. 2024 (arXiv 2406.06484), sections 2.2 and 3. Difference: the paper's
    convolutions of queries, keys and values are `model.short_convolution`. flash-linear-attention
    applies SiLU to values, too, and divides queries by `sqrt(d)`, which the norm undoes, except for
    its epsilon of 1e-5.

    It knows only the masks of its past and of padding; other masks give wrong results.
    """

    causal_only: ClassVar[bool] = True
    extra_columns: ClassVar[int] = 1

    @property
    def weights_are(self) -> str:
        """Signed: a step may take back what an earlier one put in."""
        return "signed"

    @property
    def state_sizes(self) -> tuple[int, int]:
        """K and V of the memory matrix."""
        return self.key_width, self.head_size

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections, those of the strengths, and the norm's scale."""
        super().build(query_shape, memory_shape)
        self.strength_kernel = self.add_kernel("strength_kernel", (memory_shape[-1], self.heads))
        self.norm_scale = self.add_weight(
            name="norm_scale", shape=(self.head_size,), initializer="ones"
        )

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys with the strengths as last column (B, H, S, K + 1), and values."""
        keys, values = super().project_memory(memory)
        strength = ops.sigmoid(self.split(memory, self.strength_kernel))
        return ProjectedMemory(ops.concatenate([keys, strength], axis=-1), values)

    def activate(self, name: str, tensor: Tensor) -> Tensor:
        """Return queries and keys after SiLU with a length of 1, in float32 or wider."""
        if name == "values":
            return tensor
        # x sigmoid(x), which graphs fuse to something that rounds differently.
        half = widen(tensor) / 2
        tensor = half + half * ops.tanh(half)
        return tensor * ops.rsqrt(ops.sum(ops.square(tensor), axis=-1, keepdims=True) + 1e-6)

    def unpacked(self, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return keys (B, H, S, K), their strengths and log decays (B, H, S), None for none."""
        keys = widen(keys)
        return keys[..., : self.key_width], keys[..., self.key_width], None

    def weigh(self, queries: Tensor, keys: Tensor, mask: Tensor, start_index: Any) -> Tensor:
        """Return `(Q K') (I + strictlower(diag(b) K K'))^-1 diag(b)`."""
        if mask is not None:  # a step that no query may see has no strength
            keys = only(keys, ops.any(mask, axis=-2))
        return delta_weights(queries, *self.unpacked(keys), mask, start_index)

    def through(
        self,
        queries: Tensor,
        memory: ProjectedMemory,
        memory_mask: Tensor = None,
        state: Any = None,
    ) -> tuple[Tensor, State]:
        """Return contexts (B, H, T, V) and the next memory matrix."""
        keys = only(memory.keys, None if memory_mask is None else memory_mask[:, None])
        keys, *gates = self.unpacked(keys)
        start = None if state is None else state.sums
        contexts, sums = delta_contexts(queries, keys, widen(memory.values), *gates, start)
        return contexts, State(sums)

    def join(self, contexts: Tensor) -> Tensor:
        """Normalise each head's context, join and project them."""
        return super().join(rms_normalized(contexts, self.norm_scale, 1e-5))
