"""A decoder-only Transformer around any attention mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnlab.attention.base import Attention
from attnlab.attention.state import StateAttention
from attnlab.layers.transformer import EncoderStack
from attnlab.tasks.language.models.model import SPREAD, LanguageModel, redraw
from attnlab.training.steps import Border


class TransformerLanguageModel(EncoderStack, LanguageModel):
    """Causal pre-norm Transformer layers and a final norm between embeddings and logits.

    With `activation="gelu"`, `norm="layer"`, `biases=False` and `tie_embeddings=True` it is
    nanoGPT's model. Initial matrices are drawn from N(0, 0.02); those that add to the residual
    stream, of the attention (`output_kernel`) and of the feed-forward network (`contract`), from
    N(0, 0.02 / sqrt(2 layers)). Biases start at 0.

    Source: Radford et al. 2019 (GPT-2), section 2.3, and its code; github.com/karpathy/nanoGPT
    (3adf61e). Difference: any mechanism, position scheme, norm and activation.

    Args:
        attention: a mechanism for each layer.
        vocabulary: number of tokens V.
        context: tokens of a window, and positions of a learned table.
        units: width of the vectors.
        feed_forward: inner width of the feed-forward networks.
        positions: one of `positional_encoding.KINDS`.
        norm: `layer` or `rms`.
        activation: `gelu`, `swiglu` or another one of Keras.
        biases: whether norms and feed-forward networks have biases; the mechanism decides its own.
        tie_embeddings: see `LanguageModel`.
        dropout: share of the embeddings and of each sub-layer's output dropped in training.
        **kwargs: `asked` of `LanguageModel`, and those of every Keras model.
    """

    border = Border.TRANSFORMER_STACK

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        vocabulary: int,
        context: int,
        units: int,
        feed_forward: int,
        positions: str = "learned",
        norm: str = "layer",
        activation: str = "gelu",
        biases: bool = True,
        tie_embeddings: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        sizes = {"vocabulary": vocabulary, "context": context, "width": units}
        super().__init__(**sizes, tie_embeddings=tie_embeddings, dropout=dropout, **kwargs)
        layer = {"units": units, "feed_forward": feed_forward, "dropout": dropout, "causal": True}
        form = {"activation": activation, "normalization": norm, "biases": biases, "epsilon": 1e-5}
        self.stack(attention, positions=positions, **layer, **form)

    @property
    def fixed_length(self) -> int | None:
        """The only length that the mechanism's weights fit; None: any up to the positions'."""
        return self.encoder[0].attention.fixed_length

    @property
    def longest(self) -> int | None:
        """See `LanguageModel.longest`; any number with states of constant size and no table."""
        states = all(isinstance(layer.attention, StateAttention) for layer in self.encoder)
        return None if states and self.position.kind != "learned" else self.context

    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the layers, and draw GPT-2's initial values."""
        self.build_stack(shape, self.context)
        for layer in self.encoder:
            matrices = [weight for weight in layer.trainable_variables if len(weight.shape) == 2]
            kernels = [weight for weight in matrices if weight.name.endswith("kernel")]
            # These add to the residual stream.
            into = [k for k in kernels if k.name == "output_kernel" or "/contract/" in k.path]
            redraw(kernels, SPREAD)
            redraw(into, SPREAD / (2 * len(self.encoder)) ** 0.5)

    def vectors(self, tokens, training=None):
        """See `LanguageModel.vectors`."""
        return self.normed(self._through(tokens, training)[0])

    def attend(self, tokens):
        """Return the last layer's attention weights (B, H, T, T)."""
        return self._through(tokens, False)[1].weights

    def initial_state(self, batch, length: int | None) -> list[Any]:
        """Return an empty cache per layer; see `LanguageModel.initial_state`."""
        return self.empty_caches(batch, length)

    def next_vectors(self, tokens, index, state) -> tuple[Any, list[Any]]:
        """See `LanguageModel.next_vectors`."""
        vectors = self.position(self.embedding(tokens), start_index=index)
        vectors, state = self.next_through_stack(vectors, state, index)
        return self.normed(vectors), state

    def _through(self, tokens, training):
        vectors = self.dropout(self.position(self.embedding(tokens)), training=training)
        return self.through_stack(vectors, training=training)
