"""A Transformer encoder that reads a question and a text as one sequence."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.layers.transformer import EncoderStack
from attnlab.tasks.answering.models.reader import EmbeddingReader


class TransformerReader(EncoderStack, EmbeddingReader):
    """A Transformer encoder of START, question, END and text, with an embedding of each segment.

    Source: Devlin et al. 2019 (arXiv 1810.04805), figure 1 and section 4.2; START is their [CLS],
    END their [SEP]. Differences: any mechanism can be the self-attention; the text starts at the
    same place for questions of any length, and no [SEP] follows it; positions are sinusoidal by
    default. Embeddings are as wide as the layers and multiplied by the square root of the width
    (Vaswani et al. 2017, section 3.4). `attend` returns the last layer's weights of the text on the
    question. They sum to less than 1; the rest is on START and the text itself.

    `attention` has a mechanism for each layer; the other settings are those of
    `TransformerEncoderLayer`, `PositionalEncoding` and `EmbeddingReader`.
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

    def text_vectors(self, tokens):
        """Return the last layer's vectors of the text, (B, P, W)."""
        vectors, real = self._embedded(tokens, False), self._real(tokens)
        return self._encoded(vectors, real, False)[0][:, 1 + self.question_places :]

    def _build_reading(self, vectors_shape: tuple) -> int:
        self.segments = self.add_weight(
            name="segments",
            shape=(2, vectors_shape[-1]),
            initializer=keras.initializers.RandomNormal(stddev=self.units**-0.5),
        )
        self.build_stack(vectors_shape)
        return self.units

    def _reading(self, vectors, real, training) -> tuple:
        encoded, output = self._encoded(vectors, real, training)
        first = 1 + self.question_places
        weights = output.weights[:, :, first:, 1:first]
        return self.without_question(encoded), AttentionOutput(output.context, weights)

    def _encoded(self, vectors, real, training) -> tuple:
        """Return the last layer's vectors (B, 1 + Q + P, W), and its attention's output."""
        sizes = (1 + self.question_places, self.text_places)
        segments = [
            ops.broadcast_to(self.segments[number], (size, self.units))
            for number, size in enumerate(sizes)
        ]
        vectors = vectors + ops.cast(ops.concatenate(segments), vectors.dtype)
        vectors = self.position(vectors * ops.cast(self.units**0.5, vectors.dtype))
        vectors, output = self.through_stack(vectors, real[:, None], training)
        return self.normed(vectors), output
