"""Readers: models that map a question and a text to logits of an answer's start and end."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.encoders.tuning import FineTuned, without_gap
from attnlab.errors import RequestError
from attnlab.layers.recurrent import RecurrentEncoder
from attnlab.layers.transformer import EncoderStack
from attnlab.text.tokenizers import PAD
from attnlab.training.compilation import XlaLimit, is_faster_with_xla
from attnlab.training.step import InMemoryModel

_NEVER = -1e9  # the logit of padding


class Reader(InMemoryModel):
    """Maps rows of a question and a text (B, 1 + Q + P) to logits of starts and ends (B, 2, 1 + P).

    Place 0 of the logits is START, which means "no answer here"; the others are the places of the
    text. The start logit of a place with the vector v is w_s' v + b_s, the end logit w_e' v + b_e
    (Devlin et al. 2019, arXiv 1810.04805, section 4.2, with biases). `question_places` is Q,
    `text_places` P; the module `data` describes the rows. A subclass defines

    - `_build_features(tokens_shape)`, which creates the weights before the output layer and returns
      the width of its input,
    - `_features(tokens, training)`, which returns that input, (B, 1 + P, W) for START and the text,
      and the weights of the text on the question, (B, H, P, Q), or None.
    """

    def __init__(self, *, question_places: int, text_places: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.question_places, self.text_places = question_places, text_places

    def add_output(self, *dropouts: Dropout) -> None:
        """Create the output layer, whose input gets the last dropout; called by constructors."""
        self.dropouts = [*dropouts]
        self.output_layer = keras.layers.Dense(2, name="output")

    def build(self, tokens_shape) -> None:  # noqa: D102
        width = self._build_features(tokens_shape)
        self.output_layer.build((tokens_shape[0], 1 + self.text_places, width))

    def call(self, tokens, training=None):
        """Return logits (B, 2, 1 + P) in float32."""
        vectors, _ = self._features(tokens, training)
        logits = self.output_layer(self.dropouts[-1](vectors, training=training))
        logits = ops.cast(ops.swapaxes(logits, 1, 2), "float32")
        mask = self.without_question(ops.not_equal(tokens, PAD))
        return ops.where(mask[:, None], logits, _NEVER)

    def attention_weights(self, tokens):
        """Return attention weights (B, H, P, Q) of the text on the question, or None."""
        return self._features(tokens, training=False)[1]

    def question(self, sequence):
        """Return the question's places (B, Q, ...) of (B, 1 + Q + P, ...)."""
        return sequence[:, 1 : 1 + self.question_places]

    def without_question(self, sequence):
        """Return START and the text, (B, 1 + P, ...), of (B, 1 + Q + P, ...)."""
        return ops.concatenate([sequence[:, :1], sequence[:, 1 + self.question_places :]], axis=1)


class EmbeddingReader(Reader):
    """A reader with embeddings of its own, drawn with the standard deviation `spread`.

    `dropout` applies to the output layer's input and to the embeddings; at all tokens of a row the
    same components are dropped (Gal and Ghahramani 2016, arXiv 1512.05287).
    """

    def __init__(
        self, *, vocabulary: int, embedding: int, dropout: float, spread: float = 1.0, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        normal = keras.initializers.RandomNormal(stddev=spread)
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=normal, name="embedding"
        )
        shapes = ((None, 1, embedding), None)
        self.add_output(*(Dropout(dropout, noise_shape=shape) for shape in shapes))

    def embed(self, tokens, training):
        """Return the vectors of rows (B, 1 + Q + P, E), and their mask, False for padding."""
        vectors = self.dropouts[0](self.embedding(tokens), training=training)
        return vectors, ops.not_equal(tokens, PAD)


