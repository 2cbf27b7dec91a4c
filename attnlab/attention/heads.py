"""What the mechanisms with several heads share: projections, split over the heads and joined."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import Tensor
from attnlab.errors import RequestError


class HeadsAttention(Attention):
    """Base of the mechanisms with several heads: each head has its own projections.

    Queries `x W_Q`, keys `x W_K` and values `x W_V` are split over the heads; the heads' contexts
    are joined and projected by `W_O`. There are no biases, unless a subclass has some.

    Args:
        heads: number of heads H.
        units: width of all heads together and of the context; None takes the width of the query.

    Raises:
        RequestError: `heads` doesn't divide `units`, or `kv_heads` doesn't divide `heads`.
    """

    maps: ClassVar[int] = 1  # queries and keys of a head
    biases: bool = False
    kv_heads: int | None = None  # heads of keys and values; None: as many as heads

    def __init__(self, *, heads: int = 4, units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.heads, self.units = heads, units

    @property
    def key_heads(self) -> int:
        """G, the number of heads of keys and values."""
        return self.kv_heads or self.heads

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

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the four projections, with biases if there are any."""
        units = self.units or query_shape[-1]
        if self.heads % self.key_heads:
            raise RequestError(f"kv_heads = {self.kv_heads} must divide heads = {self.heads}")
        self.head_size, self.key_width = self.head_size_of(units), self.key_width_of(units)
        query = self.heads * self.maps, self.key_width
        keys = self.key_heads * self.maps, self.key_width
        values = self.key_heads, self.head_size
        for name, width, projected in (
            ("query", query_shape[-1], math.prod(query)),
            ("key", memory_shape[-1], math.prod(keys)),
            ("value", memory_shape[-1], math.prod(values)),
            ("output", self.heads * self.head_size, units),
        ):
            setattr(self, f"{name}_kernel", self.add_kernel(f"{name}_kernel", (width, projected)))
            bias = {"name": f"{name}_bias", "shape": (projected,), "initializer": "zeros"}
            setattr(self, f"{name}_bias", self.add_weight(**bias) if self.biases else None)
        self.add_short_convolutions(query=query, keys=keys, values=values)

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys (B, G, S, K) and values (B, G, S, V)."""
        heads = self.key_heads
        return ProjectedMemory(
            self.split(memory, self.key_kernel, self.key_bias, heads * self.maps),
            self.split(memory, self.value_kernel, self.value_bias, heads),
        )

    def project_query(self, query: Tensor) -> Tensor:
        """Return each head's query, (B, H, T, K)."""
        return self.split(query, self.query_kernel, self.query_bias, self.heads * self.maps)

    def read(self, weights: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Sum each head's values, join the heads and project them: (B, T, units)."""
        return self.join(ops.matmul(weights, values))

    def join(self, contexts: Tensor) -> Tensor:
        """Join the heads' contexts (B, H, T, V) and project them: (B, T, units)."""
        batch, heads, steps, width = ops.shape(contexts)
        if contexts.shape[2] != 1:
            contexts = ops.transpose(contexts, (0, 2, 1, 3))
        contexts = ops.reshape(contexts, (batch, steps, heads * width))
        return self.affine(contexts, self.output_kernel, self.output_bias)

    def split(
        self, tensor: Tensor, kernel: Tensor, bias: Tensor = None, heads: int | None = None
    ) -> Tensor:
        """Project a sequence and split it over the heads: (B, N, M) to (B, H, N, K)."""
        projected, heads = self.affine(tensor, kernel, bias), heads or self.heads
        batch, steps, width = ops.shape(projected)
        if projected.shape[1] == 1:  # a step of decoding: nothing to exchange
            return ops.reshape(projected, (batch, heads, 1, width // heads))
        heads = ops.reshape(projected, (batch, steps, heads, width // heads))
        return ops.transpose(heads, (0, 2, 1, 3))

    def affine(self, tensor: Tensor, kernel: Tensor, bias: Tensor = None) -> Tensor:
        """Compute `tensor @ kernel + bias` in the compute dtype."""
        product = ops.matmul(tensor, self.as_compute(kernel))
        return product if bias is None else ops.add(product, self.as_compute(bias))
