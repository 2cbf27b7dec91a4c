"""A recurrent classifier: one look back through an attention mechanism."""

from __future__ import annotations

from attnlab.attention.base import Attention
from attnlab.layers.recurrent import AttentionReadout, RecurrentEncoder
from attnlab.tasks.classification.models.classifier import Classifier
from attnlab.training.steps import Border, is_faster_with_xla

_MANY_WORDS = 1000


class RecurrentClassifier(AttentionReadout, Classifier):
    """A recurrent encoder whose state at the end of a text looks back over all states.

    Source: Yang et al. 2016 ("Hierarchical Attention Networks for Document Classification", NAACL),
    section 2.2, for words. Difference: any mechanism looks back, asked by the last state, while
    theirs has no query, as `pooling`. The settings are those of `AttentionReadout`,
    `RecurrentEncoder` and `Classifier`; its `spread` may be `auto`: 1, but 0.1 with a thousand
    words or more. What few words say together is found faster where they differ much, and what
    each of many says where they start alike.
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
            drops_last=False,  # which is dropped behind the look
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
        # States behind the end are finite, but without meaning: the mask leaves them out.
        output = self.attention(
            state[:, None],
            self.attention.project(encoded.states),
            memory_mask=real,
            training=training,
        )
        return self.read(output.context[:, 0], state), output
