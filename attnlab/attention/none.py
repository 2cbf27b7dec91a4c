"""No attention: the control of every comparison."""

from __future__ import annotations

from typing import ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention


@keras.saving.register_keras_serializable(package="attnlab")
class NoAttention(Attention):
    """Attend to nothing: weights 0, context 0.

    The same model without attention, for comparisons. The context keeps its usual shape, so that
    the layer fits wherever another mechanism does; a forecaster reads the state instead, and to a
    decoder the zeros say "no context". It has no weights.

    Source: none; it is what Bahdanau et al. (2015) call RNNencdec when the state alone passes on.

    Args:
        **kwargs: as for `Attention`; there is no weight to drop.

    Call arguments, returns: see `Attention`; context (B, T, M) and weights (B, 1, T, S) of zeros.
    """

    has_context: ClassVar[bool] = False

    def align(self, query, keys, mask, start_index):
        """Return zeros of shape (B, 1, T, S)."""
        batch, steps = ops.shape(query)[:2]
        return ops.zeros((batch, 1, steps, ops.shape(keys)[1]), dtype=self.compute_dtype)

    def read(self, weights, values):
        """Return zeros of shape (B, T, M)."""
        batch, _, steps, _ = ops.shape(weights)
        return ops.zeros((batch, steps, values.shape[-1]), dtype=self.compute_dtype)
