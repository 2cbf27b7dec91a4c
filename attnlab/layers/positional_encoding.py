"""Codes of positions for attention, which otherwise ignores the order of a sequence."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import require_choice
from attnlab.layers.sinusoids import sinusoidal, waves


class PositionalEncoding(keras.layers.Layer):
    """Add to each vector of a sequence the code of its position.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5: sinusoids, or a learned table.
    Difference: nothing. The embedding, not this layer, multiplies by the root of the width
    (section 3.4).

    Args:
        kind: "sinusoidal", for any length and without weights, or "learned".
        max_length: number of positions of the learned table; unused for sinusoids.
        base: of the sinusoids.
        **kwargs: as for every Keras layer.

    Call arguments:
        vectors: (B, T, width).
        start_index: absolute position of the first vector, int or scalar int tensor.

    Returns:
        (B, T, width): the vectors plus the codes of positions start_index to start_index + T - 1.

    Raises:
        RequestError: an unknown kind.
        ValueError: positions beyond the learned table, if they are known while tracing.
    """

    def __init__(
        self,
        *,
        kind: str = "sinusoidal",
        max_length: int | None = None,
        base: float = 10000.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kind = require_choice("kind", kind, ("sinusoidal", "learned"))
        self.max_length, self.base = max_length, float(base)
        self.supports_masking = True

    def build(self, vectors_shape):
        """Create the learned table (max_length, width), or nothing."""
        if self.kind == "learned":
            self.table = self.add_weight(
                name="table",
                shape=(self.max_length, vectors_shape[-1]),
                initializer=keras.initializers.RandomNormal(0.0, 0.02),
            )

    def call(self, vectors, start_index=0):
        """Add the codes; see the class."""
        steps, width = ops.shape(vectors)[1:]
        known = isinstance(start_index, int) and isinstance(steps, int)
        if self.kind == "learned":
            codes = self._learned(start_index, steps, known)
        elif known:
            codes = sinusoidal(start_index + steps, width, self.base)[start_index:]
        else:
            positions = ops.arange(steps, dtype="int32") + ops.cast(start_index, "int32")
            codes = waves(ops.cast(positions, "float64")[:, None], width, self.base, ops)
        return vectors + ops.cast(codes, self.compute_dtype)

    def _learned(self, start_index, steps, known):
        """Return the table's rows from start_index on."""
        if not known:
            positions = ops.arange(steps, dtype="int32") + ops.cast(start_index, "int32")
            return ops.take(ops.convert_to_tensor(self.table), positions, axis=0)
        if start_index + steps > self.max_length:
            raise ValueError(
                f"the learned table has {self.max_length} positions (max_length), "
                f"got a sequence that ends at {start_index + steps}"
            )
        return self.table[start_index : start_index + steps]
