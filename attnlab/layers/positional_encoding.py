"""Codes of positions for attention, which otherwise ignores the order of a sequence."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import Attention, PositionBias
from attnlab.attention.requirements import require_choice
from attnlab.errors import RequestError
from attnlab.layers.position_biases import BUCKETS, buckets, by_distance, distances, slopes
from attnlab.layers.sinusoids import sinusoidal, waves

KINDS = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")


class PositionalEncoding(keras.layers.Layer):
    """What a stack of layers needs to know positions: codes of the vectors, or a bias of scores.

    With p the position of a query, s that of a key, h a head:

    - none: nothing. Only a causal mask then shows an order.
    - sinusoidal: `x_p + P(p)`, see `sinusoidal`. For any length, without weights.
    - learned: `x_p + E_p` with a table E (max_length, width).
    - rope: nothing here; the mechanisms turn queries and keys (`functional.rotated`).
    - alibi: `score - m_h |p - s|` with the fixed slopes m of `slopes`, also for keys behind the
      query.
    - t5: `score + b[bucket(s - p), h]`, see `buckets`, with one table b (32, H) for all layers.

    Sources: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5: sinusoids, learned table; the
    embedding, not this layer, multiplies by the root of the width (section 3.4). Press, Smith,
    Lewis 2022 (arXiv 2108.12409) for alibi, and x-transformers for keys behind the query. Raffel
    et al. 2020 (arXiv 1910.10683) for t5. Difference: T5 doesn't divide scores by the root of the
    head's width; here the mechanism decides that.

    Args:
        kind: one of `KINDS`.
        max_length: number of positions of the learned table; unused for the others.
        base: of the sinusoids.
        heads: H of the mechanisms, for alibi and t5.
        causal: whether a query sees its past only, for the buckets of t5.

    A call adds to vectors (B, T, width) the codes of the positions from `start_index` on.

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
        heads: int = 1,
        causal: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kind = require_choice("kind", kind, KINDS)
        self.max_length, self.base = max_length, float(base)
        self.heads, self.causal = heads, causal
        self.supports_masking = True

    @classmethod
    def of_stack(cls, kind: str, attention: Attention, **settings) -> PositionalEncoding:
        """Return the layer for a stack whose layers have mechanisms like this one.

        Raises:
            RequestError: the mechanism can't have such positions.
        """
        if kind in ("alibi", "t5") and not attention.takes_bias:
            raise RequestError(
                f"model.positions={kind}: expected a mechanism with scores, to which a bias is "
                f"added, got {type(attention).__name__}."
            )
        return cls(kind=kind, heads=attention.heads, **settings)

    def build(self, vectors_shape):
        """Create the table of learned codes (max_length, width) or of T5's biases (32, H)."""
        shapes = {"learned": (self.max_length, vectors_shape[-1]), "t5": (BUCKETS, self.heads)}
        if self.kind in shapes:
            self.table = self.add_weight(
                name="table",
                shape=shapes[self.kind],
                initializer=keras.initializers.RandomNormal(0.0, 0.02),
            )

    @property
    def bias(self) -> PositionBias | None:
        """What the mechanisms get as `position_bias`."""
        return {"alibi": self._alibi, "t5": self._t5}.get(self.kind)

    def _alibi(self, steps, memory_steps, start_index):
        """Return `-m_h |p - s|`, (1, H, T, S) in float32."""
        apart = ops.cast(ops.abs(distances(steps, memory_steps, start_index)), "float32")
        return apart * -slopes(self.heads).astype("float32")[None, :, None, None]

    def _t5(self, steps, memory_steps, start_index):
        """Return `b[bucket(s - p), h]`, (1, H, T, S)."""
        places = ops.arange(steps + memory_steps - 1, dtype="int32") - (steps - 1)
        found = buckets(places - ops.cast(start_index, "int32"), self.causal)
        table = ops.transpose(ops.convert_to_tensor(self.table))
        chosen = ops.one_hot(found, BUCKETS, axis=0, dtype=table.dtype)
        return by_distance(ops.matmul(table, chosen), steps, memory_steps)[None]

    def call(self, vectors, start_index=0):
        """Add the codes; see the class."""
        if self.kind not in ("sinusoidal", "learned"):
            return vectors
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
