"""A classifier on a Transformer encoder."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.layers.transformer import EncoderStack
from attnlab.tasks.classification.models.classifier import Classifier, mean_of


class TransformerClassifier(EncoderStack, Classifier):
    """A Transformer encoder over a text; its output reads a class token or the mean of all words.

    The class token is a learned vector before the text (Devlin et al. 2019, arXiv 1810.04805,
    section 3), which attends to the whole text. `attend` returns its weights on the words in the
    last layer, without the weight on itself. With `pool="mean"` it returns the weights of all words
    on all words.

    Embeddings are as wide as the layers and multiplied by the square root of the width (Vaswani et
    al. 2017, section 3.4).

    `attention` has a mechanism per layer; the other settings are those of
    `TransformerEncoderLayer`, `PositionalEncoding` and `Classifier`.
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
        pool: str = "class_token",
        **kwargs,
    ) -> None:
        super().__init__(embedding=units, dropout=dropout, spread=units**-0.5, **kwargs)
        self.units, self.pool = units, pool
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout}
        self.stack(attention, positions=positions, norm=norm, **layer)

    @property
    def fixed_length(self) -> int | None:
        """The length to which learned positions or the attention's weights are tied."""
        own = int(self.pool == "class_token")
        if self.positions == "learned":
            return self.position.max_length - own
        length = self.encoder[0].attention.fixed_length
        return None if length is None else length - own

    def _build_features(self, vectors_shape: tuple) -> int:
        batch, steps, width = vectors_shape
        if self.pool == "class_token":
            steps += 1
            self.class_token = self.add_weight(
                name="class_token",
                shape=(1, 1, width),
                initializer=keras.initializers.RandomNormal(0.0, 0.02),
            )
        self.build_stack((batch, steps, width))
        return self.units

    def _features(self, vectors, real, training) -> tuple:
        vectors = vectors * ops.cast(self.units**0.5, vectors.dtype)
        if self.pool == "class_token":
            first = ops.cast(self.class_token, vectors.dtype)
            first = ops.broadcast_to(first, (ops.shape(vectors)[0], 1, self.units))
            vectors = ops.concatenate([first, vectors], axis=1)
            real = ops.concatenate([ops.ones_like(real[:, :1]), real], axis=1)
        vectors = self.position(vectors)
        vectors, output = self.through_stack(vectors, real[:, None], training)
        vectors = self.normed(vectors)
        if self.pool == "mean":
            return mean_of(vectors, real), output
        return vectors[:, 0], AttentionOutput(output.context, output.weights[:, :, :1, 1:])
