"""The protocol of every attention mechanism: scores -> mask -> weights -> context.

Letters of shapes, here and in the whole package: B batch, T query steps, S memory steps, H heads;
Q, M, K, V the widths of queries, raw memory, keys and values; U the units of a hidden layer.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import dtype_of, masked_softmax
from attnlab.attention.keras_internals import keras_mask, without_call_info
from attnlab.errors import RequestError

# Arguments of Keras's own attention layers.
_OF_KERAS = {"return_attention_scores", "value", "key", "use_causal_mask"}


class AttentionOutput(NamedTuple):
    """What every mechanism returns.

    Attributes:
        context: (B, T, V), the weighted sum of the values.
        weights: (B, H, T, S), before dropout; H = 1 except for multi-head attention.
    """

    context: Any
    weights: Any


class ProjectedMemory(NamedTuple):
    """A memory prepared for scoring, once per sequence.

    For every mechanism axis 0 is the batch and axis -2 the memory steps, so that a decoder can
    reorder beams and append steps.

    Attributes:
        keys: (B, S, K), scored with the queries; (B, H, S, K) with several heads.
        values: (B, S, V), summed to the context; (B, H, S, V) with several heads.
    """

    keys: Any
    values: Any


class Attention(keras.layers.Layer):
    """Base of the mechanisms: a query looks at a memory and takes a weighted sum of it.

    A mechanism is a subclass that creates its weights in `build`, prepares a memory in
    `project_memory`, and scores in `score` (or in `align`, if the weights are more than a softmax
    of scores). This class does the rest: masks, the softmax in float32, dropout of the weights,
    the context, the configuration.

    Args:
        dropout: probability of dropping a weight while training, in [0, 1).
        seed: int for the dropout's random state, or None.
        **kwargs: `name`, `dtype` and `trainable`, as for every Keras layer.

    Call arguments:
        query: (B, T, Q).
        memory: (B, S, M), or a `ProjectedMemory` that `project` made of it.
        mask: None, or bool, broadcastable to (B, T, S); True = attend.
        memory_mask: None, or bool (B, S); True = attend. Keras fills it in when the memory
            comes out of a layer that masks, such as `Embedding(mask_zero=True)`.
        start_index: absolute position of the first query, int or scalar int tensor.
        training: whether to drop weights.

    Returns:
        `AttentionOutput(context, weights)`, always. A query that may attend to nothing has zero
        weights and a zero context. Masked memory must be finite; it never changes a result.

    Attributes:
        has_context: whether the context depends on the memory. If not, a forecaster or a
            classifier reads only the state.
        placement: where a translation decoder puts the mechanism: "before_step" (the query is the
            previous state) or "after_step" (the current one).

    Raises:
        ValueError: a mask is not boolean or cannot be broadcast to (B, T, S).
        RequestError: `dropout` is out of range; it is called as Keras's own attention layers are.
    """

    has_context: ClassVar[bool] = True
    placement: ClassVar[str] = "after_step"

    def __init__(self, *, dropout: float = 0.0, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= dropout < 1:
            raise RequestError(f"dropout must be at least 0 and below 1, got {dropout!r}")
        self.dropout = float(dropout)
        self.seed = seed
        self.supports_masking = True
        self._memory_width: int | None = None  # of the last projected memory
        self._weight_dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    @property
    def fixed_length(self) -> int | None:
        """The only memory length that the weights fit; None: any length."""
        return None

    def context_width(self, query_width: int, memory_width: int) -> int:
        """Return V, the width of the context, for a query of width Q and a memory of width M."""
        return memory_width

    def build(self, query_shape, memory_shape):
        """Create all weights.

        Args:
            query_shape: (B, T, Q).
            memory_shape: (B, S, M), of the raw memory.
        """

    def project(self, memory) -> ProjectedMemory:
        """Return keys and values of a memory, computed once for all queries.

        Args:
            memory: (B, S, M).

        Returns:
            `ProjectedMemory`, an argument for `call` in place of the memory.

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
        return projected

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys and values of a memory in the compute dtype, here the memory itself."""
        return ProjectedMemory(memory, memory)

    def score(self, query, keys):
        """Score each key for each query: (B, T, Q) and keys to (B, T, S)."""
        raise NotImplementedError(f"{type(self).__name__} must define score() or align()")

    def align(self, query, keys, mask, start_index):
        """Return each query's weights over the memory.

        Args:
            query: (B, T, Q).
            keys: as returned by `project_memory`.
            mask: None, or bool, broadcastable to (B, H, T, S).
            start_index: absolute position of the first query.

        Returns:
            (B, H, T, S) in float32 or wider.
        """
        sizes = (query.shape[0], query.shape[1], keys.shape[-2])
        scores = self._checked("score", self.score(query, keys), "(B, T, S)", sizes)
        return masked_softmax(ops.expand_dims(scores, 1), mask)

    def read(self, weights, values):
        """Sum the values by their weights: (B, 1, T, S) and (B, S, V) to (B, T, V)."""
        return ops.matmul(ops.squeeze(weights, 1), values)

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
        self, query, memory, *, mask=None, memory_mask=None, start_index=0, training=None
    ) -> AttentionOutput:
        """Attend; see the class for arguments, shapes and errors."""
        if isinstance(memory, ProjectedMemory):
            memory_mask = None if isinstance(memory_mask, ProjectedMemory) else memory_mask
        else:
            memory = self.project(memory)
        mask = _per_head(_checked(mask, query, memory.values), memory_mask)
        batch, steps, memory_steps = query.shape[0], query.shape[1], memory.values.shape[-2]
        weights = self.align(query, memory.keys, mask, start_index)
        sizes = (batch, getattr(self, "heads", 1), steps, memory_steps)
        weights = self.as_compute(self._checked("align", weights, "(B, H, T, S)", sizes))
        kept = self._weight_dropout(weights, training=training) if self.dropout else weights
        context = self.read(kept, memory.values)
        width = self._memory_width and self.context_width(query.shape[-1], self._memory_width)
        self._checked("read", context, "(B, T, context_width)", (batch, steps, width))
        if mask is not None:
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

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        return {**super().get_config(), "dropout": self.dropout, "seed": self.seed}


def _where_attending(mask, context):
    """Set the context of queries that may attend to nothing to zero.

    The weighted sum is zero already, but an output bias may follow it.
    """
    attending = ops.any(mask, axis=-1)
    if len(attending.shape) == 3:
        attending = ops.squeeze(attending, 1)
    return ops.where(attending[..., None], context, ops.zeros((), context.dtype))


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return a setting; raise `RequestError` if it isn't one of the choices."""
    if value not in choices:
        raise RequestError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def require_equal_widths(kind: str, query_shape, memory_shape) -> None:
    """Raise `RequestError` unless queries (B, T, Q) and memory (B, S, M) have Q = M.

    Args:
        kind: the setting that needs equal widths, for the message.
        query_shape: of the queries.
        memory_shape: of the memory.

    Raises:
        RequestError: Q and M differ.
    """
    if query_shape[-1] != memory_shape[-1]:
        raise RequestError(
            f"{kind} needs a query and a memory of equal width, got {query_shape[-1]} and "
            f"{memory_shape[-1]}; choose a mechanism or score with a learned projection"
        )


