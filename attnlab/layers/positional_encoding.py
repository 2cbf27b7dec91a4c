"""Codes of positions for attention, which otherwise ignores the order of a sequence."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import Attention, PositionBias
from attnlab.attention.functional import Tensor, require_choice
from attnlab.errors import RequestError

KINDS = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")
BUCKETS, FARTHEST = 32, 128  # of T5


class PositionalEncoding(keras.layers.Layer):
    """What a stack of layers needs to know positions: codes of the vectors, or a bias of scores.

    With p the position of a query, s that of a key, h a head:

    - none: nothing. Only a causal mask then shows an order.
    - sinusoidal: `x_p + P(p)`, see `sinusoidal`. For any length, without weights.
    - learned: `x_p + E_p` with a table E (max_length, width).
    - rope: nothing here; the mechanisms turn queries and keys (`functional.rotate`).
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
        heads: H of the mechanisms, for alibi and t5.
        causal: whether a query sees its past only, for the buckets of t5.
        **kwargs: of every Keras layer.

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
        heads: int = 1,
        causal: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.kind = require_choice("kind", kind, KINDS)
        self.max_length, self.heads, self.causal = max_length, heads, causal
        self.supports_masking = True

    @classmethod
    def of_stack(cls, kind: str, attention: Attention, **settings: Any) -> PositionalEncoding:
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

    def build(self, vectors_shape: tuple) -> None:
        """Create the table of learned codes (max_length, width) or of T5's biases (32, H)."""
        shapes = {"learned": (self.max_length, vectors_shape[-1]), "t5": (BUCKETS, self.heads)}
        if self.kind in shapes:
            normal = keras.initializers.RandomNormal(0.0, 0.02)
            self.table = self.add_weight(name="table", shape=shapes[self.kind], initializer=normal)

    @property
    def bias(self) -> PositionBias | None:
        """What the mechanisms get as `position_bias`."""
        return {"alibi": self._alibi, "t5": self._t5}.get(self.kind)

    def _alibi(self, steps, memory_steps, start_index):
        """Return `-m_h |p - s|`, (1, H, T, S) in float32."""
        rows = ops.arange(steps, dtype="int32") + ops.cast(start_index, "int32")
        distances = ops.arange(memory_steps, dtype="int32")[None] - rows[:, None]
        apart = ops.cast(ops.abs(distances), "float32")
        return apart * -slopes(self.heads).astype("float32")[None, :, None, None]

    def _t5(self, steps, memory_steps, start_index):
        """Return `b[bucket(s - p), h]`, (1, H, T, S)."""
        places = ops.arange(steps + memory_steps - 1, dtype="int32") - (steps - 1)
        numbers = buckets(places - ops.cast(start_index, "int32"), self.causal)
        table = ops.transpose(ops.convert_to_tensor(self.table))
        chosen = ops.one_hot(numbers, BUCKETS, axis=0, dtype=table.dtype)
        return by_distance(ops.matmul(table, chosen), steps, memory_steps)[None]

    def call(self, vectors: Tensor, start_index: Any = 0) -> Tensor:
        """Add the codes; see the class."""
        if self.kind not in ("sinusoidal", "learned"):
            return vectors
        steps, width = ops.shape(vectors)[1:]
        positions = ops.arange(steps, dtype="int32") + ops.cast(start_index, "int32")
        end = (
            start_index + steps if isinstance(start_index, int) and isinstance(steps, int) else None
        )
        if self.kind == "learned":
            if self.max_length is not None and (end or 0) > self.max_length:
                raise ValueError(
                    f"the learned table has {self.max_length} positions (max_length), "
                    f"got a sequence that ends at {end}"
                )
            table = ops.convert_to_tensor(self.table)
            codes = table[start_index:end] if end else ops.take(table, positions, axis=0)
        elif end:
            codes = sinusoidal(end, width)[start_index:]
        else:
            codes = waves(ops.cast(positions, "float64")[:, None], width, ops)
        return vectors + ops.cast(codes, self.compute_dtype)


def sinusoidal(length: int, width: int, base: float = 10000.0) -> np.ndarray:
    """Tabulate `P(k, 2i) = sin(k / base^(2i/width))`, `P(k, 2i+1) = cos(k / base^(2i/width))`.

    For a fixed offset, P(k + offset) is a rotation of P(k) that doesn't depend on k.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5. Difference: an odd width is
    allowed; its last column is a sine without its cosine. (length, width) float64.
    """
    return waves(np.arange(length, dtype="float64")[:, None], width, np, base)


def waves(positions: Any, width: int, xp: Any, base: float = 10000.0) -> Any:
    """Return sines in the even columns and cosines in the odd ones, for float64 positions.

    In float32 the angle would have an error of 5e-4 at position 10,000. `xp` is the library of
    `positions` (T, 1): NumPy, or one with the same functions.
    """
    columns = np.arange(width)
    angles = positions * base ** (-(columns - columns % 2) / width)
    return xp.where(columns % 2 == 0, xp.sin(angles), xp.cos(angles))


def slopes(heads: int) -> np.ndarray:
    """Return ALiBi's slope of each head, (H,): `2^(-8 h / H)` for h = 1 to H.

    If H isn't a power of two, the slopes of the next lower power c come first, then every second
    slope of 2 c, from its first on.

    Source: Press, Smith, Lewis 2022 (arXiv 2108.12409), section 3, and its code for other numbers
    of heads. Difference: nothing.
    """
    power = 2 ** (heads.bit_length() - 1)
    first = 2.0 ** (-8 * np.arange(1, power + 1) / power)
    further = 2.0 ** (-4 * np.arange(1, 2 * power + 1, 2) / power)
    return np.concatenate([first, further[: heads - power]])


def buckets(distance: Tensor, causal: bool) -> Tensor:
    """Return T5's bucket of distances s - p, 0 to 31.

    Short distances have a bucket each, longer ones share buckets of logarithmic width, and those
    from 128 on share the last. With `causal` all buckets are for the past; else the first half is
    for the past and the query itself, the second half for keys behind the query (s > p).

    Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and its code. Difference: nothing.
    """
    size = BUCKETS if causal else BUCKETS // 2
    exact = size // 2
    far = np.arange(FARTHEST + 1)
    share = np.log(np.maximum(far, 1) / exact) / np.log(FARTHEST / exact)
    shared = np.minimum(exact + (share * (size - exact)).astype(int), size - 1)
    table = np.where(far < exact, far, shared).astype("int32")
    past = ops.maximum(-distance, 0) if causal else ops.abs(distance)
    numbers = ops.take(table, ops.minimum(past, FARTHEST))
    return numbers if causal else numbers + ops.where(distance > 0, size, 0)


def by_distance(values: Tensor, steps: int, memory_steps: int) -> Tensor:
    """Spread values of distances (H, T + S - 1) over queries and keys: (H, T, S).

    Row t has the values from T - 1 - t on; the first one is that of the most negative distance. A
    gather would do it, too, but its gradient is a slow scatter.
    """
    heads, width = values.shape[0], steps + memory_steps - 1
    # In copies of width + 1 that are read in rows of `width`, each row starts one value earlier.
    copies = ops.tile(ops.pad(values, [[0, 0], [0, 1]]), [1, steps])[:, : steps * width]
    return ops.reshape(copies, (heads, steps, width))[:, :, steps - 1 :]
