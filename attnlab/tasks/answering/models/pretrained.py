"""A reader on a pretrained encoder."""

from __future__ import annotations

from keras import ops

from attnlab.attention.dropout import Dropout
from attnlab.encoders.framing import closed_up
from attnlab.encoders.tuning import FineTuned
from attnlab.tasks.answering.models.reader import Reader


class PretrainedReader(FineTuned, Reader):
    """A pretrained encoder of START, question, END, text, END, with an output layer.

    The text directly follows the question, without padding between them, like the pairs of texts in
    pretraining. `attend` gives the last layer's weights of the text on the question.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 4.2. Difference: any encoder.

    Args:
        dropout: dropout rate of the output layer's input.
        **kwargs: those of `FineTuned` and `Reader`.
    """

    def __init__(self, *, dropout: float = 0.1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.encoder = self.source.make()
        self.add_output(Dropout(dropout))

    def text_vectors(self, tokens):
        """Return the last layer's vectors of the text, (B, P, W)."""
        return self._encode(tokens, False)[0][:, 1 + self.question_places :]

    def _build_read(self, tokens_shape: tuple) -> int:
        self.build_encoder((tokens_shape[0], tokens_shape[1] + 1))
        return self.encoder.width

    def _read(self, tokens, training) -> tuple:
        vectors, weights, places = self._encode(tokens, training)
        first = 1 + self.question_places
        of_text = ops.take_along_axis(weights, places[:, None, first:, None], axis=2)
        on_question = ops.take_along_axis(of_text, places[:, None, None, 1:first], axis=3)
        real = ops.cast(self.question(self._real(tokens)), weights.dtype)
        return self.without_question(vectors), on_question * real[:, None, None]

    def _encode(self, tokens, training) -> tuple:
        """Return vectors (B, 1 + Q + P, W), weights of rows without padding, places in them."""
        rows, places = closed_up(tokens)
        found = self.encoder(rows, training=training and not self.frozen)
        vectors = ops.take_along_axis(found.vectors, places[..., None], axis=1)
        return vectors, found.weights, places
