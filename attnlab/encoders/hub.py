"""Pretrained encoders of keras-hub: BERT, DistilBERT and RoBERTa.

The layers are keras-hub's own; it is imported only when a layer is created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import keras
from keras import ops

from attnlab.encoders.hub_preset import (
    BACKBONES,
    attention_of,
    digest_of,
    need_keras_hub,
    read_preset,
    trained_backbone,
)
from attnlab.encoders.hub_tokenizer import order
from attnlab.errors import RequestError
from attnlab.layers.encoding import Encoding
from attnlab.text.tokenizers import END, PAD, Tokenizer

KIND = "hub"


class HubEncoder(keras.layers.Layer):
    """A backbone of keras-hub that reads this project's token ids.

    Devlin et al. 2019 (arXiv:1810.04805), Sanh et al. 2019 (arXiv:1910.01108), Liu et al. 2019
    (arXiv:1907.11692). Difference from keras-hub: BERT's pooled output is left out, and the weights
    of the last layer are returned.

    Call arguments:
        tokens: (B, S) ids of a `Tokenizer`: START, a text, END, optionally a second text and END,
            then PAD. BERT's segment is 1 after the first END up to the last END.
        training: whether to apply dropout.

    Returns an `Encoding`: vectors (B, S, W) and weights (B, H, S, S).

    Args:
        class_name: the backbone's class.
        config: its arguments.
        order: (N,) the backbone's id for each of this project's ids.
        **kwargs: those of every Keras layer.
    """

    embedding = None

    def __init__(
        self, *, class_name: str, config: Mapping[str, Any], order: Any, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._class_name, self._config, self._order = class_name, dict(config), order
        self.width, self.most = config["hidden_dim"], config.get("max_sequence_length")
        self.depths: dict[str, int] = {}

    def build(self, tokens_shape: tuple) -> None:
        """Create drawn weights for rows of shape (B, S).

        Raises:
            ValueError: S is larger than the backbone's number of positions.
        """
        length = tokens_shape[-1]
        if self.most and length and length > self.most:
            raise ValueError(f"HubEncoder: expected rows of at most {self.most}, got {length}")
        import keras_hub

        make = getattr(keras_hub.models, self._class_name)
        parts = Parts.of(make(**self._config, dtype=self.dtype_policy))
        # One attribute each, because Keras doesn't save layers in nested lists.
        self._embeddings, self._norm, self._dropout, self._blocks = parts
        self.depths = {
            weight.path: depth for depth, part in parts.by_depth() for weight in part.weights
        }

    def call(self, tokens: Any, training: bool | None = None) -> Encoding:
        """Encode rows (B, S)."""
        settings = {"padding_mask": ops.not_equal(tokens, PAD), "training": training}
        x = self._dropout(self._norm(self._embedded(tokens)), training=training)
        *first, last = self._blocks
        for layer in first:
            x = layer(x, **settings)
        return Encoding(*last(x, **settings, return_attention_scores=True))

    def compute_output_spec(self, tokens: Any, training: bool | None = None) -> Encoding:
        """Return the shapes of vectors and weights."""
        batch, length = tokens.shape
        heads = self._config["num_heads"]
        return Encoding(
            keras.KerasTensor((batch, length, self.width), self.compute_dtype),
            keras.KerasTensor((batch, heads, length, length), self.compute_dtype),
        )

    def _embedded(self, tokens: Any) -> Any:
        """Return the sum (B, S, W) of token, position and, for BERT, segment embeddings."""
        numbers = ops.take(ops.convert_to_tensor(self._order), tokens, axis=0)
        of_tokens, *others = self._embeddings
        x = of_tokens(numbers)
        if not others:
            return x
        of_places, of_segments = others
        return x + of_places(x) + of_segments(segments(tokens))


class Parts(NamedTuple):
    """The layers of a backbone.

    Attributes:
        embeddings: those of tokens, positions and segments; or one for tokens and positions.
        norm: normalizes their sum.
        dropout: follows the norm.
        blocks: the Transformer layers in order.
    """

    embeddings: list[keras.layers.Layer]
    norm: keras.layers.Layer
    dropout: keras.layers.Layer
    blocks: list[keras.layers.Layer]

    @classmethod
    def of(cls, backbone: keras.Model) -> Parts:
        """Return the layers of a backbone of keras-hub."""
        if hasattr(backbone, "segment_embedding"):
            names = ("token_embedding", "position_embedding", "segment_embedding")
        else:
            names = ("embeddings",)
        return cls(
            [getattr(backbone, name) for name in names],
            backbone.embeddings_layer_norm,
            backbone.embeddings_dropout,
            list(backbone.transformer_layers),
        )

    def by_depth(self) -> list[tuple[int, keras.layers.Layer]]:
        """Return (depth, layer) for each layer with weights."""
        first = [(0, part) for part in (*self.embeddings, self.norm)]
        return [*first, *enumerate(self.blocks, start=1)]

    def weights(self) -> list[keras.Variable]:
        """Return all weights, in the order of `by_depth`."""
        return [weight for _, part in self.by_depth() for weight in part.weights]


def segments(tokens: Any) -> Any:
    """Return BERT's segments (B, S) int32: 1 after the first END up to the last END, else 0."""
    ends = ops.cast(ops.equal(tokens, END), "int32")
    before = ops.cumsum(ends, axis=1) - ends
    return ops.cast((before > 0) & (before < ops.sum(ends, axis=1, keepdims=True)), "int32")


