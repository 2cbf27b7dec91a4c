"""A part of models that stand on an encoder: how much of it is trained, and how fast."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.encoders.source import Encoder, Source
from attnlab.training.keras_internals import shapes_are_all


class FineTuned:
    """A part of models that have an encoder which was trained before.

    - `start=trained` begins with its weights, `start=drawn` with others, as if it were new: what is
      gained by training before.
    - `frozen` leaves it as it is, without dropout, and trains what stands on it.
    - `layer_decay` d: a layer l of L learns at rate * d^(L + 1 - l), where the embeddings are layer
      0 and what stands on the encoder has the rate itself (Howard and Ruder 2018, arXiv 1801.06146,
      section 3.2; Clark et al. 2020, arXiv 2003.10555, appendix B). 1: at one rate.

    Args:
        source: where the encoder comes from.
        start: see above, as for the others.
        frozen: whether the encoder stays as it is.
        layer_decay: how much slower deeper layers learn.
        **kwargs: of the model.
    """

    encoder: Encoder  # which the model makes

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
    def depths(self) -> Mapping[str, int]:
        """The layer of each of the encoder's variables, by its path; see `Encoder`."""
        return self.encoder.depths

    def take_trained(self) -> None:
        """Take the trained weights of the encoder.

        Raises:
            RequestError: they can't be read.
        """
        self.source.fill(self.encoder)

    @property
    def rate_factors(self) -> list[float]:
        """By what the learning rate of each trained variable is multiplied."""
        depths = self.depths
        last = max(depths.values())
        powers = [last + 1 - depths.get(each.path, last + 1) for each in self.trainable_variables]
        return [self.layer_decay**power for power in powers]


def begin(model: object) -> None:
    """Give a model the trained weights of the encoder that it stands on, if it begins with them.

    One that is made for its shapes alone has no place for them.

    Raises:
        RequestError: they can't be read.
    """
    if isinstance(model, FineTuned) and model.start == "trained" and not shapes_are_all():
        model.take_trained()
