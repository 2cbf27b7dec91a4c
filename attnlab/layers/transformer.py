"""Transformer layers around any attention mechanism, stacks of them, and an encoder of texts."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, PositionBias, ProjectedMemory
from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import Tensor
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import PositionalEncoding
from attnlab.layers.sublayers import ResidualLayer, make_norm

PAD, END = 0, 3  # of `attnlab.text.tokenizers`


class EncoderLayerOutput(NamedTuple):
    """What an encoder layer returns."""

    vectors: Tensor  # (B, T, units)
    attention: AttentionOutput  # of the self-attention


class DecoderLayerOutput(NamedTuple):
    """What a decoder layer returns."""

    vectors: Tensor  # (B, T, units)
    self_attention: AttentionOutput  # weights (B, H, T, L); L = T, or the cache's length
    cross_attention: AttentionOutput  # weights (B, H, T, S) over the encoder's memory
    cache: Any  # of the target so far, for the next call; None for whole targets


class TransformerEncoderLayer(ResidualLayer):
    """Self-attention, then a feed-forward network, each with residual, dropout and norm.

    Post-norm: `x = norm(x + dropout(sublayer(x)))`; pre-norm: `x = x + dropout(sublayer(norm(x)))`,
    where the stack needs a final norm after its last layer.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.1 and 5.4 (post-norm); Xiong et al.
    2020 (arXiv 2002.04745) for pre-norm. Difference: any mechanism can be the attention. With
    512 units, 2,048 inner, 8 heads it has 3,152,384 parameters (the book's heads: 2,233,536).

    Args:
        attention: an `Attention` layer of this layer's own; its context must be `units` wide.
        causal: whether a step sees only itself and its past, as in a language model.
        **kwargs: as for `ResidualLayer`.

    A call gets vectors (B, T, units), whose Keras mask is used if there is one, and
    `attention_mask`, `position_bias` and `training` as `Attention` does.

    Raises:
        RequestError: an unknown norm; a context of another width than `units`.
    """

    def __init__(self, *, attention: Attention, causal: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.attention, self.causal = attention, causal

    def build(self, vectors_shape: tuple) -> None:
        """Create all weights."""
        self.build_common(vectors_shape)
        _build_attention(self.attention, vectors_shape, vectors_shape)

    def call(
        self,
        vectors: Tensor,
        attention_mask: Tensor = None,
        position_bias: PositionBias | None = None,
        training: bool | None = None,
    ) -> EncoderLayerOutput:
        """Encode (B, T, units)."""
        sequence = self.normalize_input(0, vectors)
        settings = {"position_bias": position_bias, "training": training}
        attended = self.attention(
            sequence, sequence, mask=attention_mask, causal=self.causal, **settings
        )
        return EncoderLayerOutput(self._after(vectors, attended, training), attended)

    def next(
        self,
        vectors: Tensor,
        cache: Any,
        start_index: Any,
        position_bias: PositionBias | None = None,
    ) -> tuple[Tensor, Any]:
        """Encode the next vectors (B, T, units) of causal sequences, from start_index on.

        Returns the vectors that one call over the whole sequences gives at these positions, and the
        next cache. The first cache is `attention.empty_cache`.
        """
        attended, cache = self.attention.attend_to_past(
            self.normalize_input(0, vectors),
            cache,
            start_index=start_index,
            position_bias=position_bias,
        )
        return self._after(vectors, attended, training=False), cache

    def _after(self, vectors, attended, training):
        """Return vectors after the attention and the feed-forward network."""
        vectors = self.add_residual(0, vectors, attended.context, training)
        expanded = self.feed_forward(self.normalize_input(1, vectors))
        return self.add_residual(1, vectors, expanded, training)


class TransformerDecoderLayer(ResidualLayer):
    """Causal self-attention, attention to the encoder's memory, a feed-forward network.

    Each sub-layer has residual, dropout and norm as in `TransformerEncoderLayer`.

    Decoding stepwise: make an empty cache by `empty_cache(batch, length)`, project the encoder's
    memory once by `project(memory)`, then call with one step at a time, its `start_index`, and the
    cache that the call before returned. The result is that of one call over the whole sequence.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.1. Difference: any mechanism can be
    either attention. With `book=True` the book's layer (listing 18.5), whose second sub-layer
    uses the first one's norm again: 2,365,312 parameters at 512 units and 2,048 inner with its
    heads, 4,204,032 done right.

    Args:
        self_attention: an `Attention` layer of this layer's own; context `units` wide.
        cross_attention: another one, for the encoder's memory; context `units` wide.
        book: whether to use the first norm twice, as the book does. Only with `norm="post"`.
        **kwargs: as for `ResidualLayer`.

    A call gets vectors (B, T, units), the memory (B, S, M) or what `project` made of it, `cache`
    (None for whole targets), and `memory_mask`, `start_index`, `position_bias` (of the
    self-attention) and `training` as `Attention` does.

    Raises:
        RequestError: as for `TransformerEncoderLayer`; `book` with a pre-norm; a cross-attention
            that is defined for one sequence only.
    """

    def __init__(
        self,
        *,
        self_attention: Attention,
        cross_attention: Attention,
        book: bool = False,
        **kwargs: Any,
    ):
        super().__init__(norm_indices=(0, 0, 1) if book else (0, 1, 2), **kwargs)
        if book and self.norm != "post":
            raise RequestError(f"book=true is a post-norm layer, got norm={self.norm}")
        if (reason := cross_attention.one_sequence) is not None:
            raise RequestError(f"{reason}: it can't be a decoder's attention to its source")
        self.self_attention, self.cross_attention = self_attention, cross_attention

    def build(self, vectors_shape: tuple, memory_shape: tuple) -> None:
        """Create all weights."""
        self.build_common(vectors_shape)
        _build_attention(self.self_attention, vectors_shape, vectors_shape)
        _build_attention(self.cross_attention, vectors_shape, memory_shape)

    def project(self, memory: Tensor) -> ProjectedMemory:
        """Return keys and values of the encoder's memory (B, S, M), needed once per source."""
        return self.cross_attention.project(memory)

    def empty_cache(self, batch: Any, length: int | None) -> Any:
        """Return an empty cache for `length` target steps; None: a growing cache."""
        return self.self_attention.empty_cache(batch, length, self.units)

    def call(
        self,
        vectors: Tensor,
        memory: Tensor | ProjectedMemory,
        memory_mask: Tensor = None,
        cache: Any = None,
        start_index: Any = 0,
        position_bias: PositionBias | None = None,
        training: bool | None = None,
    ) -> DecoderLayerOutput:
        """Decode (B, T, units)."""
        if isinstance(memory_mask, ProjectedMemory):
            memory_mask = None
        sequence = self.normalize_input(0, vectors)
        settings = {"position_bias": position_bias, "training": training}
        if cache is None:
            attended = self.self_attention(sequence, sequence, causal=True, **settings)
        else:
            attended, cache = self.self_attention.attend_to_past(
                sequence, cache, start_index=start_index, **settings
            )
        vectors = self.add_residual(0, vectors, attended.context, training)
        settings = {"start_index": start_index, "training": training}
        query = self.normalize_input(1, vectors)
        crossed = self.cross_attention(query, memory, memory_mask=memory_mask, **settings)
        vectors = self.add_residual(1, vectors, crossed.context, training)
        expanded = self.feed_forward(self.normalize_input(2, vectors))
        vectors = self.add_residual(2, vectors, expanded, training)
        return DecoderLayerOutput(vectors, attended, crossed, cache)


def _build_attention(attention: Attention, vectors_shape, memory_shape) -> None:
    """Build an attention layer whose context is added to the vectors."""
    width = vectors_shape[-1]
    context = attention.context_width(width, memory_shape[-1])
    if context != width:
        raise RequestError(
            f"the residual needs a context as wide as the vectors, {width}; "
            f"{type(attention).__name__} gives {context}"
        )
    attention.build(vectors_shape, memory_shape)
    if attention.rope or attention.short_convolution:  # heads of an odd width are refused here
        attention.project(keras.KerasTensor((1, 1, memory_shape[-1])))


def arguments_from_model(positions: str, short_convolution: int) -> dict[str, Any]:
    """Return the arguments of a mechanism that follow from two settings of its model."""
    settings = {"rope": positions == "rope", "short_convolution": short_convolution}
    return {name: value for name, value in settings.items() if value}


def make_mechanisms(
    make: Callable[..., Attention], settings: MutableMapping[str, Any]
) -> list[Attention]:
    """Return a mechanism per layer; removes `layers` and `short_convolution` from `settings`.

    `make` makes one, with further arguments of its constructor. It refuses positions and short
    convolutions that the mechanism can't have. A mechanism gets its layer's number as `depth`.
    """
    layers, width = settings.pop("layers"), settings.pop("short_convolution", 0)
    arguments = arguments_from_model(settings.get("positions", ""), width)
    mechanisms = [make(**arguments) for _ in range(layers)]
    for number, mechanism in enumerate(mechanisms):
        mechanism.depth = number
    return mechanisms


class EncoderStack:
    """Transformer encoder layers as a base class of models; each layer has its own mechanism.

    With `norm="pre"` there is a final norm after the last layer; `normed` applies it. `position`
    is the layer of positions: models call it on their vectors; `through_stack` passes its bias on.
    """

    positions: str

    def stack(
        self,
        attention: Sequence[Attention],
        *,
        positions: str,
        norm: str = "pre",
        **layer: Any,
    ) -> None:
        """Make a layer for each mechanism; to be called in `__init__` after the model's own.

        `positions` is one of `positional_encoding.KINDS`; `layer` are further arguments of
        `TransformerEncoderLayer`.
        """
        self.positions = positions
        self.encoder = [
            TransformerEncoderLayer(
                attention=mechanism, norm=norm, name=f"encoder_{number}", **layer
            )
            for number, mechanism in enumerate(attention)
        ]
        self.final_norm = None
        if norm == "pre":
            form = {name: layer[name] for name in ("epsilon", "biases") if name in layer}
            self.final_norm = make_norm(
                layer.get("normalization"), name="final_norm", **{"epsilon": 1e-6, **form}
            )

    def build_stack(self, shape: tuple, most: int | None = None) -> None:
        """Create the weights for vectors of a shape (B, T, units), and `most` learned positions."""
        self.position = PositionalEncoding.of_stack(
            self.positions,
            self.encoder[0].attention,
            max_length=most or shape[1],
            causal=self.encoder[0].causal,
            name="position",
        )
        self.position.build(shape)
        for layer in self.encoder:
            layer.build(shape)
        if self.final_norm is not None:
            self.final_norm.build(shape)

    def through_stack(
        self, vectors: Tensor, mask: Tensor = None, training: bool | None = None
    ) -> tuple[Tensor, AttentionOutput]:
        """Return vectors (B, T, units) after the last layer, not normed, and its attention."""
        output: Any = None
        settings = {"position_bias": self.position.bias, "training": training}
        for layer in self.encoder:
            vectors, output = layer(vectors, attention_mask=mask, **settings)
        return vectors, output

    def next_through_stack(
        self, vectors: Tensor, caches: Sequence[Any], start_index: Any
    ) -> tuple[Tensor, list[Any]]:
        """Do as `through_stack` for the next vectors (B, T, units) of causal sequences.

        Returns vectors and caches. `caches` are those of `empty_caches` or the call before.
        """
        new = []
        for layer, cache in zip(self.encoder, caches, strict=True):
            vectors, cache = layer.next(vectors, cache, start_index, self.position.bias)
            new.append(cache)
        return vectors, new

    def empty_caches(self, batch: Any, length: int | None) -> list[Any]:
        """Return a cache per layer for sequences of at most `length` steps; None: growing."""
        return [layer.attention.empty_cache(batch, length, layer.units) for layer in self.encoder]

    def normed(self, vectors: Tensor) -> Tensor:
        """Return vectors (..., units) with the final norm, if there is one."""
        return vectors if self.final_norm is None else self.final_norm(vectors)


class Encoding(NamedTuple):
    """What an encoder makes of rows (B, S) of tokens."""

    vectors: Tensor  # (B, S, W) of the last layer
    weights: Tensor  # (B, H, S, S) of its self-attention


class TextEncoder(EncoderStack, keras.layers.Layer):
    """Embeddings, segments, positions, and Transformer encoder layers.

    The embeddings of tokens, segments and positions are summed; norm, dropout and the layers
    follow. The segment is 0 up to the first END and 1 after it.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3 and figure 2. Differences: any
    mechanism is the self-attention; pre-norm and other positions are possible, too.

    Args:
        attention: a mechanism for each layer.
        vocabulary: number of tokens.
        most: number of positions of the learned table: the most tokens of a row.
        units: width of the vectors.
        feed_forward: inner width of the feed-forward networks, whose activation is GELU.
        dropout: share of the sum and of each sub-layer's output that is dropped in training.
        norm: `pre` or `post`.
        positions: one of `positional_encoding.KINDS`.

    A call gets tokens (B, S), padded at the end with PAD, which is masked.
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        vocabulary: int,
        most: int,
        units: int,
        feed_forward: int,
        dropout: float = 0.0,
        norm: str = "pre",
        positions: str = "learned",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.width, self.layers, self.most = units, len(attention), most
        normal = keras.initializers.RandomNormal(stddev=0.02)
        settings = {"output_dim": units, "embeddings_initializer": normal}
        self.embedding = keras.layers.Embedding(vocabulary, name="embedding", **settings)
        self.segments = keras.layers.Embedding(2, name="segments", **settings)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6, name="norm")
        self.dropout = Dropout(dropout)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout}
        self.stack(attention, positions=positions, norm=norm, activation="gelu", **layer)

    @property
    def fixed_length(self) -> int | None:
        """The only row length that the mechanism's weights fit; None: any length."""
        return self.encoder[0].attention.fixed_length

    @property
    def depths(self) -> dict[str, int]:
        """Variable path -> its layer's number from 1, 0 for embeddings; for `FineTuned`'s rates."""
        depths = {variable.path: 0 for variable in self.variables}
        for number, layer in enumerate(self.encoder, 1):
            depths |= {variable.path: number for variable in layer.variables}
        if self.final_norm is not None:
            depths |= {variable.path: self.layers for variable in self.final_norm.variables}
        return depths

    def build(self, tokens_shape: tuple) -> None:
        """Create the weights for rows of shape (B, S)."""
        shape = (*tokens_shape, self.width)
        self.embedding.build(tokens_shape)
        self.segments.build(tokens_shape)
        self.norm.build(shape)
        self.build_stack(shape, self.most)

    def call(self, tokens: Tensor, training: bool | None = None) -> Encoding:
        """Encode (B, S) tokens."""
        ends = ops.cast(ops.equal(tokens, END), "int32")
        segments = ops.cast(ops.cumsum(ends, axis=1) - ends > 0, "int32")
        vectors = self.position(self.embedding(tokens) + self.segments(segments))
        vectors = self.dropout(self.norm(vectors), training=training)
        mask = ops.not_equal(tokens, PAD)[:, None]
        vectors, attended = self.through_stack(vectors, mask, training)
        return Encoding(self.normed(vectors), attended.weights)
