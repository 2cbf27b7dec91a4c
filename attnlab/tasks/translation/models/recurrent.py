"""A recurrent encoder and decoder, with any attention mechanism between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.attention.dropout import Dropout
from attnlab.attention.none import NoAttention
from attnlab.errors import RequestError
from attnlab.layers.recurrent import RecurrentEncoder, StackedCells, through_time
from attnlab.tasks.translation.models.translator import DecoderOutput, Translator
from attnlab.text.tokenizers import PAD
from attnlab.training.compilation import XlaLimit, is_faster_with_xla


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
    tie_embeddings: str = "none"

    def of_cells(self, **changes: Any) -> dict[str, Any]:
        """Return the settings of the recurrent cells."""
        names = ("cell", "units", "layers", "dropout")
        return {name: getattr(self, name) for name in names} | changes


class SourceMemory(NamedTuple):
    """An encoded source."""

    mask: Any  # (B, S) bool, True where the source has a token
    projected: ProjectedMemory | tuple  # the mechanism's keys and values; () without attention
    start: tuple  # the cells' first states, (B, units) each


class DecoderState(NamedTuple):
    """What a decoder remembers between two steps."""

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

    Without attention these have no context. Difference: the query is the state of the last layer,
    for any number of layers.
    """

    def __init__(self, attention: Attention | None, settings: RecurrentSettings, **kwargs) -> None:
        super().__init__(**kwargs)
        self.attention, self.units = attention, settings.units
        self.before = attention is not None and settings.placement == "before_step"
        self.input_feeding, self.reads = settings.input_feeding, settings.output
        # whether a step depends on the context of the previous step
        self.looks_stepwise = self.before or self.input_feeding
        self.width = settings.maxout_units if self.reads == "maxout" else self.units
        self.cells = StackedCells(**settings.of_cells(), name="cells")
        if self.reads == "attentional":
            self.combine = keras.layers.Dense(
                self.units, activation="tanh", use_bias=False, name="attentional_state"
            )
        else:
            self.combine = keras.layers.Dense(2 * self.width, use_bias=False, name="maxout")

    def build(self, embedding_width: int, memory_shape: tuple) -> None:
        """Create all weights for a memory (B, S, M)."""
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
        """Decode whole targets, embedded as (B, T, E); return states (B, T, D) and weights."""
        first = self.initial_state(memory)
        if not self.looks_stepwise:
            tops, _ = self.cells.through(embedded, first.cells, training)
            context, weights = self._attend(tops, memory, 0, training)
            return self._readout(tops, context, embedded), weights
        entering = (self.cells.project(embedded), self.cells.drops(embedded, training))

        def step(index, state, entering):
            state, context = self._advance(index, state, entering, memory, training)
            top = state.cells[-1][0]
            if self.before:
                return state, (top, context)
            return state, (top, state.fed) if self.input_feeding else (top,)

        widths = [self.units]
        if self.looks_stepwise:
            widths.append(self.context if self.before else self.units)
        # Only the call below is recorded: it has the queries of all steps.
        recorder, self.attention.recorder = self.attention.recorder, None
        tops, *attended = through_time(step, first, entering, widths, self.compute_dtype)
        self.attention.recorder = recorder
        queries = tops
        if self.before:
            queries = ops.concatenate([first.cells[-1][0][:, None], tops[:, :-1]], axis=1)
        # The loop returns no weights, so if it attended, all queries attend again. A program that
        # doesn't use the weights drops this computation.
        context, weights = self._attend(queries, memory, 0, False if attended else training)
        if self.input_feeding:
            return attended[0], weights
        return self._readout(tops, attended[0] if attended else context, embedded), weights

    def step(self, embedded, index, memory: SourceMemory, state: DecoderState):
        """Run one step, embedded as (B, E); return states of T = 1, and the next state."""
        entering = (self.cells.project(embedded), ())
        state, context = self._advance(index, state, entering, memory, False)
        if self.input_feeding:
            return state.fed[:, None], state
        top = state.cells[-1][0][:, None]
        if context is None:
            context = self._attend(top, memory, index, False).context
        else:
            context = context[:, None]
        return self._readout(top, context, embedded[:, None]), state

    def _advance(self, index, state, entering, memory, training):
        """Return the next state, and the context (B, C); None if attention comes later."""
        (projected, drops), context = entering, None
        if self.before:
            context = self._context(state.cells[-1][0], memory, index, training)
            projected = projected + self.cells.project_entering(context)
        elif self.input_feeding:
            projected = projected + self.cells.project_entering(state.fed)
        cells, fed = self.cells.advance(state.cells, projected, drops), ()
        if self.input_feeding:
            context = self._context(cells[-1][0], memory, index, training)
            fed = self._readout(cells[-1][0], context, None)
        return DecoderState(cells, fed), context

    def _context(self, query, memory, index, training):
        return self._attend(query[:, None], memory, index, training).context[:, 0]

    def _attend(self, queries, memory, start_index, training) -> AttentionOutput:
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

    def _readout(self, tops, context, embedded):
        """Return what the output projection reads, (..., D)."""
        parts = [context, tops] if self.reads == "attentional" else [tops, embedded, context]
        readout = self.combine(
            ops.concatenate([part for part in parts if part is not None], axis=-1)
        )
        if self.reads == "attentional":
            return readout
        pairs = ops.reshape(readout, (*ops.shape(readout)[:-1], self.width, 2))
        return ops.max(pairs, axis=-1)


