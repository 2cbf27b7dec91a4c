"""A recurrent reader, whose text attends to the question."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.layers.recurrent import RecurrentEncoder
from attnlab.tasks.answering.models.reader import EmbeddingReader
from attnlab.training.steps import Border, is_faster_with_xla


class RecurrentReader(EmbeddingReader):
    """A recurrent encoder of question and text; each state of the text attends to the question.

    The states q_j of the question are the memory. Each state h_i of the text is a query with the
    context c_i. q is the question's last state. The output layer reads m_i = [h_i; h_i * q; c_i;
    h_i * c_i]. With `modeling` it reads the states of a second recurrent encoder over the m_i, so
    that each place knows its neighbours' results. With the attention `none`, m_i = [h_i; h_i * q]:
    the text knows the question only as one vector.

    Source: Seo et al. 2017 (arXiv 1611.01603), sections 2.2 to 2.6: encoder, attention from text to
    question, modeling layer, output. Differences: any mechanism; h_i * q instead of attention from
    question to text; no characters; starts and ends are computed in the same way. If the context
    isn't as wide as the states, a matrix projects it to their width.

    The settings are those of `RecurrentEncoder` and `EmbeddingReader`.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 64,
        layers: int = 1,
        bidirectional: bool = True,
        modeling: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        super().__init__(dropout=dropout, **kwargs)
        form = {"cell": cell, "units": units, "bidirectional": bidirectional}
        between = {"dropout": dropout, "drops_last": False}
        self.encoder = RecurrentEncoder(layers=layers, name="encoder", **between, **form)
        self.attention = attention
        self.modeling = RecurrentEncoder(name="modeling", **form) if modeling else None
        self.fitted = None  # projects contexts to the width of the states

    @property
    def faster_with_xla(self) -> bool:
        """Whether XLA trains it faster than the graph on this CPU."""
        small = is_faster_with_xla(self.encoder.units, Border.RECURRENT_ENCODER)
        return self.encoder.has_own_loop and small

    @property
    def looks(self) -> bool:
        """Whether the mechanism attends; `none` doesn't."""
        return self.attention.has_context

    def text_vectors(self, tokens):
        """Return the encoder's states of the text, (B, P, W)."""
        vectors, real = (
            self.without_question(each)
            for each in (self._embedded(tokens, False), self._real(tokens))
        )
        return self.encoder.encode(vectors, real, False).states[:, 1:]

    def _build_reading(self, vectors_shape: tuple) -> int:
        batch, _, embedding = vectors_shape
        steps, width = 1 + self.text_places, self.encoder.width
        self.encoder.build((batch, steps, embedding))
        if self.looks:
            shapes = (batch, steps, width), (batch, self.question_places, width)
            self.attention.build(*shapes)
            context = self.attention.context_width(width, width)
            if context != width:
                self.fitted = keras.layers.Dense(width, use_bias=False, name="fitted")
                self.fitted.build((batch, steps, context))
        read = width * (4 if self.looks else 2)
        if self.modeling is None:
            return read
        self.modeling.build((batch, steps, read))
        return self.modeling.width

    def _reading(self, vectors, real, training) -> tuple:
        text_real, question_real = self.without_question(real), self.question(real)
        question = self.encoder.encode(self.question(vectors), question_real, training)
        states = self.encoder.encode(self.without_question(vectors), text_real, training).states
        read, output = [states, states * question.summary[:, None]], None
        if self.looks:
            output = self.attention(
                states,
                self.attention.project(question.states),
                memory_mask=question_real,
                training=training,
            )
            context = output.context if self.fitted is None else self.fitted(output.context)
            read += [context, states * context]
            output = AttentionOutput(output.context, output.weights[:, :, 1:])
        read = ops.concatenate(read, axis=-1)
        if self.modeling is not None:
            read = self.modeling.encode(read, text_real, training).states
        return read, output
