"""The protocol of every attention mechanism: scores -> mask -> weights -> context.

Letters of shapes, here and in the whole package: B batch, T query steps, S memory steps, H heads;
Q, M, K, V the widths of queries, raw memory, keys and values; U the units of a hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import keras
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import causal_convolution, causal_mask, rotated
from attnlab.attention.keras_internals import keras_mask, without_call_info
from attnlab.attention.normalizers import NORMALIZERS
from attnlab.attention.requirements import require_choice, require_mask, require_result
from attnlab.attention.stepwise import AttentionOutput, ProjectedMemory, Stepwise
from attnlab.errors import RequestError

# Arguments of Keras's own attention layers.
_OF_KERAS = {"return_attention_scores", "value", "key", "use_causal_mask"}


# From the number of queries, of memory steps and the first query's position: what is added to the
# scores, (1, H, T, S).
PositionBias = Callable[[Any, Any, Any], Any]


class Attention(Stepwise, keras.layers.Layer):
    """Base of the mechanisms: a query looks at a memory and takes a weighted sum of it.

    A mechanism is a subclass that creates its weights in `build`, prepares a memory in
    `project_memory`, a query in `project_query`, and scores in `score` (or in `align`, if the
    weights are more than normalised scores). What follows a projection, such as a norm, is in
    `activate`. This class does the rest: short convolutions, positions, masks, the normalizer in
    float32, dropout of the weights, the context, caches, the configuration.

    Args:
        normalizer: what turns scores into weights, a name in `normalizers.NORMALIZERS`.
        rope: whether queries and keys are turned by their positions (`functional.rotated`).
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
        RequestError: `dropout` is out of range; an unknown normalizer; `rope` without dot products;
            a short convolution or a position bias where it has no meaning; it is called as Keras's
            own attention layers are.
    """

    has_context: ClassVar[bool] = True  # if not, forecasters and classifiers read only the state
    # In a decoder: the query is the previous state ("before_step") or the current one.
    placement: ClassVar[str] = "after_step"
    causal_only: ClassVar[bool] = False  # whether a sequence must look at its own past
    rotary: ClassVar[bool] = False  # whether scores are dot products, which `rope` turns
    takes_bias: ClassVar[bool] = True  # whether it has scores for a position bias
    has_queries: ClassVar[bool] = True  # whether it has queries, keys and values to convolve
    extra_columns: ClassVar[int] = 0  # last columns of the keys that are no keys, such as gates
    heads: int = 1  # weights of a query for a memory step
    depth: int = 0  # number of its layer in a stack, which sets it before it builds
    window: int | None = None  # memory steps near a query that it sees; None: all
    # Set by `head_measures.recorded`: gets weights, mask, and whether a sequence looks at itself.
    recorder: Callable[[Any, Any, bool], None] | None = None

    def __init__(
        self,
        *,
        normalizer: str = "softmax",
        rope: bool = False,
        short_convolution: int = 0,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not 0 <= dropout < 1:
            raise RequestError(f"dropout must be at least 0 and below 1, got {dropout!r}")
        if rope and not self.rotary:
            raise RequestError(
                f"{type(self).__name__} can't have rotary positions: they turn the queries and "
                "keys of a dot product"
            )
        if short_convolution < 0 or short_convolution == 1:
            raise RequestError(
                f"short_convolution must be 0 or at least 2, got {short_convolution!r}"
            )
        if short_convolution and not self.has_queries:
            raise RequestError(
                f"{type(self).__name__} can't have a short convolution: it needs queries, keys and "
                "values"
            )
        self.normalizer = require_choice("normalizer", normalizer, tuple(NORMALIZERS))
        self.rope = bool(rope)
        self.short_convolution = short_convolution
        self._taps: dict[str, Any] = {}  # of `add_short_convolutions`
        self.dropout = float(dropout)
        self.seed = seed
        self.supports_masking = True
        self._memory_width: int | None = None  # of the last projected memory
        self._weight_dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    @property
    def fixed_length(self) -> int | None:
        """The only memory length that the weights fit; None: any length."""
        return None

    @property
    def weights_are(self) -> Literal["shares", "positive", "signed"]:
        """What its weights are.

        "shares" are 0 at least, and a query's add up to 1 at most; "positive" ones add up to
        anything; "signed" ones may be below 0. Entropy is defined for shares only.
        """
        return "positive" if self.normalizer == "sigmoid" else "shares"

    @property
    def one_sequence(self) -> str | None:
        """Why query and memory must be one sequence, for messages; None if they may be two."""
        if self.causal_only:
            return f"{type(self).__name__} reads a sequence's own past"
        return "rotary positions are distances in one sequence" if self.rope else None

    def context_width(self, query_width: int, memory_width: int) -> int:
        """Return V, the width of the context, for a query of width Q and a memory of width M."""
        return memory_width

    def build(self, query_shape, memory_shape):
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

    def project(self, memory, start_index=0) -> ProjectedMemory:
        """Return keys and values of a memory (B, S, M), computed once for all queries.

        `start_index` is the absolute position of its first step, for `rope` and convolutions.

        Raises:
            ValueError: the layer is not built yet.
        """
        if not self.built:
            raise ValueError(
                f"{type(self).__name__} has no weights yet: call build(query_shape, memory_shape) "
                "before project(memory)"
            )
        self._memory_width = memory.shape[-1]
        projected = self.project_memory(self.as_compute(memory))
        if not isinstance(projected, ProjectedMemory):
            raise RequestError(
                f"{type(self).__name__}.project_memory must return ProjectedMemory(keys, values), "
                f"got a {type(projected).__name__}"
            )
        return ProjectedMemory(
            self._prepared("keys", projected.keys, start_index),
            self._prepared("values", projected.values, start_index),
        )

    def prepare_query(self, query, start_index=0):
        """Return what of a query (B, T, Q) meets the prepared keys of `project`."""
        return self._prepared("query", self.project_query(query), start_index)

    def _prepared(self, name, tensor, start_index):
        """Convolve, activate and turn a projection (..., N, K)."""
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
            tensor = rotated(tensor, start_index)
        return tensor if extra is None else ops.concatenate([tensor, extra], axis=-1)

    def activate(self, name: str, tensor):
        """Return the projection `name` (query, keys, values) after its convolution, for norms."""
        return tensor

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys and values of a memory in the compute dtype, here the memory itself."""
        return ProjectedMemory(memory, memory)

    def project_query(self, query):
        """Return what of a query (B, T, Q) meets the keys, here the query itself."""
        return query

    def score(self, query, keys):
        """Score each prepared key for each prepared query: (B, T, S), or (B, H, T, S)."""
        raise NotImplementedError(f"{type(self).__name__} must define score() or align()")

    def normalize(self, scores, mask):
        """Turn scores (B, H, T, S) into weights, in float32 or wider; masked weights are 0."""
        return NORMALIZERS[self.normalizer](scores, mask)

    def align(self, query, keys, mask, start_index, bias):
        """Return each query's weights over the memory, (B, H, T, S) in float32 or wider.

        Args:
            query: (B, T, Q).
            keys: as returned by `project`.
            mask: None, or bool, broadcastable to (B, H, T, S).
            start_index: absolute position of the first query.
            bias: None, or what is added to the scores, (1, H, T, S).
        """
        sizes = (query.shape[0], query.shape[1], keys.shape[-2])
        scores = self.score(self.prepare_query(query, start_index), keys)
        if len(getattr(scores, "shape", ())) == 4:
            sizes = (sizes[0], self.heads, *sizes[1:])
            self._checked("score", scores, "(B, H, T, S)", sizes)
        else:
            scores = ops.expand_dims(self._checked("score", scores, "(B, T, S)", sizes), 1)
        if bias is not None:
            scores = scores + ops.cast(bias, scores.dtype)
        return self.normalize(scores, mask)

    def reach(self, query_length, memory_length, start_index, causal):
        """Return which positions a query can see by their distance: (1, T, S) bool; None: all.

        A query can always see its own position.
        """
        return causal_mask(query_length, memory_length, start_index) if causal else None

    def read(self, weights, values, query):
        """Sum the values by their weights: (B, 1, T, S) and (B, S, V) to (B, T, V)."""
        return ops.matmul(ops.squeeze(weights, 1), values)

    def direct_context(self, query, memory, memory_mask, causal, start_index):
        """Return the context (B, T, V) if there is a way that needs no (T, S) weights, else None.

        `call` uses it only if `memory_mask` and `causal` are the only masks, and without dropout. A
        compiled program then leaves out weights that nothing uses. A query that sees nothing for
        another reason than these two must get zeros here.
        """
        return None

    def __call__(self, query, *arguments, **settings):
        """Call the layer; refuses the arguments of Keras's own attention layers."""
        if isinstance(query, list | tuple) or _OF_KERAS & settings.keys():
            raise RequestError(
                f"{type(self).__name__}: expected `context, weights = layer(query, memory)`, got a "
                "call as of Keras's own: [query, value] are two arguments, the weights are always "
                "returned, and a mask of the value is memory_mask."
            )
        try:
            return super().__call__(query, *arguments, **settings)
        except RequestError as error:
            raise without_call_info(error) from None

    def call(
        self,
        query,
        memory,
        *,
        mask=None,
        memory_mask=None,
        causal=False,
        position_bias: PositionBias | None = None,
        start_index=0,
        training=None,
    ) -> AttentionOutput:
        """Attend; see the class for arguments, shapes and errors."""
        is_own = causal or memory is query
        if isinstance(memory, ProjectedMemory):
            memory_mask = None if isinstance(memory_mask, ProjectedMemory) else memory_mask
        else:
            memory = self.project(memory)
        if self.causal_only and not causal:
            raise RequestError(
                f"{type(self).__name__} reads a sequence's own past: call it with causal=True"
            )
        if position_bias is not None and not self.takes_bias:
            raise RequestError(f"{type(self).__name__} has no scores for a position bias")
        batch, steps, memory_steps = query.shape[0], query.shape[1], memory.values.shape[-2]
        context, lengths = None, (ops.shape(query)[1], ops.shape(memory.values)[-2], start_index)
        if mask is None and position_bias is None and not (self.dropout and training):
            context = self.direct_context(query, memory, memory_mask, causal, start_index)
        direct = context is not None
        mask = _per_head(require_mask(mask, query, memory.values), memory_mask)
        may_see_nothing = mask is not None
        reach = self.reach(*lengths, causal)
        if reach is not None:
            reach = reach[:, None]
            mask = reach if mask is None else ops.logical_and(mask, reach)
        bias = None if position_bias is None else position_bias(*lengths)
        weights = self.align(query, memory.keys, mask, start_index, bias)
        sizes = (batch, self.heads, steps, memory_steps)
        weights = self.as_compute(self._checked("align", weights, "(B, H, T, S)", sizes))
        if self.recorder is not None:
            self.recorder(weights, mask, is_own)
        if not direct:
            kept = self._weight_dropout(weights, training=training) if self.dropout else weights
            context = self.read(kept, memory.values, query)
        width = self._memory_width and self.context_width(query.shape[-1], self._memory_width)
        self._checked("read", context, "(B, T, context_width)", (batch, steps, width))
        if direct:
            context = _where_seeing(memory_mask, causal, start_index, context)
        elif may_see_nothing:
            context = _where_attending(mask, context)
        return AttentionOutput(context, weights)

    def _checked(self, method, result, letters, sizes):
        return require_result(f"{type(self).__name__}.{method}", result, letters, sizes)

    def compute_mask(self, query, previous_mask=None):
        """Return the query's Keras mask for the context; the weights have none."""
        return keras_mask(query)

    def add_kernel(self, name, shape):
        """Create a weight with Glorot's uniform initial values, Keras's default for kernels."""
        return self.add_weight(name=name, shape=shape, initializer="glorot_uniform")

    def as_compute(self, tensor):
        """Cast a tensor or a weight to the layer's compute dtype, inside or outside of `call`."""
        return ops.cast(tensor, self.compute_dtype)


