"""No attention: the control of every comparison."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.functional import Tensor


@keras.saving.register_keras_serializable(package="attnlab")
class NoAttention(Attention):
    """Attend to nothing: weights 0, context 0.

    For comparisons with the same model without attention. The context has its usual shape, so the
    layer can replace any mechanism. A forecaster reads the state instead; a decoder gets zeros as
    context. It has no weights.

    Source: none; it is what Bahdanau et al. (2015) call RNNencdec when the state alone passes on.
    """

    has_context: ClassVar[bool] = False
    takes_bias: ClassVar[bool] = False
    has_queries: ClassVar[bool] = False

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return zeros of shape (B, 1, T, S)."""
        batch, steps = ops.shape(query)[:2]
        return ops.zeros((batch, 1, steps, ops.shape(keys)[1]), dtype=self.compute_dtype)

    def read(self, weights: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Return zeros of shape (B, T, M)."""
        batch, _, steps, _ = ops.shape(weights)
        return ops.zeros((batch, steps, values.shape[-1]), dtype=self.compute_dtype)
