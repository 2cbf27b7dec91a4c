"""What the mechanisms with several heads share: projections, split over the heads and joined."""

from __future__ import annotations

from typing import ClassVar

from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.errors import RequestError


class HeadsAttention(Attention):
    """Base of the mechanisms with several heads: each head has its own projections.

    Queries `x W_Q`, keys `x W_K` and values `x W_V` are split over the heads; the heads' contexts
    are joined and projected by `W_O`. There are no biases, unless a subclass has some.

    Args:
        heads: number of heads H.
        units: width of all heads together and of the context; None takes the width of the query.

    Raises:
        RequestError: `heads` doesn't divide `units`.
    """

    maps: ClassVar[int] = 1  # queries and keys of a head

    def __init__(self, *, heads: int = 4, units: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.units = units
        if units is not None:
            self.head_size_of(units)

    def head_size_of(self, units: int) -> int:
        """Return the width of a head's values; raise `RequestError` if it isn't a whole number."""
        if units % self.heads:
            raise RequestError(f"heads = {self.heads} must divide units = {units}")
        return units // self.heads

    def key_width_of(self, units: int) -> int:
        """Return the width of a head's queries and keys."""
        return self.head_size_of(units)

    def context_width(self, query_width: int, memory_width: int) -> int:
        """Return the units, by default the width of the query."""
        return self.units or query_width

    def build(self, query_shape, memory_shape):
        """Create the four projections."""
        units = self.units or query_shape[-1]
        self.head_size, self.key_width = self.head_size_of(units), self.key_width_of(units)
        inner = self.heads * self.maps * self.key_width
        self.query_kernel = self.add_kernel("query_kernel", (query_shape[-1], inner))
        self.key_kernel = self.add_kernel("key_kernel", (memory_shape[-1], inner))
        self.value_kernel = self.add_kernel("value_kernel", (memory_shape[-1], units))
        self.output_kernel = self.add_kernel("output_kernel", (units, units))
        keys, values = (self.heads * self.maps, self.key_width), (self.heads, self.head_size)
        self.add_short_convolutions(query=keys, keys=keys, values=values)

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys (B, H, S, K) and values (B, H, S, V)."""
        return ProjectedMemory(
            self.split(memory, self.key_kernel, heads=self.heads * self.maps),
            self.split(memory, self.value_kernel),
        )

    def project_query(self, query):
        """Return each head's query, (B, H, T, K)."""
        return self.split(query, self.query_kernel, heads=self.heads * self.maps)

    def read(self, weights, values, query):
        """Sum each head's values, join the heads and project them: (B, T, units)."""
        return self.join(ops.matmul(weights, values))

    def join(self, contexts):
        """Join the heads' contexts (B, H, T, V) and project them: (B, T, units)."""
        return self.affine(self.side_by_side(contexts), self.output_kernel)

    def split(self, tensor, kernel, bias=None, heads=None):
        """Project a sequence and split it over the heads: (B, N, M) to (B, H, N, K)."""
        projected, heads = self.affine(tensor, kernel, bias), heads or self.heads
        batch, steps, width = ops.shape(projected)
        if projected.shape[1] == 1:  # a step of decoding: nothing to exchange
            return ops.reshape(projected, (batch, heads, 1, width // heads))
        heads = ops.reshape(projected, (batch, steps, heads, width // heads))
        return ops.transpose(heads, (0, 2, 1, 3))

    def side_by_side(self, contexts):
        """Put the heads' contexts next to each other: (B, H, T, V) to (B, T, H V)."""
        batch, heads, steps, width = ops.shape(contexts)
        if contexts.shape[2] != 1:
            contexts = ops.transpose(contexts, (0, 2, 1, 3))
        return ops.reshape(contexts, (batch, steps, heads * width))

    def affine(self, tensor, kernel, bias=None):
        """Compute `tensor @ kernel + bias` in the compute dtype."""
        product = ops.matmul(tensor, self.as_compute(kernel))
        return product if bias is None else ops.add(product, self.as_compute(bias))
