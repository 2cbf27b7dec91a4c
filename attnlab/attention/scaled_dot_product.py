"""Scaled dot-product attention of Vaswani et al. (2017)."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from attnlab.attention.base import Attention, ProjectedMemory
from attnlab.attention.functional import Tensor, require_equal_widths, scaled_dot_score


@keras.saving.register_keras_serializable(package="attnlab")
class ScaledDotProductAttention(Attention):
    """Compute `softmax(Q K' / sqrt(d_k)) V`.

    With `project=False` the raw vectors are Q, K and V: the equation alone, without a weight, as a
    readout of a recurrent encoder or as parameter-free mixing in a Transformer layer; d_k is their
    width. With `project=True` they are `query W_Q`, `memory W_K` and `memory W_V`, `units` wide:
    one head of the paper's multi-head attention, without its output projection (multi-head
    attention with `heads=1` has that).

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1, Eq. 1. Difference: nothing.

    Args:
        project: whether to project with W_Q, W_K and W_V, without bias.
        units: their width d_k = d_v; None takes the width of the query. Only with `project`.

    Raises:
        RequestError: query and memory differ in width and `project` is off.
    """

    rotary: ClassVar[bool] = True

    def __init__(self, *, project: bool = False, units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.projects, self.units = project, units

    def context_width(self, query_width: int, memory_width: int) -> int:
        """Return the width of the projected values, or of the memory."""
        return (self.units or query_width) if self.projects else memory_width

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create W_Q (Q, U), W_K (M, U) and W_V (M, U), or nothing."""
        if not self.projects:
            require_equal_widths("project=false", query_shape, memory_shape)
            return super().build(query_shape, memory_shape)
        units = self.units or query_shape[-1]
        self.query_kernel = self.add_kernel("query_kernel", (query_shape[-1], units))
        self.key_kernel = self.add_kernel("key_kernel", (memory_shape[-1], units))
        self.value_kernel = self.add_kernel("value_kernel", (memory_shape[-1], units))
        self.add_short_convolutions(query=units, keys=units, values=units)

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys (B, S, U) and values (B, S, U), or the memory as both."""
        if not self.projects:
            return ProjectedMemory(memory, memory)
        return ProjectedMemory(
            ops.matmul(memory, self.as_compute(self.key_kernel)),
            ops.matmul(memory, self.as_compute(self.value_kernel)),
        )

    def project_query(self, query: Tensor) -> Tensor:
        """Return `query W_Q` (B, T, U), or the query."""
        return ops.matmul(query, self.as_compute(self.query_kernel)) if self.projects else query

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return `q' k / sqrt(d_k)`, (B, T, S)."""
        return scaled_dot_score(query, keys)
