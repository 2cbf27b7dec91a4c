"""Multi-head attention of Vaswani et al. (2017)."""

from __future__ import annotations

from typing import ClassVar

import keras

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import scaled_dot_score
from attnlab.attention.heads import HeadsAttention
from attnlab.errors import RequestError


@keras.saving.register_keras_serializable(package="attnlab")
class MultiHeadAttention(HeadsAttention):
    """Attend with several heads at once, each to another projection of the same vectors.

    `head_i = softmax(Q_i K_i' / sqrt(d_k)) V_i` with `Q_i = query W_Q_i + b_Q_i` and the like,
    `d_k = d_v = units / heads`; `context = [head_1; ...; head_H] W_O + b_O`, `units` wide.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2. Difference: biases, which the
    paper doesn't print and the usual implementations have (1,050,624 parameters at 512 units and
    8 heads). With `book=True` the seed book's layer (listing 16.6): the projections are d_k wide
    *together*, split over the heads, while the scores are still divided by `sqrt(d_k)` (131,776).

    Args:
        heads: number of heads H.
        units: width of all heads together and of the context; None takes the width of the query.
        book: whether to project as narrowly as the book.
        biases: whether the four projections have biases b.
        **kwargs: as for `Attention`.

    Call arguments, returns: see `Attention`; weights (B, H, T, S).

    Raises:
        RequestError: `heads` doesn't divide `units` (with `book`, units / heads).
    """

    rotary: ClassVar[bool] = True

    def __init__(
        self,
        *,
        heads: int = 4,
        units: int | None = None,
        book: bool = False,
        biases: bool = True,
        **kwargs,
    ):
        super().__init__(heads=heads, units=units, **kwargs)
        self.book, self.biases = bool(book), bool(biases)
        if units is not None:
            self._sizes(units)

    def build(self, query_shape, memory_shape):
        """Create the four projections, and their biases if there are any."""
        units = self.units or query_shape[-1]
        self.head_size, inner = self._sizes(units)
        for name, width in (
            ("query", query_shape[-1]),
            ("key", memory_shape[-1]),
            ("value", memory_shape[-1]),
        ):
            setattr(self, f"{name}_kernel", self.add_kernel(f"{name}_kernel", (width, inner)))
            setattr(self, f"{name}_bias", self.add_bias(f"{name}_bias", inner))
        self.output_kernel = self.add_kernel("output_kernel", (inner, units))
        self.output_bias = self.add_bias("output_bias", units)
        heads = (self.heads, inner // self.heads)
        self.add_short_convolutions(query=heads, keys=heads, values=heads)

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys and values, each (B, H, S, K)."""
        return ProjectedMemory(
            self.split(memory, self.key_kernel, self.key_bias),
            self.split(memory, self.value_kernel, self.value_bias),
        )

    def project_query(self, query):
        """Return each head's query, (B, H, T, K)."""
        return self.split(query, self.query_kernel, self.query_bias)

    def score(self, query, keys):
        """Return each head's scores, (B, H, T, S)."""
        return scaled_dot_score(query, keys, self.head_size)

    def join(self, contexts):
        """Join the heads' contexts (B, H, T, V) and project them: (B, T, units)."""
        return self.affine(self.side_by_side(contexts), self.output_kernel, self.output_bias)

    def add_bias(self, name, width):
        """Create a bias of zeros; None without biases."""
        if not self.biases:
            return None
        return self.add_weight(name=name, shape=(width,), initializer="zeros")

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        return {**super().get_config(), "book": self.book, "biases": self.biases}

    def _sizes(self, units: int) -> tuple[int, int]:
        """Return d_k, and the width of all heads' queries together."""
        inner = units // self.heads if self.book else units
        if units % self.heads or inner % self.heads:
            total = f"units / heads = {units} / {self.heads}" if self.book else f"units = {units}"
            raise RequestError(f"heads = {self.heads} must divide {total}")
        return units // self.heads, inner