def _checked(mask, query, values):
    """Return a mask; raise `ValueError` unless it is boolean and broadcastable to (B, T, S)."""
    if mask is None:
        return None
    full = (query.shape[0], query.shape[1], values.shape[-2])
    pairs = zip(reversed(mask.shape), reversed(full), strict=False)
    fits = all(size in (1, None, wanted) or wanted is None for size, wanted in pairs)
    if dtype_of(mask) != "bool" or len(mask.shape) > 3 or not fits:
        raise ValueError(
            f"mask must be bool (True = attend) and broadcastable to (batch, query steps, memory "
            f"steps) = {full}, got {dtype_of(mask)} of shape {tuple(mask.shape)}; "
            "functional.padding_mask makes one of a (batch, memory steps) mask"
        )
    return mask


def _per_head(mask, memory_mask):
    """Combine optional masks (B, T, S) and (B, S), with an axis for the heads."""
    if memory_mask is not None:
        memory_mask = ops.expand_dims(memory_mask, 1)
        mask = memory_mask if mask is None else ops.logical_and(mask, memory_mask)
    if mask is None or len(mask.shape) < 3:
        return mask
    return ops.expand_dims(mask, 1)


def require_result(method: str, result: Any, letters: str, wanted: tuple[int | None, ...]) -> Any:
    """Return the result of a mechanism's method after checking its static shape and dtype.

    The check happens while the step is traced, so it doesn't slow the compiled step.

    Args:
        method: for the message, such as `Mine.score`.
        result: the method's result.
        letters: letters of the shape, such as `(B, T, S)`.
        wanted: the sizes; None for unknown or free ones.

    Raises:
        RequestError: the result isn't a tensor of floating-point numbers with this shape.
    """
    expected = f"{method} must return {letters} = {_written(wanted)}"
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise RequestError(f"{expected}, got {_kind(result)}")
    if getattr(result.shape, "rank", 0) is None:
        return result
    shape = tuple(result.shape)
    pairs = zip(shape, wanted, strict=False)
    if len(shape) != len(wanted) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise RequestError(f"{expected}, got {_written(shape)}")
    if "float" not in dtype_of(result):
        raise RequestError(f"{expected} of floating-point numbers, got {dtype_of(result)}")
    return result


def _written(sizes: tuple[int | None, ...]) -> str:
    """Write a shape, with `?` for unknown sizes."""
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"


def _kind(result: Any) -> str:
    return "None: is a return missing?" if result is None else f"a {type(result).__name__}"
