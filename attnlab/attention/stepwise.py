"""Attention step by step, for decoding: each step appends to a cache of the past.

What enters and leaves a mechanism is here, too, because caches are made of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops


class AttentionOutput(NamedTuple):
    """What every mechanism returns."""

    context: Any  # (B, T, V), the weighted sum of the values
    weights: Any  # (B, H, T, S), before dropout; H = 1 except for mechanisms with several heads


class ProjectedMemory(NamedTuple):
    """A memory prepared for scoring, once per sequence.

    For every mechanism axis 0 is the batch and axis -2 the memory steps, so that a decoder can
    reorder beams and append steps. With several heads axis 1 has the heads.
    """

    keys: Any  # (B, S, K), scored with the queries
    values: Any  # (B, S, V), summed to the context


class GrowingCache(NamedTuple):
    """Keys and values of the steps so far, where shapes may change between steps."""

    keys: Any
    values: Any


class ConvolvedCache(NamedTuple):
    """The cache of a mechanism with a short convolution of width N."""

    last: Any  # (B, N - 1, M), the newest vectors, for the next convolutions; zeros at the start
    cache: Any  # what the mechanism has without the convolution


class Stepwise:
    """The part of `Attention` that decodes: a sequence looks at its own past, step by step.

    By default the cache is the projected memory of the steps so far. A mechanism whose past is a
    state of constant size overrides `new_cache` and `continued`.
    """

    def empty_cache(self, batch, length: int | None, width: int):
        """Return what `attend_to_past` starts from, for vectors of a width.

        `length` is that of the whole sequence; None: not known, and shapes may change.
        """
        cache = self.new_cache(batch, length, width)
        if not self.short_convolution:
            return cache
        last = ops.zeros((batch, self.short_convolution - 1, width), self.compute_dtype)
        return ConvolvedCache(last, cache)

    def attend_to_past(
        self, vectors, cache, *, start_index, position_bias=None, training=None
    ) -> tuple[AttentionOutput, Any]:
        """Attend from the next vectors of a sequence to all of it so far.

        Args:
            vectors: (B, T, M), at positions start_index to start_index + T - 1.
            cache: what `empty_cache` or the call before returned.
            start_index: int or scalar int tensor.
            position_bias: as for `call`.
            training: as for `call`.

        Returns:
            Context and weights as of one causal call over the whole sequence, and the next cache.
        """
        settings = {"position_bias": position_bias, "training": training}
        if not self.short_convolution:
            return self.continued(vectors, cache, 0, start_index=start_index, **settings)
        known = self.short_convolution - 1
        vectors = ops.concatenate([cache.last, self.as_compute(vectors)], axis=1)
        attended, new = self.continued(
            vectors, cache.cache, known, start_index=start_index - known, **settings
        )
        attended = AttentionOutput(attended.context[:, known:], attended.weights[:, :, known:])
        return attended, ConvolvedCache(vectors[:, -known:], new)

    def new_cache(self, batch, length: int | None, width: int):
        """Return `empty_cache` without a short convolution; for mechanisms with a state."""
        if length is not None:
            return self.project(ops.zeros((batch, length, width)))
        # In a graph `0 * batch` is an unknown length, which a loop's variable must have.
        return GrowingCache(*self.project(ops.zeros((batch, 0 * batch, width))))

    def continued(
        self, vectors, cache, known: int, *, start_index, position_bias=None, training=None
    ) -> tuple[AttentionOutput, Any]:
        """Return attention and cache of `attend_to_past`; for mechanisms with a state.

        Args:
            vectors: (B, known + T, M), from position start_index on. The first ones are in the
                cache already: only the short convolutions of the others need them, and their
                results are not used. They are zero where their position is below 0.
            cache: of `new_cache` or the call before.
            known: number of vectors that are in the cache already.
            start_index: of the first vector, int or scalar int tensor.
            position_bias: as for `call`.
            training: as for `call`.
        """
        new = [part[..., known:, :] for part in self.project(vectors, start_index)]
        if isinstance(cache, GrowingCache):
            pairs = zip(cache, new, strict=True)
            cache = GrowingCache(*(ops.concatenate(pair, axis=-2) for pair in pairs))
        else:
            pairs, first = zip(cache, new, strict=True), start_index + known
            cache = ProjectedMemory(*(_written(old, part, first) for old, part in pairs))
        # A single step sees all of a cache that ends with it, unless there is a window.
        sees_all = vectors.shape[1] == 1 and isinstance(cache, GrowingCache) and not self.window
        attended = self(
            vectors,
            ProjectedMemory(*cache),
            causal=self.causal_only or not sees_all,
            position_bias=position_bias,
            start_index=start_index,
            training=training,
        )
        return attended, cache


def _written(old, new, start_index):
    """Return `old` (B, ..., L, K) with `new` (B, ..., T, K) from start_index on in axis -2."""
    start = [0] * len(old.shape)
    start[-2] = start_index
    return ops.slice_update(old, start, new)
