"""Classifiers of texts: a mean of embeddings, recurrent networks, and Transformer encoders."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.attention.dropout import Dropout
from attnlab.encoders.tuning import FineTuned, with_start_and_end
from attnlab.layers.recurrent import AttentionReadout, RecurrentEncoder
from attnlab.layers.transformer import EncoderStack
from attnlab.text.tokenizers import PAD
from attnlab.training.compilation import XlaLimit, is_faster_with_xla
from attnlab.training.step import InMemoryModel

_MANY_WORDS = 1000
_SPREAD = 0.1  # of embeddings whose mean is read: each of many words counts by itself


class Classifier(InMemoryModel):
    """Maps texts (B, S) of tokens, padded at the end with PAD, to logits of classes (B, C).

    A subclass computes the features, the input of the output layer, of vectors (B, S, E), and the
    output of its attention or None (`_features`); `real` (B, S) is False for padding.

    `spread` is the initial standard deviation of the embeddings. With Keras's default, 0.03, words
    are so similar that a model doesn't learn to combine two of them in hundreds of steps. `dropout`
    is that of the output layer's input and of the embeddings; at all words of a text the same
    components are dropped (Gal and Ghahramani 2016, arXiv 1512.05287).
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        classes: int,
        embedding: int,
        dropout: float,
        spread: float = 1.0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        normal = keras.initializers.RandomNormal(stddev=spread)
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=normal, name="embedding"
        )
        shapes = ((None, 1, embedding), None)
        self.dropouts = [Dropout(dropout, noise_shape=shape) for shape in shapes]
        self.output_layer = keras.layers.Dense(classes, name="output")

    def build(self, tokens_shape) -> None:  # noqa: D102
        self.embedding.build(tokens_shape)
        width = self._build_features((*tokens_shape, self.embedding.output_dim))
        self.output_layer.build((tokens_shape[0], width))

    def call(self, tokens, training=None):
        """Return logits (B, C) in float32."""
        features, _ = self._read_texts(tokens, training)
        return ops.cast(self.output_layer(self.dropouts[1](features, training=training)), "float32")

    def attention_weights(self, tokens):
        """Return attention weights (B, H, T, S) on the tokens; None without attention."""
        output = self._read_texts(tokens, training=False)[1]
        return None if output is None else output.weights

    def _read_texts(self, tokens, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        real = ops.not_equal(tokens, PAD)
        vectors = self.dropouts[0](self.embedding(tokens), training=training)
        return self._features(vectors, real, training)


class EmbeddingsClassifier(Classifier):
    """A linear output on the mean of a text's embeddings, which ignores the order of words.

    Source: Joulin et al. 2017 (arXiv 1607.01759), fastText's classifier. Difference: no word pairs.
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(spread=_SPREAD, **kwargs)

    def _build_features(self, vectors_shape: tuple) -> int:
        return vectors_shape[-1]

    def _features(self, vectors, real, training) -> tuple:
        weights = ops.cast(real, vectors.dtype)[..., None]
        total = ops.sum(vectors * weights, axis=1)
        return total / ops.maximum(ops.sum(weights, axis=1), 1.0), None


class RecurrentClassifier(AttentionReadout, Classifier):
    """A recurrent encoder whose state at the end of a text attends to all its states.

    Source: Yang et al. 2016 ("Hierarchical Attention Networks for Document Classification", NAACL),
    section 2.2, for words. Difference: any mechanism can attend, with the last state as its query;
    theirs has no query, like `pooling`. `spread=auto` is 1, or 0.1 with a vocabulary of 1,000 words
    or more: combinations of few words are learned faster if their vectors differ much, the meaning
    of many single words if they start similar.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 64,
        layers: int = 1,
        bidirectional: bool = False,
        readout: str = "concat",
        dropout: float = 0.0,
        spread: float | str = "auto",
        **kwargs,
    ) -> None:
        if spread == "auto":
            spread = 0.1 if kwargs["vocabulary"] >= _MANY_WORDS else 1.0
        super().__init__(dropout=dropout, spread=float(spread), **kwargs)
        self.encoder = RecurrentEncoder(
            cell=cell,
            units=units,
            layers=layers,
            bidirectional=bidirectional,
            dropout=dropout,
            drops_last=False,  # the last layer's dropout is after the attention
            name="encoder",
        )
        self.init_readout(attention, readout, self.encoder.width)

    @property
    def faster_with_xla(self) -> bool:
        """Whether XLA trains it faster than the graph on this CPU."""
        return is_faster_with_xla(self.encoder.units, XlaLimit.RECURRENT_ENCODER)

    def _build_features(self, vectors_shape: tuple) -> int:
        self.encoder.build(vectors_shape)
        return self.build_readout((*vectors_shape[:2], self.encoder.width))

    def _features(self, vectors, real, training) -> tuple:
        encoded = self.encoder.encode(vectors, real, training)
        state = encoded.summary
        if self.reads == "state":
            return state, None
        # States after the end of a text are finite but meaningless; the mask excludes them.
        output = self.attention(
            state[:, None],
            self.attention.project(encoded.states),
            memory_mask=real,
            training=training,
        )
        return self.read(output.context[:, 0], state), output