class HubSource:
    """A preset with a `BertBackbone`, `DistilBertBackbone` or `RobertaBackbone` of keras-hub.

    See `attnlab.encoders.source.Source`.

    Args:
        path: a preset's folder, or a handle of keras-hub.
        class_name: the backbone's class.
        config: its arguments.
        tokenizer: the preset's tokenizer.
        files: the files of weights and vocabulary; none if the source is only a description.
        digest: SHA-256 of the files; None: computed from them.
    """

    def __init__(
        self,
        path: str,
        *,
        class_name: str,
        config: Mapping[str, Any],
        tokenizer: Tokenizer,
        files: Sequence[Path] = (),
        digest: str | None = None,
    ) -> None:
        self.path, self.tokenizer = path, tokenizer
        self._class_name, self._config = class_name, config
        self._files, self._digest = files, digest
        self.attention = attention_of(config)
        self.most: int | None = config.get("max_sequence_length")

    @classmethod
    def open(cls, path: str) -> HubSource:
        """Open a preset in a folder, or download one by its handle.

        Raises:
            RequestError: keras-hub is missing, there is no such preset, one of its files is missing
                or damaged, or it isn't an encoder of texts that this project supports.
        """
        return cls(path, **read_preset(path))

    @classmethod
    def described(cls, content: Mapping[str, Any], tokenizer: Tokenizer) -> HubSource:
        """Return a source from the result of `describe`, without the weights of the preset.

        Raises:
            RequestError: `content` isn't such a description, or doesn't fit the tokenizer.
        """
        try:
            path, name, config = content["path"], content["class"], dict(content["config"])
            size, digest = config["vocabulary_size"], str(content["digest"])
            known = content["kind"] == KIND and name in BACKBONES
        except (KeyError, TypeError, ValueError) as error:
            raise RequestError(
                f"model.path: expected the description of a preset of keras-hub, got {content}."
            ) from error
        if not known or size != tokenizer.size or tokenizer.manner is None:
            raise RequestError(
                f"model.path: expected {name} with a tokenizer of {size} tokens, "
                f"got {tokenizer.kind} with {tokenizer.size}."
            )
        return cls(str(path), class_name=name, config=config, tokenizer=tokenizer, digest=digest)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights and the vocabulary."""
        return self._digest or digest_of(self._files)

    def make(self) -> HubEncoder:
        """Create the layer, without building it.

        Raises:
            RequestError: keras-hub is missing.
        """
        need_keras_hub(self.path)
        return HubEncoder(
            class_name=self._class_name,
            config=self._config,
            order=order(self.tokenizer),
            name="encoder",
        )

    def fill(self, encoder: HubEncoder) -> None:
        """Assign the pretrained weights to a built layer of `make`.

        Raises:
            RequestError: the weights can't be read, or their shapes differ from the layer's.
        """
        if not self._files:
            raise RequestError(
                f"model.path: expected the weights of {self.path}, got only its description."
            )
        own, trained = encoder.weights, Parts.of(trained_backbone(self.path)).weights()
        if [weight.shape for weight in own] != [weight.shape for weight in trained]:
            raise RequestError(
                f"model.path: expected weights of the sizes {self._config} in {self.path}, "
                "got others."
            )
        for weight, value in zip(own, trained, strict=True):
            weight.assign(value)

    def describe(self) -> dict[str, Any]:
        """Return the arguments of `described`, without tokenizer and weights; JSON-ready."""
        return {
            "kind": KIND,
            "path": self.path,
            "class": self._class_name,
            "config": dict(self._config),
            "digest": self.digest,
        }
