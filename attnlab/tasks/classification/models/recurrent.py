"""A recurrent classifier whose last state attends to all states."""

from __future__ import annotations

from attnlab.attention.base import Attention
from attnlab.layers.recurrent import AttentionReadout, RecurrentEncoder
from attnlab.tasks.classification.models.classifier import Classifier
from attnlab.training.steps import Border, is_faster_with_xla

_MANY_WORDS = 1000


class RecurrentClassifier(AttentionReadout, Classifier):
    """A recurrent encoder whose state at the end of a text attends to all its states.

    Source: Yang et al. 2016 ("Hierarchical Attention Networks for Document Classification", NAACL),
    section 2.2, for words. Difference: any mechanism can attend, with the last state as its query;
    theirs has no query, like `pooling`. The settings are those of `AttentionReadout`,
    `RecurrentEncoder` and `Classifier`. `spread` may be `auto`: 1, or 0.1 with a vocabulary of
    1,000 words or more. Combinations of few words are learned faster if their vectors differ much,
    the meaning of many single words if they start similar.
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
        self.look_by(attention, readout, self.encoder.width)

    @property
    def faster_with_xla(self) -> bool:
        """Whether XLA trains it faster than the graph on this CPU."""
        small = is_faster_with_xla(self.encoder.units, Border.RECURRENT_ENCODER)
        return self.encoder.has_own_loop and small

    def _build_features(self, vectors_shape: tuple) -> int:
        self.encoder.build(vectors_shape)
        return self.build_look((*vectors_shape[:2], self.encoder.width))

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
