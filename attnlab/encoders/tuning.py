"""Models on a pretrained encoder: the rows it reads, what is trained, and at which rates."""

from __future__ import annotations

from typing import Any

from keras import ops

from attnlab.encoders.opening import Source
from attnlab.internals import is_shapes_only
from attnlab.text.tokenizers import END, PAD, START


class FineTuned:
    """A mixin for models on a pretrained encoder.

    - `start=trained` starts from the pretrained weights, `start=drawn` from drawn ones, which shows
      what pretraining gains.
    - `frozen` doesn't train the encoder, turns off its dropout, and trains the layers after it.
    - `layer_decay` d: layer l of L learns at rate * d^(L + 1 - l), where the embeddings are layer
      0, and the layers after the encoder have the full rate (Howard and Ruder 2018, arXiv
      1801.06146, section 3.2; Clark et al. 2020, arXiv 2003.10555, appendix B). 1: equal rates.

    A model creates `encoder`, a layer of `source.make()`: it maps rows (B, S) to an `Encoding`, and
    has `width`, `embedding` (None if it can't be read), and `depths`: the number of the layer of
    each of its variables, by path, 0 for the embeddings.

    Args:
        source: the source of the encoder.
        start: `trained` or `drawn`, see above.
        frozen: whether the encoder isn't trained.
        layer_decay: the factor of the learning rate from a layer to the layer before it.
        **kwargs: those of the model.
    """

    encoder: Any

    def __init__(
        self,
        *,
        source: Source,
        start: str = "trained",
        frozen: bool = False,
        layer_decay: float = 1.0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.source, self.start = source, start
        self.frozen, self.layer_decay = frozen, layer_decay

    def build_encoder(self, tokens_shape: tuple) -> None:
        """Create the encoder's weights for rows of shape (B, S)."""
        self.encoder.build(tokens_shape)
        self.encoder.trainable = not self.frozen

    @property
    def rate_factors(self) -> list[float]:
        """The factor of the learning rate of each trainable variable."""
        depths, variables = self.encoder.depths, self.trainable_variables
        last = max(depths.values())
        powers = [last + 1 - depths.get(variable.path, last + 1) for variable in variables]
        return [self.layer_decay**power for power in powers]


def fill_encoder(model: object) -> None:
    """Assign the pretrained weights to the encoder of a model, if it has one with `start=trained`.

    Does nothing while only the shapes of models matter.

    Raises:
        RequestError: they can't be read.
    """
    if isinstance(model, FineTuned) and model.start == "trained" and not is_shapes_only():
        model.source.fill(model.encoder)


def with_start_and_end(tokens):
    """Put START before texts (B, S) and END after them: (B, 2 + S).

    PAD may only be at the end of a row.
    """
    ones = ops.ones_like(tokens[:, :1])
    rows = ops.concatenate([START * ones, tokens, PAD * ones], axis=1)
    ends = ops.sum(ops.cast(ops.not_equal(rows, PAD), "int32"), axis=1, keepdims=True)
    places = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(places == ends, ops.cast(END, rows.dtype), rows)


def without_gap(tokens):
    """Remove the PAD between the two texts of rows (B, S), and append END: (B, S + 1).

    Also returns the new position of each token, (B, S). PAD moves to the end of a row.
    """
    real = ops.cast(ops.not_equal(tokens, PAD), "int32")
    before = ops.cumsum(real, axis=1) - real
    count = ops.sum(real, axis=1, keepdims=True)
    padding = ops.cumsum(1 - real, axis=1) - (1 - real)
    places = ops.where(real == 1, before, count + padding)  # padding moves to the end, in order
    # `places` is a permutation, so `argsort` inverts it.
    rows = ops.take_along_axis(tokens, ops.argsort(places, axis=1), axis=1)
    rows = ops.concatenate([rows, PAD * ops.ones_like(rows[:, :1])], axis=1)
    at = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(at == count, ops.cast(END, rows.dtype), rows), places
