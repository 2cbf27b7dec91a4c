"""The Transformer, with any mechanism as its cross-attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import padding_mask
from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import PositionalEncoding, sinusoidal
from attnlab.layers.sublayers import LayerNormalization
from attnlab.layers.transformer import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    arguments_from_model,
    make_mechanisms,
)
from attnlab.tasks.translation.models.translator import DecoderOutput, Translator
from attnlab.text.tokenizers import PAD
from attnlab.training.compilation import XlaLimit, is_faster_with_xla


@dataclass(frozen=True)
class TransformerSettings:
    """The settings of conf/model/settings/translation_transformer.yaml."""

    units: int = 128
    layers: int = 2
    heads: int = 4
    feed_forward: int = 512
    dropout: float = 0.1
    norm: str = "pre"
    activation: str = "relu"
    positions: str = "sinusoidal"
    short_convolution: int = 0
    tie_embeddings: str = "output"
    book: bool = False


class TransformerMemory(NamedTuple):
    """An encoded source."""

    mask: Any  # (B, S) bool, True where the source has a token
    projected: tuple  # keys and values for each decoder layer


class TransformerTranslator(Translator):
    """Encoder and decoder stacks of Transformer layers.

    Source: Vaswani et al. 2017 (arXiv 1706.03762). Differences: any mechanism can be the
    cross-attention (self-attention is always multi-head); `norm="pre"` is Xiong et al. 2020 (arXiv
    2002.04745), with a norm after each stack.

    With `book=True` it is the model of "Building Transformer Models with Attention", chapters 13 to
    22: word vectors are frozen sinusoids of the token's number, not scaled; decoder layers use
    their first norm twice; norms have an epsilon of 1e-3. The book's narrow heads are a setting of
    the mechanism.

    Learned positions need `max_source` and `max_target`; both tables have the longer of the two
    lengths.
    """

    def __init__(
        self,
        attention: Callable[..., Attention],
        settings: TransformerSettings,
        max_target: int | None = None,
        **kwargs,
    ) -> None:
        for name, value in {"tie_embeddings": "none", "positions": "sinusoidal"}.items():
            if settings.book and (other := getattr(settings, name)) != value:
                raise RequestError(f"model.book=true: expected model.{name}={value}, got {other}.")
        super().__init__(width=settings.units, tie_embeddings=settings.tie_embeddings, **kwargs)
        self.units, self.heads, self.book = settings.units, settings.heads, settings.book
        self._model_arguments = arguments_from_model(settings.positions, settings.short_convolution)
        self.faster_with_xla = is_faster_with_xla(settings.units, XlaLimit.TRANSFORMER_TRANSLATOR)
        names = ("units", "feed_forward", "dropout", "norm", "activation")
        common: dict[str, Any] = {name: getattr(settings, name) for name in names}
        common["epsilon"] = 1e-3 if self.book else 1e-6
        if settings.positions == "learned":
            self.max_positions = max(self.max_source, max_target)
        self.encoder = [
            TransformerEncoderLayer(
                attention=self._self_attention(attention), name=f"encoder_{number}", **common
            )
            for number in range(settings.layers)
        ]
        self.decoder = [
            TransformerDecoderLayer(
                self_attention=self._self_attention(attention),
                cross_attention=crossed,
                book=self.book,
                name=f"decoder_{number}",
                **common,
            )
            for number, crossed in enumerate(
                make_mechanisms(attention, {"layers": settings.layers})
            )
        ]
        for side, attention in (
            ("source", self.encoder[0].attention),
            ("target", self.decoder[0].self_attention),
        ):
            position = PositionalEncoding.of_stack(
                settings.positions,
                attention,
                max_length=self.max_positions,
                causal=side == "target",
                name=f"{side}_position",
            )
            setattr(self, f"{side}_position", position)
            setattr(self, f"{side}_dropout", Dropout(settings.dropout))
        self.norms = {
            side: LayerNormalization(epsilon=common["epsilon"], name=f"{side}_norm")
            for side in (("source", "target") if settings.norm == "pre" else ())
        }

    def expect(self, counts: np.ndarray) -> None:
        """Set the output bias to the word shares, except in the book's model."""
        if not self.book:
            super().expect(counts)

    def _self_attention(self, attention: Callable[..., Attention]) -> MultiHeadAttention:
        """Return multi-head attention, with the settings of `attention` if that is multi-head."""
        mechanism, settings = attention(), {}
        if isinstance(mechanism, MultiHeadAttention):
            settings = mechanism.get_config()
            for name in ("name", "dtype", "trainable", "units", "seed"):
                settings.pop(name, None)
        return MultiHeadAttention(**{**settings, "heads": self.heads, **self._model_arguments})

    def build(self, *_) -> None:
        """Create all weights."""
        vectors = (None, None, self.units)
        self.build_vocabularies(self.units)
        if self.book:
            for embedding in (self.source_embedding, self.target_embedding):
                embedding.trainable = False
                embedding.set_weights([sinusoidal(embedding.input_dim, self.units)])
        positions = (self.source_position, self.target_position)
        for layer in (*positions, *self.norms.values(), *self.encoder):
            layer.build(vectors)
        for layer in self.decoder:
            length = self._memory_length(layer.cross_attention)
            layer.build(vectors, (None, length, self.units))
        self.fixed_length = self.decoder[0].cross_attention.fixed_length

    def decode(self, target, memory: TransformerMemory, training=None) -> DecoderOutput:
        """Decode whole targets (B, T)."""
        vectors = self._embed("target", target, 0, training)
        outputs = self._through(vectors, memory, (None,) * len(self.decoder), 0, training)
        weights = tuple(output.cross_attention.weights for output in outputs)
        return DecoderOutput(self._norm("target", outputs[-1].vectors), weights)

    def initial_state(self, memory: TransformerMemory, length) -> tuple:
        """Return an empty cache of keys and values for each decoder layer."""
        batch = ops.shape(memory.mask)[0]
        return tuple(layer.empty_cache(batch, length) for layer in self.decoder)

    def step(self, tokens, index, memory: TransformerMemory, state) -> tuple:
        """Read one more token of each target."""
        vectors = self._embed("target", ops.expand_dims(tokens, 1), index, False)
        outputs = self._through(vectors, memory, state, index, False)
        logits = self.logits(self._norm("target", outputs[-1].vectors)[:, 0])
        return logits, tuple(output.cache for output in outputs)

    def _through(self, vectors, memory, caches, start_index, training) -> list:
        """Return the output of each decoder layer."""
        outputs = []
        for layer, projected, cache in zip(self.decoder, memory.projected, caches, strict=True):
            output = layer(
                vectors,
                projected,
                memory_mask=memory.mask,
                cache=cache,
                start_index=start_index,
                position_bias=self.target_position.bias,
                training=training,
            )
            vectors = output.vectors
            outputs.append(output)
        return outputs

    def encode(self, source, training=None) -> TransformerMemory:
        """Encode sources (B, S) into the memory of each decoder layer."""
        mask = ops.not_equal(source, PAD)
        vectors = self._embed("source", source, 0, training)
        for layer in self.encoder:
            vectors = layer(
                vectors,
                attention_mask=padding_mask(mask),
                position_bias=self.source_position.bias,
                training=training,
            ).vectors
        vectors = self._norm("source", vectors)
        return TransformerMemory(mask, tuple(layer.project(vectors) for layer in self.decoder))

    def _embed(self, side: str, ids, start_index, training):
        """Return vectors (B, T, units) of one language's tokens at their positions."""
        vectors = getattr(self, f"{side}_embedding")(ids)
        if not self.book:
            vectors = vectors * ops.cast(self.units**0.5, vectors.dtype)
        vectors = getattr(self, f"{side}_position")(vectors, start_index=start_index)
        return getattr(self, f"{side}_dropout")(vectors, training=training)

    def _norm(self, side: str, vectors):
        """Normalise the output of a stack if its layers are pre-norm."""
        return self.norms[side](vectors) if self.norms else vectors
