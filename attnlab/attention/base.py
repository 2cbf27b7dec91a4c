"""The protocol of every attention mechanism: scores -> mask -> weights -> context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import keras
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import (
    NORMALIZERS,
    Tensor,
    causal_convolution,
    causal_mask,
    dtype_of,
    rotate,
)
from attnlab.errors import RequestError
from attnlab.internals import keras_mask

# (T, S, position of the first query) -> what is added to the scores, (1, H, T, S).
PositionBias = Callable[[Any, Any, Any], Tensor]


class AttentionOutput(NamedTuple):
    """What every mechanism returns."""

    context: Tensor  # (B, T, V), the weighted sum of the values
    weights: Tensor  # (B, H, T, S), before dropout; H = 1 except for mechanisms with several heads


class ProjectedMemory(NamedTuple):
    """A memory prepared for scoring, once per sequence.

    For every mechanism axis 0 is the batch and axis -2 the memory steps, so that a decoder can
    reorder beams and append steps. With several heads axis 1 has the heads.
    """

    keys: Tensor  # (B, S, K), scored with the queries
    values: Tensor  # (B, S, V), summed to the context


class GrowingCache(NamedTuple):
    """Keys and values of the steps so far, where shapes may change between steps."""

    keys: Tensor
    values: Tensor


class ConvolvedCache(NamedTuple):
    """The cache of a mechanism with a short convolution of width N."""

    last: Tensor  # (B, N - 1, M), the newest vectors, for the next convolutions; zeros at the start
    cache: Any  # what the mechanism has without the convolution


class Attention(keras.layers.Layer):
    """Base of the mechanisms: a query looks at a memory and takes a weighted sum of it.

    A mechanism is a subclass that creates its weights in `build`, prepares a memory in
    `project_memory`, a query in `project_query`, and scores in `score` (or in `align`, if the
    weights are more than normalised scores). What follows a projection, such as a norm, is in
    `activate`. This class does the rest.

    Args:
        normalizer: what turns scores into weights, a name in `functional.NORMALIZERS`.
        rope: whether queries and keys are rotated by their positions (`functional.rotate`).
        short_convolution: width N of a causal convolution of queries, keys and values after their
            projections (`functional.causal_convolution`); 0: none. Query and memory are then one
            sequence from its first vector on.
        dropout: probability of dropping a weight while training, in [0, 1).
        seed: int for the dropout's random state, or None.
        **kwargs: `name`, `dtype` and `trainable`, as for every Keras layer.

    Call arguments:
        query: (B, T, Q).
        memory: (B, S, M), or a `ProjectedMemory` that `project` made of it.
        mask: None, or bool, broadcastable to (B, T, S); True = attend.
        memory_mask: None, or bool (B, S); True = attend. Keras fills it in when the memory
            comes out of a layer that masks, such as `Embedding(mask_zero=True)`.
        causal: whether a query at position p sees only the memory up to and including p; query
            and memory are then one sequence.
        position_bias: None, or a function that returns what is added to the scores.
        start_index: absolute position of the first query, int or scalar int tensor; the memory
            starts at position 0.
        training: whether to drop weights.

    Returns:
        `AttentionOutput(context, weights)`, always. A query that may attend to nothing has zero
        weights and a zero context. Masked memory must be finite; it never changes a result.

    Raises:
        ValueError: a mask is not boolean or cannot be broadcast to (B, T, S).
        RequestError: `rope` without dot products; a short convolution or a position bias where it
            has no meaning.
    """

    has_context: ClassVar[bool] = True  # if not, forecasters and classifiers read only the state
    # In a decoder: the query is the previous state ("before_step") or the current one.
    placement: ClassVar[str] = "after_step"
    causal_only: ClassVar[bool] = False  # whether a sequence must look at its own past
    rotary: ClassVar[bool] = False  # whether scores are dot products, so that it can have `rope`
    takes_bias: ClassVar[bool] = True  # whether it has scores for a position bias
    has_queries: ClassVar[bool] = True  # whether it has queries, keys and values to convolve
    extra_columns: ClassVar[int] = 0  # last columns of the keys that are no keys, such as gates
    heads: int = 1  # weights of a query for a memory step
    depth: int = 0  # number of its layer in a stack; the stack sets it before `build`
    window: int | None = None  # memory steps near a query that it sees; None: all
    fixed_length: int | None = None  # the only memory length that the weights fit; None: any
    # `head_measures` sets it: gets weights, mask, whether a sequence looks at itself, start_index.
    recorder: Callable[[Any, Any, bool, Any], None] | None = None
    # `interventions` sets it: changes weights, given mask and start_index, before they are used.
    intervention: Callable[[Tensor, Tensor, Any], Tensor] | None = None

    def __init__(
        self,
        *,
        normalizer: str = "softmax",
        rope: bool = False,
        short_convolution: int = 0,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if rope and not self.rotary:
            raise RequestError(
                f"model.positions=rope: {type(self).__name__} can't have rotary positions: they "
                "turn the queries and keys of a dot product. Choose other positions, such as "
                "sinusoidal, or another attention."
            )
        if short_convolution == 1 or short_convolution and not self.has_queries:
            raise RequestError(
                f"model.short_convolution={short_convolution}: expected 0, or 2 and more with a "
                f"mechanism that has queries, keys and values; got {type(self).__name__}."
            )
        self.normalizer, self.rope, self.seed = normalizer, rope, seed
        self.short_convolution = short_convolution
        self._taps: dict[str, Any] = {}  # of `add_short_convolutions`
        self.dropout = dropout
        self.supports_masking = True
        self._weight_dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    @property
    def weights_are(self) -> Literal["shares", "positive", "signed"]:
        """The range of its weights.

        "shares" are at least 0, and those of a query add up to at most 1; "positive" weights add up
        to anything; "signed" ones may be below 0. Entropy is defined for shares only.
        """
        return "positive" if self.normalizer == "sigmoid" else "shares"

    @property
    def has_state(self) -> bool:
        """Whether what a sequence remembers of its past is a state of constant size."""
        return False

    @property
    def one_sequence(self) -> str | None:
        """Why query and memory must be one sequence, for messages; None if they may be two."""
        if self.causal_only:
            return f"{type(self).__name__} reads a sequence's own past"
        return "rotary positions are distances in one sequence" if self.rope else None

    def context_width(self, query_width: int, memory_width: int) -> int:
        """Return V, the width of the context, for a query of width Q and a memory of width M."""
        return memory_width

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create all weights for queries (B, T, Q) and a raw memory (B, S, M)."""
        widths = {"query": query_shape[-1], "keys": memory_shape[-1], "values": memory_shape[-1]}
        self.add_short_convolutions(**widths)

    def add_short_convolutions(self, **widths: int | tuple[int, int]) -> None:
        """Create the weights of the short convolutions, if there are any; for `build`.

        They start as those of PyTorch's `Conv1d`, uniform within 1 / sqrt(N). `widths` are those of
        `query`, `keys` and `values` as projected: K, or (H, K) with several heads.
        """
        if not self.short_convolution:
            return
        limit = self.short_convolution**-0.5
        for name, width in widths.items():
            self._taps[name] = self.add_weight(
                name=f"{name}_convolution",
                shape=(self.short_convolution, *(width if isinstance(width, tuple) else (width,))),
                initializer=keras.initializers.RandomUniform(-limit, limit),
            )

    def project(self, memory: Tensor, start_index: Any = 0) -> ProjectedMemory:
        """Return keys and values of a memory (B, S, M), computed once for all queries.

        `start_index` is the absolute position of its first step, for `rope` and convolutions. The
        layer must be built.
        """
        projected = self.project_memory(self.as_compute(memory))
        return ProjectedMemory(
            self._prepare("keys", projected.keys, start_index),
            self._prepare("values", projected.values, start_index),
        )

    def prepare_query(self, query: Tensor, start_index: Any = 0) -> Tensor:
        """Return queries (B, T, Q) as `score` gets them: projected, convolved, rotated."""
        return self._prepare("query", self.project_query(query), start_index)

    def _prepare(self, name, tensor, start_index):
        """Convolve, activate and rotate a projection (..., N, K)."""
        extra = None
        if name == "keys" and self.extra_columns:
            tensor, extra = tensor[..., : -self.extra_columns], tensor[..., -self.extra_columns :]
        if self.short_convolution:
            if name not in self._taps:
                raise RequestError(
                    f"{type(self).__name__} can't have a short convolution: its build() must call "
                    f"add_short_convolutions({name}=...)"
                )
            taps = self.as_compute(self._taps[name])
            tensor = causal_convolution(tensor, taps, start_index)
        tensor = self.activate(name, tensor)
        if self.rope and name != "values":
            tensor = rotate(tensor, start_index)
        return tensor if extra is None else ops.concatenate([tensor, extra], axis=-1)

    def activate(self, name: str, tensor: Tensor) -> Tensor:
        """Return the projection `name` (query, keys, values) after its convolution, for norms."""
        return tensor

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys and values of a memory in the compute dtype, here the memory itself."""
        return ProjectedMemory(memory, memory)

    def project_query(self, query: Tensor) -> Tensor:
        """Return the projection of queries (B, T, Q), here the queries themselves."""
        return query

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score each prepared key for each prepared query: (B, T, S), or (B, H, T, S)."""
        raise NotImplementedError(f"{type(self).__name__} must define score() or align()")

    def normalize(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Turn scores (B, H, T, S) into weights, in float32 or wider; masked weights are 0."""
        return NORMALIZERS[self.normalizer](scores, mask)

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return the weights (B, H, T, S) of queries (B, T, Q) over keys of `project`.

        They are in float32 or wider. `mask` is None or broadcastable to (B, H, T, S), `bias` None
        or what is added to the scores, (1, H, T, S).
        """
        scores = self.score(self.prepare_query(query, start_index), keys)
        if len(scores.shape) == 3:
            scores = ops.expand_dims(scores, 1)
        if bias is not None:
            scores = scores + ops.cast(bias, scores.dtype)
        return self.normalize(scores, mask)

    def reach(
        self, query_length: Any, memory_length: Any, start_index: Any, causal: bool
    ) -> Tensor | None:
        """Return which positions a query can see by their distance: (1, T, S) bool; None: all.

        A query can always see its own position.
        """
        return causal_mask(query_length, memory_length, start_index) if causal else None

    def read(self, weights: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Sum the values by their weights: (B, 1, T, S) and (B, S, V) to (B, T, V)."""
        return ops.matmul(ops.squeeze(weights, 1), values)

    def direct_context(
        self, query: Tensor, memory: ProjectedMemory, memory_mask: Tensor, causal: bool
    ) -> Tensor | None:
        """Return the context (B, T, V) if there is a way that needs no (T, S) weights, else None.

        `call` uses it without dropout, if `memory_mask` and `causal` are the only masks; a causal
        call must be over a whole sequence. A compiled program then leaves out weights that nothing
        uses. `call` sets the context to zero if `memory_mask` and `causal` leave a query nothing;
        for any other reason this method must.
        """
        return None

    def call(
        self,
        query: Tensor,
        memory: Tensor | ProjectedMemory,
        *,
        mask: Tensor = None,
        memory_mask: Tensor = None,
        causal: bool = False,
        position_bias: PositionBias | None = None,
        start_index: Any = 0,
        training: bool | None = None,
    ) -> AttentionOutput:
        """Attend; see the class for arguments, shapes and errors."""
        is_self_attention = causal or memory is query
        if isinstance(memory, ProjectedMemory):
            # Without a mask of the caller's, Keras fills in those of keys and values.
            memory_mask = None if isinstance(memory_mask, ProjectedMemory) else memory_mask
        else:
            memory = self.project(memory)
        if self.causal_only and not causal:
            raise RequestError(
                f"{type(self).__name__} reads a sequence's own past: call it with causal=True"
            )
        if position_bias is not None and not self.takes_bias:
            raise RequestError(f"{type(self).__name__} has no scores for a position bias")
        shape = (query.shape[0], query.shape[1], memory.values.shape[-2])  # (B, T, S)
        lengths = (ops.shape(query)[1], ops.shape(memory.values)[-2], start_index)
        direct = None
        is_whole = isinstance(start_index, int) and start_index == 0 and shape[1] == shape[2]
        is_plain = mask is None and position_bias is None and not (self.dropout and training)
        if is_plain and (is_whole or not causal):
            direct = self.direct_context(query, memory, memory_mask, causal)
        mask = _per_head(mask, memory_mask, shape)
        may_see_nothing = mask is not None
        reach = self.reach(*lengths, causal)
        if reach is not None:
            reach = reach[:, None]
            mask = reach if mask is None else ops.logical_and(mask, reach)
        bias = None if position_bias is None else position_bias(*lengths)
        weights = self.as_compute(self.align(query, memory.keys, mask, start_index, bias))
        expected, actual = (shape[0], self.heads, *shape[1:]), tuple(weights.shape)
        pairs = zip(actual, expected, strict=True)
        if len(actual) != 4 or any(a != b for a, b in pairs if a and b):  # None: unknown
            raise RequestError(
                f"{type(self).__name__}: weights must be (B, H, T, S) = {expected}, got {actual}: "
                "see its score() or align()"
            )
        if self.intervention is not None:
            weights, direct = self.intervention(weights, mask, start_index), None
        if self.recorder is not None:
            self.recorder(weights, mask, is_self_attention, start_index)
        if direct is not None:
            return AttentionOutput(_zero_without_memory(memory_mask, causal, direct), weights)
        dropped = self._weight_dropout(weights, training=training) if self.dropout else weights
        context = self.read(dropped, memory.values, query)
        if may_see_nothing:
            context = _zero_fully_masked(mask, context)
        return AttentionOutput(context, weights)

    # --- decoding: a sequence looks at its own past, step by step ------------------------------
    #
    # By default the cache is the projected memory of the steps so far. A mechanism whose past is a
    # state of constant size overrides `new_cache` and `extend_cache`.

    def empty_cache(self, batch: Any, length: int | None, width: int) -> Any:
        """Return what `attend_to_past` starts from, for vectors of a width.

        `length` is that of the whole sequence; None: not known, and shapes may change.
        """
        cache = self.new_cache(batch, length, width)
        if not self.short_convolution:
            return cache
        last = ops.zeros((batch, self.short_convolution - 1, width), self.compute_dtype)
        return ConvolvedCache(last, cache)

    def attend_to_past(
        self, vectors: Tensor, cache: Any, *, start_index: Any, **settings: Any
    ) -> tuple[AttentionOutput, Any]:
        """Attend from the next vectors of a sequence to all of it so far.

        Args:
            vectors: (B, T, M), at positions start_index to start_index + T - 1.
            cache: what `empty_cache` or the call before returned.
            start_index: int or scalar int tensor.
            **settings: `position_bias` and `training`, as for `call`.

        Returns:
            Context and weights as of one causal call over the whole sequence, and the next cache.
        """
        if not self.short_convolution:
            return self.extend_cache(vectors, cache, 0, start_index=start_index, **settings)
        seen = self.short_convolution - 1
        vectors = ops.concatenate([cache.last, self.as_compute(vectors)], axis=1)
        attended, new = self.extend_cache(
            vectors, cache.cache, seen, start_index=start_index - seen, **settings
        )
        attended = AttentionOutput(attended.context[:, seen:], attended.weights[:, :, seen:])
        return attended, ConvolvedCache(vectors[:, -seen:], new)

    def new_cache(self, batch: Any, length: int | None, width: int) -> Any:
        """Return `empty_cache` without a short convolution."""
        if length is not None:
            return self.project(ops.zeros((batch, length, width)))
        # In a graph `0 * batch` is an unknown length, which a loop's variable must have.
        return GrowingCache(*self.project(ops.zeros((batch, 0 * batch, width))))

    def extend_cache(
        self, vectors: Tensor, cache: Any, seen: int, *, start_index: Any, **settings: Any
    ) -> tuple[AttentionOutput, Any]:
        """Return attention and cache of `attend_to_past`, for a cache of `new_cache`.

        Vectors are (B, seen + T, M), from position start_index on. The first `seen` are in the
        cache already: only the short convolutions of the others need them, and their results are
        not used. They are zero where their position is below 0.
        """
        parts = [part[..., seen:, :] for part in self.project(vectors, start_index)]
        pairs = zip(cache, parts, strict=True)
        if isinstance(cache, GrowingCache):
            cache = GrowingCache(*(ops.concatenate(pair, axis=-2) for pair in pairs))
        else:
            first = start_index + seen
            cache = ProjectedMemory(*(_overwrite(old, part, first) for old, part in pairs))
        # A single step sees all of a cache that ends with it, unless there is a window.
        sees_all = vectors.shape[1] == 1 and isinstance(cache, GrowingCache) and not self.window
        causal = self.causal_only or not sees_all
        memory = ProjectedMemory(*cache)
        return self(vectors, memory, causal=causal, start_index=start_index, **settings), cache

    def compute_mask(self, query: Tensor, previous_mask: Tensor = None) -> Tensor:
        """Return the query's Keras mask for the context; the weights have none."""
        return keras_mask(query)

    def add_kernel(self, name: str, shape: tuple) -> Tensor:
        """Create a weight with Glorot's uniform initial values, Keras's default for kernels."""
        return self.add_weight(name=name, shape=shape, initializer="glorot_uniform")

    def as_compute(self, tensor: Tensor) -> Tensor:
        """Cast a tensor or a weight to the layer's compute dtype, inside or outside of `call`."""
        return ops.cast(tensor, self.compute_dtype)


def _overwrite(old, new, start_index):
    """Return `old` (B, ..., L, K) with `new` (B, ..., T, K) from start_index on in axis -2."""
    start = [0] * len(old.shape)
    start[-2] = start_index
    return ops.slice_update(old, start, new)


def _zero_fully_masked(mask, context):
    """Set the context of queries that may attend to nothing to zero.

    The weighted sum is zero already, but an output bias may follow it.
    """
    attending = ops.any(mask, axis=-1)
    if len(attending.shape) == 3:
        attending = ops.squeeze(attending, 1)
    return ops.where(attending[..., None], context, ops.zeros((), context.dtype))


def _zero_without_memory(memory_mask, causal, context):
    """Do as `_zero_fully_masked` for `memory_mask` and `causal`, without making a (T, S) mask."""
    if memory_mask is None:
        return context
    seeing = ops.any(memory_mask, axis=-1, keepdims=True)
    if causal:
        first = ops.argmax(ops.cast(memory_mask, "int32"), axis=-1, keepdims=True)
        steps = ops.arange(ops.shape(context)[1], dtype="int32")
        seeing = ops.logical_and(seeing, ops.cast(first, "int32") <= steps)
    return ops.where(seeing[..., None], context, ops.zeros((), context.dtype))


def _per_head(mask, memory_mask, shape):
    """Combine optional masks (B, T, S) and (B, S), with an axis for the heads."""
    if mask is not None:
        pairs = zip(reversed(mask.shape), reversed(shape), strict=False)
        fits = all(size in (1, None, full) or full is None for size, full in pairs)
        if dtype_of(mask) != "bool" or len(mask.shape) > 3 or not fits:
            raise ValueError(
                f"mask must be bool (True = attend) and broadcastable to (B, T, S) = {shape}, got "
                f"{dtype_of(mask)} of shape {tuple(mask.shape)}; functional.padding_mask makes one "
                "of a (B, S) mask"
            )
    if memory_mask is not None:
        memory_mask = ops.expand_dims(memory_mask, 1)
        mask = memory_mask if mask is None else ops.logical_and(mask, memory_mask)
    if mask is None or len(mask.shape) < 3:
        return mask
    return ops.expand_dims(mask, 1)
