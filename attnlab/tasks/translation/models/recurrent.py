"""A recurrent encoder and decoder, with any attention mechanism between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.attention.none import NoAttention
from attnlab.errors import RequestError
from attnlab.layers.recurrent import RecurrentEncoder
from attnlab.tasks.translation.models.recurrent_decoder import (
    DecoderState,
    RecurrentDecoder,
    RecurrentSettings,
    SourceMemory,
)
from attnlab.tasks.translation.models.translator import DecoderOutput, StepOutput, Translator
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import Border, is_faster_with_xla


class RecurrentTranslator(Translator):
    """A recurrent encoder-decoder whose decoder attends to the encoder's states.

    Source: Bahdanau, Cho, Bengio 2015 (arXiv 1409.0473) and Luong, Pham, Manning 2015 (arXiv
    1508.04025); `RecurrentDecoder` says where each of them attends. Differences: any mechanism can
    have either placement; an LSTM's cell state is initialized like its output.

    Without attention the decoder knows the source only through its first state (Sutskever et al.
    2014, arXiv 1409.3215), which then comes from the last states of both directions.

    Dropout is applied to the embeddings, between layers, to the memory, and to the input of the
    output projection. `initial_state=project` computes tanh(W_s h) of each layer's last state, that
    of the backward direction if there are two (Bahdanau et al., appendix A.2.2); `copy` uses that
    state itself (Luong et al.), for an encoder of one direction as wide as the decoder. With
    `reverse_source` the encoder reads the words from last to first; the memory is still in the
    order of the source. `placement=auto` is the mechanism's own placement.

    An output matrix that is not tied is drawn uniformly within +-sqrt(10 / D), which for D = 1,000
    is the +-0.1 of Luong et al. (2015), section 4.1. Glorot's range shrinks with the vocabulary:
    then logits can grow only if states approach +-1, where the gradient of `tanh` vanishes.

    Raises:
        RequestError: settings that contradict each other.
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
        settings = _resolved(settings, mechanism)
        self.reverse_source = settings.reverse_source
        self.encoder = RecurrentEncoder(
            **{**settings.of_cells(), "units": settings.encoder_units},
            bidirectional=settings.bidirectional,
            name="encoder",
        )
        mechanism = None if isinstance(mechanism, NoAttention) else mechanism
        self.faster_with_xla = is_faster_with_xla(settings.units, Border.RECURRENT_TRANSLATOR)
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
        """Return T if attention has dropout inside the loop over the steps, else 1."""
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
        return DecoderOutput(states, {} if weights is None else {"cross": (weights,)})

    def initial_state(self, memory: SourceMemory, length) -> DecoderState:
        """Return the cells' first states."""
        return self.decoder.initial_state(memory)

    def step(self, tokens, index, memory: SourceMemory, state: DecoderState) -> StepOutput:
        """Read one more token of each target."""
        embedded = self.target_embedding(tokens)
        states, weights, state = self.decoder.step(embedded, index, memory, state)
        weights = None if weights is None else weights[:, :, 0]
        return StepOutput(self.logits(states[:, 0]), weights, state)


def _resolved(settings: RecurrentSettings, mechanism: Attention) -> RecurrentSettings:
    """Replace `auto` and null in the settings; refuse settings that contradict each other."""
    placement = mechanism.placement if settings.placement == "auto" else settings.placement
    refused = None
    if isinstance(mechanism, NoAttention):
        refused = "attention=none has no attentional state to feed"
    elif placement == "before_step":
        refused = "with model.placement=before_step the context already enters the step"
    elif settings.output == "maxout":
        refused = "it needs model.output=attentional, whose state is fed"
    if settings.input_feeding and refused:
        raise RequestError(f"model.input_feeding: expected false ({refused}), got true.")
    # By default all directions together are as wide as the decoder.
    units, both = settings.units, settings.bidirectional
    if settings.encoder_units is None and both and units % 2:
        raise RequestError(
            "model.units: expected an even number for an encoder of two directions that is as "
            f"wide as the decoder (or set model.encoder_units), got {units}."
        )
    width = settings.encoder_units or (units // 2 if both else units)
    if settings.initial_state == "copy" and (both or width != units):
        raise RequestError(
            "model.initial_state=copy: expected an encoder of one direction, as wide as the "
            "decoder (model.bidirectional=false, model.encoder_units=null), got "
            f"model.bidirectional={str(both).lower()} and {width} units."
        )
    return replace(settings, placement=placement, encoder_units=width)