class RecurrentReader(EmbeddingReader):
    """A recurrent encoder of question and text; each state of the text attends to the question.

    The states q_j of the question are the memory. Each state h_i of the text is a query with the
    context c_i. q is the question's last state. The output layer reads m_i = [h_i; h_i * q; c_i;
    h_i * c_i] by a second recurrent encoder. With the attention `none`, m_i = [h_i; h_i * q]: the
    text knows the question only as one vector.

    Source: Seo et al. 2017 (arXiv 1611.01603), sections 2.2 to 2.6: encoder, attention from text to
    question, modeling layer, output. Differences: any mechanism; h_i * q instead of attention from
    question to text; no characters; starts and ends are computed in the same way.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 64,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        super().__init__(dropout=dropout, **kwargs)
        form = {"cell": cell, "units": units, "bidirectional": bidirectional}
        self.encoder = RecurrentEncoder(
            layers=layers, dropout=dropout, drops_last=False, name="encoder", **form
        )
        self.attention = attention
        self.modeling = RecurrentEncoder(name="modeling", **form)

    @property
    def faster_with_xla(self) -> bool:
        """Whether XLA trains it faster than the graph on this CPU."""
        return is_faster_with_xla(self.encoder.units, XlaLimit.RECURRENT_ENCODER)

    def _build_features(self, tokens_shape: tuple) -> int:
        self.embedding.build(tokens_shape)
        batch, steps, width = tokens_shape[0], 1 + self.text_places, self.encoder.width
        self.encoder.build((batch, steps, self.embedding.output_dim))
        if self.attention.has_context:
            self.attention.build((batch, steps, width), (batch, self.question_places, width))
            context = self.attention.context_width(width, width)
            if context != width:
                raise RequestError(
                    f"attention: expected a context as wide as the states, {width}, got {context}."
                )
        features = width * (4 if self.attention.has_context else 2)
        self.modeling.build((batch, steps, features))
        return self.modeling.width

    def _features(self, tokens, training) -> tuple:
        vectors, mask = self.embed(tokens, training)
        text_mask, question_mask = self.without_question(mask), self.question(mask)
        question = self.encoder.encode(self.question(vectors), question_mask, training)
        states = self.encoder.encode(self.without_question(vectors), text_mask, training).states
        features, weights = [states, states * question.summary[:, None]], None
        if self.attention.has_context:
            memory = self.attention.project(question.states)
            context, weights = self.attention(
                states, memory, memory_mask=question_mask, training=training
            )
            features += [context, states * context]
            weights = weights[:, :, 1:]  # without those of START
        features = ops.concatenate(features, axis=-1)
        return self.modeling.encode(features, text_mask, training).states, weights


class TransformerReader(EncoderStack, EmbeddingReader):
    """A Transformer encoder of START, question, END and text, with an embedding of each segment.

    Source: Devlin et al. 2019 (arXiv 1810.04805), figure 1 and section 4.2; START is their [CLS],
    END their [SEP]. Differences: any mechanism can be the self-attention; the text starts at the
    same place for questions of any length, and no [SEP] follows it; positions are sinusoidal by
    default. Embeddings are as wide as the layers and multiplied by the square root of the width
    (Vaswani et al. 2017, section 3.4). `attend` returns the last layer's weights of the text on the
    question. They sum to less than 1; the remaining weight is on START and the text itself.
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

    def _build_features(self, tokens_shape: tuple) -> int:
        self.embedding.build(tokens_shape)
        self.segments = self.add_weight(
            name="segments",
            shape=(2, self.units),
            initializer=keras.initializers.RandomNormal(stddev=self.units**-0.5),
        )
        self.build_stack((*tokens_shape, self.units))
        return self.units

    def _features(self, tokens, training) -> tuple:
        vectors, mask = self.embed(tokens, training)
        first = 1 + self.question_places
        segments = [
            ops.broadcast_to(self.segments[number], (size, self.units))
            for number, size in enumerate((first, self.text_places))
        ]
        vectors = vectors + ops.cast(ops.concatenate(segments), vectors.dtype)
        vectors = self.position(vectors * ops.cast(self.units**0.5, vectors.dtype))
        vectors, output = self.through_stack(vectors, mask[:, None], training)
        return self.without_question(self.normed(vectors)), output.weights[:, :, first:, 1:first]


class PretrainedReader(FineTuned, Reader):
    """A pretrained encoder of START, question, END, text, END, with an output layer.

    The text directly follows the question, without padding between them, like the pairs of texts in
    pretraining. `attend` gives the last layer's weights of the text on the question.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 4.2. Difference: any encoder. `dropout`
    is that of the output layer's input.
    """

    def __init__(self, *, dropout: float = 0.1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.encoder = self.source.make()
        self.add_output(Dropout(dropout))

    def _build_features(self, tokens_shape: tuple) -> int:
        self.build_encoder((tokens_shape[0], tokens_shape[1] + 1))
        return self.encoder.width

    def _features(self, tokens, training) -> tuple:
        rows, places = without_gap(tokens)
        encoded = self.encoder(rows, training=training and not self.frozen)
        vectors = ops.take_along_axis(encoded.vectors, places[..., None], axis=1)
        first = 1 + self.question_places
        of_text = ops.take_along_axis(encoded.weights, places[:, None, first:, None], axis=2)
        on_question = ops.take_along_axis(of_text, places[:, None, None, 1:first], axis=3)
        mask = ops.cast(self.question(ops.not_equal(tokens, PAD)), encoded.weights.dtype)
        return self.without_question(vectors), on_question * mask[:, None, None]