def _where_attending(mask, context):
    """Set the context of queries that may attend to nothing to zero.

    The weighted sum is zero already, but an output bias may follow it.
    """
    attending = ops.any(mask, axis=-1)
    if len(attending.shape) == 3:
        attending = ops.squeeze(attending, 1)
    return ops.where(attending[..., None], context, ops.zeros((), context.dtype))


def _where_seeing(memory_mask, causal, start_index, context):
    """Do as `_where_attending` does, without a (T, S) mask."""
    if memory_mask is None:
        return context
    seeing = ops.any(memory_mask, axis=-1, keepdims=True)
    if causal:
        first = ops.argmax(ops.cast(memory_mask, "int32"), axis=-1, keepdims=True)
        steps = ops.arange(ops.shape(context)[1], dtype="int32") + ops.cast(start_index, "int32")
        seeing = ops.logical_and(seeing, ops.cast(first, "int32") <= steps)
    return ops.where(seeing[..., None], context, ops.zeros((), context.dtype))


def _per_head(mask, memory_mask):
    """Combine optional masks (B, T, S) and (B, S), with an axis for the heads."""
    if memory_mask is not None:
        memory_mask = ops.expand_dims(memory_mask, 1)
        mask = memory_mask if mask is None else ops.logical_and(mask, memory_mask)
    if mask is None or len(mask.shape) < 3:
        return mask
    return ops.expand_dims(mask, 1)
