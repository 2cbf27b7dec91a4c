"""A recurrent decoder with attention before or after its step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.layers.recurrent_cells import StackedCells, through_time


@dataclass(frozen=True)
class RecurrentSettings:
    """The settings of conf/model/settings/translation_rnn.yaml."""

    cell: str = "gru"
    units: int = 128
    encoder_units: int | None = None
    embedding: int = 128
    layers: int = 1
    bidirectional: bool = True
    dropout: float = 0.2
    placement: str = "auto"
    input_feeding: bool = False
    output: str = "attentional"
    maxout_units: int = 128
    initial_state: str = "project"
    reverse_source: bool = False
    reset_after: bool = True
    tie_embeddings: str = "none"

    def of_cells(self) -> dict[str, Any]:
        """Return the settings of the recurrent cells."""
        names = ("cell", "units", "layers", "dropout", "reset_after")
        return {name: getattr(self, name) for name in names}


class SourceMemory(NamedTuple):
    """An encoded source."""

    mask: Any  # (B, S) bool, True where the source has a token
    projected: ProjectedMemory | tuple  # the mechanism's keys and values; () without attention
    start: tuple  # the cells' first states, (B, units) each


class DecoderState(NamedTuple):
    """The state of a decoder between two steps."""

    cells: tuple  # for each layer its state, of an LSTM two: (B, units) each
    fed: Any  # (B, units) the attentional state of the previous step; () without input feeding


class RecurrentDecoder(keras.layers.Layer):
    """`layers` cells and one mechanism.

    - Before the step (Bahdanau et al. 2015, appendix A.2.2): the top state s_{i-1} is the query,
      and the context c_i enters the first cell, `s_i = f([E y_{i-1}; c_i], s_{i-1})`.
    - After the step (Luong et al. 2015, section 3): s_t is the query. With input feeding the cells
      read `[E y_{t-1}; h~_{t-1}]`.

    The output projection reads:

    - `attentional`: `h~_t = tanh(W_c [c_t; s_t])` (Luong et al. 2015, Eq. 5);
    - `maxout`: the maximum of each two numbers of `U_o s_i + V_o E y_{i-1} + C_o c_i` (Bahdanau et
      al. 2015, appendix A.2.2; it prints s_{i-1}, but section 3.1 says s_i, which is used here).

    Without attention these have no context.

    Differences: the query is the state of the last layer, for any number of layers. The settings
    must not contain `auto`.
    """

    def __init__(self, attention: Attention | None, settings: RecurrentSettings, **kwargs) -> None:
        super().__init__(**kwargs)
        self.attention, self.units = attention, settings.units
        self.before = attention is not None and settings.placement == "before_step"
        self.input_feeding, self.reads = settings.input_feeding, settings.output
        self.width = settings.maxout_units if self.reads == "maxout" else self.units
        self.cells = StackedCells(**settings.of_cells(), name="cells")
        if self.reads == "attentional":
            self.combine = keras.layers.Dense(
                self.units, activation="tanh", use_bias=False, name="attentional_state"
            )
        else:
            self.combine = keras.layers.Dense(2 * self.width, use_bias=False, name="maxout")

    @property
    def looks_stepwise(self) -> bool:
        """Whether a step depends on the context of the previous step."""
        return self.before or self.input_feeding

    def build(self, embedding_width: int, memory_shape: tuple) -> None:
        """Create all weights, for embeddings of a width and a memory (B, S, M)."""
        self.context = 0
        if self.attention is not None:
            self.attention.build((None, 1, self.units), memory_shape)
            self.context = self.attention.context_width(self.units, memory_shape[-1])
        entering = self.context if self.before else self.units * self.input_feeding
        self.cells.build((None, embedding_width), entering)
        width = self.units + self.context
        width += embedding_width if self.reads == "maxout" else 0
        self.combine.build((None, None, width))

    def initial_state(self, memory: SourceMemory) -> DecoderState:
        """Return the state before the first step."""
        fed = ()
        if self.input_feeding:
            fed = ops.zeros((ops.shape(memory.mask)[0], self.units), self.compute_dtype)
        return DecoderState(memory.start, fed)

    def decode(self, embedded, memory: SourceMemory, training=None) -> tuple:
        """Decode whole targets, embedded as (B, T, E).

        Returns states (B, T, D), which the output projection reads, and weights (B, H, T, S), None
        without attention.
        """
        first = self.initial_state(memory)
        if not self.looks_stepwise and self.cells.has_own_loop:
            tops = self.cells.through(embedded, first.cells, training)
            context, weights = self._look(tops, memory, 0, training)
            return self._read(tops, context, embedded), weights
        entering = (self.cells.project(embedded), self.cells.drops(embedded, training))

        def step(index, state, entering):
            state, look = self._advance(index, state, entering, memory, training)
            top = state.cells[-1][0]
            if self.before:
                return state, (top, look.context)
            return state, (top, state.fed) if self.input_feeding else (top,)

        widths = [self.units]
        if self.looks_stepwise:
            widths.append(self.context if self.before else self.units)
        tops, *looked = through_time(step, first, entering, widths, self.compute_dtype)
        queries = tops
        if self.before:
            queries = ops.concatenate([first.cells[-1][0][:, None], tops[:, :-1]], axis=1)
        # The loop returns no weights, so if it attended, all queries attend again. A program that
        # doesn't use the weights drops this computation.
        context, weights = self._look(queries, memory, 0, False if looked else training)
        if self.input_feeding:
            return looked[0], weights
        return self._read(tops, looked[0] if looked else context, embedded), weights

    def step(self, embedded, index, memory: SourceMemory, state: DecoderState):
        """Run one step, embedded as (B, E); return states and weights of T = 1, next state."""
        entering = (self.cells.project(embedded), ())
        state, look = self._advance(index, state, entering, memory, False)
        top = state.cells[-1][0]
        if self.input_feeding:
            return state.fed[:, None], look.weights, state
        if look is None:
            context, weights = self._look(top[:, None], memory, index, False)
        else:
            context, weights = look.context[:, None], look.weights
        return self._read(top[:, None], context, embedded[:, None]), weights, state

    def _advance(self, index, state, entering, memory, training):
        """Run one step, with attention before it, or after it if the next step needs the result.

        Returns the next state, and context (B, C) with weights; None if attention comes later.
        """
        (projected, drops), look = entering, None
        if self.before:
            look = self._look_of(state.cells[-1][0], memory, index, training)
            projected = projected + self.cells.project_entering(look.context)
        elif self.input_feeding:
            projected = projected + self.cells.project_entering(state.fed)
        cells, fed = self.cells.advance(state.cells, projected, drops), ()
        if self.input_feeding:
            look = self._look_of(cells[-1][0], memory, index, training)
            fed = self._read(cells[-1][0], look.context, None)
        return DecoderState(cells, fed), look

    def _look_of(self, query, memory, index, training) -> AttentionOutput:
        read = self._look(query[:, None], memory, index, training)
        return AttentionOutput(read.context[:, 0], read.weights)

    def _look(self, queries, memory, start_index, training) -> AttentionOutput:
        """Attend to the source with queries (B, T, units) of steps from `start_index`."""
        if self.attention is None:
            return AttentionOutput(None, None)
        return self.attention(
            queries,
            memory.projected,
            memory_mask=memory.mask,
            start_index=start_index,
            training=training,
        )

    def _read(self, tops, context, embedded):
        """Return what the output projection reads, (..., D)."""
        parts = [context, tops] if self.reads == "attentional" else [tops, embedded, context]
        read = self.combine(ops.concatenate([part for part in parts if part is not None], axis=-1))
        if self.reads == "attentional":
            return read
        pairs = ops.reshape(read, (*ops.shape(read)[:-1], self.width, 2))
        return ops.max(pairs, axis=-1)