class TransformerClassifier(EncoderStack, Classifier):
    """A Transformer encoder over a text, whose output reads a class token.

    The class token is a learned vector before the text (Devlin et al. 2019, arXiv 1810.04805,
    section 3), which attends to the whole text. `attend` returns its weights on the words in the
    last layer, without the weight on itself. Embeddings are as wide as the layers and multiplied by
    the square root of the width (Vaswani et al. 2017, section 3.4).
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        units: int = 64,
        feed_forward: int = 128,
        dropout: float = 0.0,
        norm: str = "pre",
        positions: str = "sinusoidal",
        **kwargs,
    ) -> None:
        super().__init__(embedding=units, dropout=dropout, spread=units**-0.5, **kwargs)
        self.units = units
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout}
        self.stack(attention, positions=positions, norm=norm, **layer)

    @property
    def fixed_length(self) -> int | None:
        """The length to which learned positions or the attention's weights are tied."""
        if self.positions == "learned":
            return self.position.max_length - 1
        length = self.encoder[0].attention.fixed_length
        return None if length is None else length - 1

    def _build_features(self, vectors_shape: tuple) -> int:
        batch, steps, width = vectors_shape
        self.class_token = self.add_weight(
            name="class_token",
            shape=(1, 1, width),
            initializer=keras.initializers.RandomNormal(0.0, 0.02),
        )
        self.build_stack((batch, 1 + steps, width))
        return self.units

    def _features(self, vectors, real, training) -> tuple:
        vectors = vectors * ops.cast(self.units**0.5, vectors.dtype)
        first = ops.cast(self.class_token, vectors.dtype)
        first = ops.broadcast_to(first, (ops.shape(vectors)[0], 1, self.units))
        vectors = self.position(ops.concatenate([first, vectors], axis=1))
        real = ops.concatenate([ops.ones_like(real[:, :1]), real], axis=1)
        vectors, output = self.through_stack(vectors, real[:, None], training)
        weights = output.weights[:, :, :1, 1:]
        return self.normed(vectors)[:, 0], AttentionOutput(output.context, weights)


class PretrainedClassifier(FineTuned, InMemoryModel):
    """Maps texts (B, S) of tokens, padded at the end, to logits of classes (B, C).

    The output layer reads the encoder's vector of START, which is before a text. `dropout` is that
    of its input. Source: Devlin et al. 2019 (arXiv 1810.04805), section 4.1. Difference: any
    encoder.
    """

    def __init__(self, *, classes: int, dropout: float = 0.1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.encoder = self.source.make()
        self.dropout = Dropout(dropout)
        self.output_layer = keras.layers.Dense(classes, name="output")

    @property
    def embedding(self) -> keras.layers.Embedding | None:
        """The layer of the tokens' vectors; None if the encoder is a preset."""
        return self.encoder.embedding

    def build(self, tokens_shape) -> None:  # noqa: D102
        batch, steps = tokens_shape
        self.build_encoder((batch, steps + 2))
        self.output_layer.build((batch, self.encoder.width))

    def call(self, tokens, training=None):
        """Return logits (B, C) in float32."""
        encoded = self.encoder(with_start_and_end(tokens), training=training and not self.frozen)
        features = self.dropout(encoded.vectors[:, 0], training=training)
        return ops.cast(self.output_layer(features), "float32")

    def attention_weights(self, tokens):
        """Return the last layer's weights of START on the words, (B, H, 1, S).

        Rows sum to less than 1; the rest is on START and END.
        """
        weights = self.encoder(with_start_and_end(tokens), training=False).weights
        real = ops.cast(ops.not_equal(tokens, PAD), weights.dtype)
        return weights[:, :, :1, 1:-1] * real[:, None, None]
