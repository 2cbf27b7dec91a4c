"""Local attention of Luong et al. (2015)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from attnlab.attention.functional import Tensor, dtype_of, require_choice, widen
from attnlab.attention.luong_global import LuongAttention


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
