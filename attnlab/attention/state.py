"""What the mechanisms share whose past is a state of constant size, not a growing memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from keras import ops

from attnlab.attention.base import AttentionOutput, ProjectedMemory
from attnlab.attention.functional import Tensor, dtype_of, widen
from attnlab.attention.heads import HeadsAttention

CHUNK = 64  # steps that are computed as one block of weights


class StateAttention(HeadsAttention):
    """Base of the mechanisms that need no weights (T, S) for a causal context.

    Chunks of `CHUNK` steps are computed at once; a state (B, H, F, D), in float32 or wider, leads
    from each chunk to the next. Time and memory grow linearly with the length, and a decoder needs
    only the state.

    With a cache the returned weights are zeros, (B, H, T, T): a state doesn't know the steps it is
    made of. One call over the whole sequence returns the weights.

    A subclass defines `state_sizes`, `through`, and `weigh` for the weights. No normalizer is used.
    """

    takes_bias: ClassVar[bool] = False

    @property
    def has_state(self) -> bool:
        """Whether there is a state: not with an intervention, which changes weights."""
        return self.intervention is None

    @property
    @abstractmethod
    def state_sizes(self) -> tuple[int, int]:
        """F and D of the state, of a built layer."""

    @abstractmethod
    def through(
        self,
        queries: Tensor,
        memory: ProjectedMemory,
        memory_mask: Tensor = None,
        state: Tensor = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the causal contexts (B, H, T, V) of a sequence, and the state after it.

        Args:
            queries: (B, H, T, K), as returned by `prepare_query`.
            memory: keys and values (B, H, T, ...), as returned by `project`.
            memory_mask: None, or bool (B, T).
            state: of the steps before; None at the start of a sequence.
        """

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return the weights (B, H, T, S)."""
        return self.weigh(self.prepare_query(query, start_index), keys, mask, start_index)

    @abstractmethod
    def weigh(self, queries: Tensor, keys: Tensor, mask: Tensor, start_index: Any) -> Tensor:
        """Return the weights (B, H, T, S) of queries (B, H, T, K) over keys (B, H, S, K)."""

    def direct_context(
        self, query: Tensor, memory: ProjectedMemory, memory_mask: Tensor, causal: bool
    ) -> Tensor | None:
        """Return the context of a causal call over a whole sequence, else None."""
        if not causal:
            return None
        contexts, _ = self.through(self.prepare_query(query), memory, memory_mask)
        return self.join(contexts)

    def join(self, contexts: Tensor) -> Tensor:
        """Join and project the heads' contexts, which may be wider than the compute dtype."""
        return super().join(self.as_compute(contexts))

    def new_cache(self, batch: Any, length: int | None, width: int) -> Any:
        """Return a state of zeros; it doesn't depend on the length."""
        if not self.has_state:
            return super().new_cache(batch, length, width)
        dtype = dtype_of(widen(ops.zeros((), self.compute_dtype)))
        return ops.zeros((batch, self.heads, *self.state_sizes), dtype)

    def extend_cache(
        self, vectors: Tensor, cache: Any, seen: int, *, start_index: Any, **settings: Any
    ) -> tuple[AttentionOutput, Any]:
        """Attend from the next vectors of a sequence to all of it so far; weights are zeros."""
        if not self.has_state:
            return super().extend_cache(vectors, cache, seen, start_index=start_index, **settings)
        queries = self.prepare_query(self.as_compute(vectors), start_index)
        memory, (batch, steps) = self.project(vectors, start_index), ops.shape(vectors)[:2]
        # The state has the first vectors already.
        new = (ops.arange(steps) >= seen)[None] if seen else None
        contexts, cache = self.through(queries, memory, new, cache)
        weights = ops.zeros((batch, self.heads, steps, steps - seen), self.compute_dtype)
        return AttentionOutput(self.join(contexts), weights), cache


def mask_vectors(vectors: Tensor, mask: Tensor) -> Tensor:
    """Set masked vectors (B, H, S, K) to zero; mask None, or bool, broadcastable to (B, H, S)."""
    if mask is None:
        return vectors
    return ops.where(mask[..., None], vectors, ops.zeros((), vectors.dtype))


def split_chunks(sequence: Tensor, size: int) -> Tensor:
    """Split a sequence (B, H, T, K) into chunks (B, H, N, size, K), zeros at the end."""
    batch, heads, steps, width = ops.shape(sequence)
    lacking = -steps % size
    if not isinstance(lacking, int) or lacking:
        sequence = ops.pad(sequence, ((0, 0), (0, 0), (0, lacking), (0, 0)))
    return ops.reshape(sequence, (batch, heads, -1, size, width))


def join_chunks(chunks: Tensor, steps: Any) -> Tensor:
    """Put chunks (B, H, N, C, V) together again: (B, H, steps, V)."""
    batch, heads, _, _, width = ops.shape(chunks)
    return ops.reshape(chunks, (batch, heads, -1, width))[:, :, :steps]


def chunk_size(sequence: Tensor) -> int:
    """Return the steps in a chunk: `CHUNK`, or fewer if (B, H, T, K) is known to be shorter."""
    return min(CHUNK, sequence.shape[2] or CHUNK)
