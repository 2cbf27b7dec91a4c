"""A recurrent language model whose states look at their own past by any attention mechanism."""

from __future__ import annotations

from typing import Any

from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.attention.state import StateAttention
from attnlab.errors import RequestError
from attnlab.layers.recurrent import AttentionReadout, recurred
from attnlab.layers.recurrent_cells import StackedCells
from attnlab.tasks.language.models.model import LanguageModel

_SPREAD = 0.1  # standard deviation of the embeddings


class RecurrentLanguageModel(AttentionReadout, LanguageModel):
    """Stacked recurrent cells; each state s_t attends to s_1 to s_t, and the logits read both.

    With the context c_t of the mechanism the vector at a place is `tanh(W [c_t; s_t])`, as in Luong
    et al. 2015 (arXiv 1508.04025), equation 5; with `attention=none` it is s_t.

    Source: Daniluk et al. 2017 (arXiv 1702.04521), section 3.1, attention over the model's own
    past. Differences: any mechanism; it sees all of the window, the current state included.

    Args:
        attention: the mechanism.
        vocabulary: number of tokens V.
        context: tokens of a window.
        cell: `simple`, `gru` or `lstm`.
        units: width of the embeddings and of the states.
        layers: number of stacked cells.
        tie_embeddings: see `LanguageModel`.
        dropout: share dropped of the embeddings, between the cells and before the output.
        **kwargs: `asked` of `LanguageModel`, and those of every Keras model.

    Raises:
        RequestError: the mechanism has no query.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        vocabulary: int,
        context: int,
        cell: str = "lstm",
        units: int = 128,
        layers: int = 1,
        tie_embeddings: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        if attention.has_context and not attention.has_queries:
            raise RequestError(
                "attention: expected a mechanism with a query, so that each place has weights of "
                f"its own, got {type(attention).__name__}."
            )
        sizes = {"vocabulary": vocabulary, "context": context, "width": units, "spread": _SPREAD}
        super().__init__(**sizes, tie_embeddings=tie_embeddings, dropout=dropout, **kwargs)
        stack = {"units": units, "layers": layers, "dropout": dropout}
        self.cells = StackedCells(cell=cell, name="cells", **stack)
        self.look_by(attention, "attentional_state", units)
        self.before_output = Dropout(dropout)

    def build_vectors(self, shape: tuple) -> None:
        """Create the weights of the cells, the mechanism and the readout."""
        self.cells.build(shape)
        self.build_look(shape)

    def vectors(self, tokens, training=None):
        """See `LanguageModel.vectors`."""
        embedded = self.dropout(self.embedding(tokens), training=training)
        states, _ = self._through(embedded, self._empty(ops.shape(tokens)[0]), training)
        vectors = self.read(self._look(states, training), states)
        return self.before_output(vectors, training=training)

    def attend(self, tokens):
        """Return the attention weights (B, H, T, T); None without attention."""
        if self.reads == "state":
            return None
        embedded = self.embedding(tokens)
        states, _ = self._through(embedded, self._empty(ops.shape(tokens)[0]), False)
        return self.attention(states, states, causal=True).weights

    @property
    def longest(self) -> int | None:
        """See `LanguageModel.longest`; None if the whole state has a constant size."""
        constant = self.reads == "state" or isinstance(self.attention, StateAttention)
        return None if constant else self.context

    def initial_state(self, batch, length: int | None) -> tuple[tuple, Any]:
        """Return the cells' states and an empty cache; see `LanguageModel.initial_state`."""
        cache = ()
        if self.reads != "state":
            cache = self.attention.empty_cache(batch, length, self.width)
        return self._empty(batch), cache

    def next_vectors(self, tokens, index, state) -> tuple[Any, tuple[tuple, Any]]:
        """See `LanguageModel.next_vectors`."""
        before, cache = state
        states, after = self._through(self.embedding(tokens), before, False)
        context = None
        if self.reads != "state":
            attended, cache = self.attention.attend_to_past(states, cache, start_index=index)
            context = attended.context
        return self.read(context, states), (after, cache)

    def _look(self, states, training):
        if self.reads == "state":
            return None
        return self.attention(states, states, causal=True, training=training).context

    def _empty(self, batch) -> tuple:
        """Return zeros for each cell's state, (B, units); an LSTM has two."""
        count = 2 if self.cells.kind == "lstm" else 1
        zeros = ops.zeros((batch, self.width), self.cells.compute_dtype)
        return tuple((zeros,) * count for _ in self.cells.cells)

    def _through(self, inputs, states: tuple, training) -> tuple[Any, tuple]:
        """Return the last cell's states (B, T, units), and each cell's state at the end."""
        drops, after = self.cells.drops(inputs, training), []
        for number, (cell, first) in enumerate(zip(self.cells.cells, states, strict=True)):
            if number and drops:
                inputs = inputs * drops[number - 1]
            outputs = recurred(self.cells.kind, cell, inputs, first)
            after.append(tuple(state[..., -1, :] for state in outputs))
            inputs = outputs[0]
        return inputs, tuple(after)