class RecurrentTranslator(Translator):
    """A recurrent encoder-decoder whose decoder attends to the encoder's states.

    Source: Bahdanau, Cho, Bengio 2015 (arXiv 1409.0473) and Luong, Pham, Manning 2015 (arXiv
    1508.04025); `RecurrentDecoder` says where each of them attends. Differences: any mechanism can
    have either placement; an LSTM's cell state is initialized like its output.

    `initial_state=project` computes tanh(W_s h) of each layer's last state, that of the backward
    direction if there are two (Bahdanau et al., appendix A.2.2); `copy` uses that state itself
    (Luong et al.). Without attention the decoder knows the source only through its first state
    (Sutskever et al. 2014, arXiv 1409.3215), which then comes from both directions. With
    `reverse_source` the encoder reads the words from last to first; the memory is still in the
    order of the source. Dropout is applied to the embeddings, between layers, to the memory, and to
    the input of the output projection.

    An output matrix that is not tied is drawn uniformly within +-sqrt(10 / D), which for D = 1,000
    is the +-0.1 of Luong et al. (2015), section 4.1. Glorot's range shrinks with the vocabulary:
    then logits can grow only if states approach +-1, where the gradient of `tanh` vanishes.
    """

    def __init__(
        self, attention: Callable[..., Attention], settings: RecurrentSettings, **kwargs
    ) -> None:
        super().__init__(
            width=settings.embedding,
            tie_embeddings=settings.tie_embeddings,
            output_initializer=keras.initializers.VarianceScaling(10 / 3, "fan_in", "uniform"),
            **kwargs,
        )
        mechanism = attention()
        settings = _resolve(settings, mechanism)
        self.reverse_source = settings.reverse_source
        self.encoder = RecurrentEncoder(
            **settings.of_cells(units=settings.encoder_units),
            bidirectional=settings.bidirectional,
            name="encoder",
        )
        mechanism = None if isinstance(mechanism, NoAttention) else mechanism
        self.faster_with_xla = is_faster_with_xla(settings.units, XlaLimit.RECURRENT_TRANSLATOR)
        self.decoder = RecurrentDecoder(mechanism, settings, name="decoder")
        # The projections to each layer's first state, and of an LSTM to its cell state.
        kinds = ("state", "carry") if settings.cell == "lstm" else ("state",)
        self.initial = [
            [
                keras.layers.Dense(settings.units, "tanh", use_bias=False, name=f"{kind}_{number}")
                for kind in kinds
            ]
            for number in range(settings.layers if settings.initial_state == "project" else 0)
        ]
        self.dropouts = {
            place: Dropout(settings.dropout) for place in ("source", "target", "readout")
        }

    def build(self, *_) -> None:
        """Create all weights."""
        self.build_vocabularies(self.decoder.width)
        self.encoder.build((None, None, self.width))
        attention, width = self.decoder.attention, self.encoder.width
        length = None if attention is None else self._memory_length(attention)
        self.decoder.build(self.width, (None, length, self.encoder.width))
        if attention is not None:
            width, self.fixed_length = self.encoder.units, attention.fixed_length
        for layer in self.initial:
            for dense in layer:
                dense.build((None, width))

    def draws(self, steps):
        """Return T if attention has dropout inside the loop over the steps; see `Translator`."""
        return steps if self.decoder.looks_stepwise and self.decoder.attention.dropout else 1

    def encode(self, source, training=None) -> SourceMemory:
        """Encode sources (B, S) into the decoder's memory and its first states."""
        mask = ops.not_equal(source, PAD)
        # END stays after the words, also if they are reversed.
        words = ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=1), 1) - 1
        if self.reverse_source:
            source = tf.reverse_sequence(source, words, seq_axis=1)
        vectors = self.dropouts["source"](self.source_embedding(source), training=training)
        states, last = self.encoder.encode(vectors, mask, training)
        projected = ()
        if self.decoder.attention is not None:
            if self.reverse_source:
                states = tf.reverse_sequence(states, words, seq_axis=1)
            projected = self.decoder.attention.project(states)
        start = tuple(directions[0] for directions in last)
        if self.initial:
            # Without attention they are the decoder's only source, so both directions are used.
            used = slice(None) if self.decoder.attention is None else slice(-1, None)
            start = tuple(
                tuple(
                    dense(ops.concatenate(parts, axis=-1))
                    for dense, parts in zip(layer, zip(*directions[used], strict=True), strict=True)
                )
                for layer, directions in zip(self.initial, last, strict=True)
            )
        return SourceMemory(mask, projected, start)

    def decode(self, target, memory: SourceMemory, training=None) -> DecoderOutput:
        """Decode whole targets (B, T)."""
        embedded = self.dropouts["target"](self.target_embedding(target), training=training)
        states, weights = self.decoder.decode(embedded, memory, training)
        states = self.dropouts["readout"](states, training=training)
        return DecoderOutput(states, () if weights is None else (weights,))

    def initial_state(self, memory: SourceMemory, length) -> DecoderState:
        """Return the cells' first states."""
        return self.decoder.initial_state(memory)

    def step(self, tokens, index, memory: SourceMemory, state: DecoderState) -> tuple:
        """Read one more token of each target."""
        states, state = self.decoder.step(self.target_embedding(tokens), index, memory, state)
        return self.logits(states[:, 0]), state


def _resolve(settings: RecurrentSettings, mechanism: Attention) -> RecurrentSettings:
    """Replace `auto` and null in the settings; refuse settings that contradict each other."""
    placement = mechanism.placement if settings.placement == "auto" else settings.placement
    has_state = not isinstance(mechanism, NoAttention) and settings.output == "attentional"
    if settings.input_feeding and not (has_state and placement == "after_step"):
        raise RequestError(
            "model.input_feeding: expected false without an attentional state to feed (attention, "
            "model.placement=after_step and model.output=attentional), got true."
        )
    # By default all directions together are as wide as the decoder.
    units, both = settings.units, settings.bidirectional
    if settings.encoder_units is None and both and units % 2:
        raise RequestError(
            "model.units: expected an even number, because the encoder has two directions (or set "
            f"model.encoder_units), got {units}."
        )
    width = settings.encoder_units or (units // 2 if both else units)
    if settings.initial_state == "copy" and (both or width != units):
        raise RequestError(
            "model.initial_state=copy: expected an encoder of one direction, as wide as the "
            "decoder (model.bidirectional=false, model.encoder_units=null), got "
            f"model.bidirectional={str(both).lower()} and {width} units."
        )
    return replace(settings, placement=placement, encoder_units=width)
