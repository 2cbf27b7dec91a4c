"""Recurrent encoder and decoder, with any mechanism between them."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.none import NoAttention
from attnlab.errors import RequestError
from attnlab.layers.recurrent import RecurrentEncoder
from attnlab.tasks.translation.models.recurrent_decoder import (
    DecoderState,
    RecurrentDecoder,
    SourceMemory,
)
from attnlab.tasks.translation.models.translator import (
    PAD,
    DecoderOutput,
    StepOutput,
    Translator,
    memory_length,
)


class RecurrentTranslator(Translator):
    """An encoder reads the source, a decoder writes the target and looks back through attention.

    Source: Bahdanau, Cho, Bengio 2015 (arXiv 1409.0473) and Luong, Pham, Manning 2015 (arXiv
    1508.04025); see `RecurrentDecoder` for what each of them does where. Differences: any
    mechanism goes at either place; an LSTM's cell state starts like its output.

    Without attention the decoder knows the source by its first state alone (Sutskever et al. 2014,
    arXiv 1409.3215), which then comes from the last states of both directions.

    The settings are those of conf/model/settings/translation_rnn.yaml. `max_source` is the longest
    source, for mechanisms of fixed length; `max_target` is not needed here. Dropped in training is
    a share of the embeddings, of what passes between layers and to the memory, and of what the
    vocabulary's projection reads. `initial_state=project` takes tanh(W_s h) of each layer's last
    state, of the backward direction if there are two (Bahdanau et al., appendix A.2.2); `copy` that
    state itself (Luong et al.), for one direction as wide as the decoder. With `reverse_source` the
    encoder reads the words from last to first; the memory stands in the source's own order all the
    same. `auto` is the mechanism's own placement, and the output of that placement's paper.

    Raises:
        RequestError: settings that contradict each other.
    """

    def __init__(
        self,
        *,
        attention: Callable[[], Attention],
        max_source: int | None = None,
        max_target: int | None = None,
        cell: str = "gru",
        units: int = 128,
        encoder_units: int | None = None,
        embedding: int = 128,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.2,
        placement: str = "auto",
        input_feeding: bool = False,
        output: str = "attentional",
        maxout_units: int = 128,
        initial_state: str = "project",
        reverse_source: bool = False,
        reset_after: bool = True,
        tie_embeddings: str = "none",
        **kwargs,
    ) -> None:
        super().__init__(
            width=embedding,
            tie_embeddings=tie_embeddings,
            output_initializer=_output_initializer(),
            **kwargs,
        )
        mechanism: Attention | None = attention()
        placement = mechanism.placement if placement == "auto" else placement
        mechanism = None if isinstance(mechanism, NoAttention) else mechanism
        self.units, self.max_source = units, max_source
        self.starts, self.reverse_source = initial_state, reverse_source
        _check_feeding(input_feeding, placement, output, mechanism)
        self.encoder = RecurrentEncoder(
            cell=cell,
            units=encoder_units or _share(units, bidirectional),
            layers=layers,
            bidirectional=bidirectional,
            dropout=dropout,
            reset_after=reset_after,
            last_states=True,
            name="encoder",
        )
        if initial_state == "copy" and (bidirectional or self.encoder.units != units):
            raise RequestError(
                "model.initial_state=copy: expected an encoder of one direction, as wide as the "
                f"decoder (model.bidirectional=false, model.encoder_units=null), got "
                f"model.bidirectional={str(bidirectional).lower()} and {self.encoder.units} units."
            )
        self.decoder = RecurrentDecoder(
            attention=mechanism,
            before=placement == "before_step",
            cell=cell,
            units=units,
            layers=layers,
            dropout=dropout,
            input_feeding=input_feeding,
            output=_output(output, placement, mechanism),
            maxout_units=maxout_units,
            reset_after=reset_after,
            name="decoder",
        )
        self.initial = []
        if initial_state == "project":
            self.initial = [
                [
                    keras.layers.Dense(units, activation="tanh", use_bias=False, name=f"{kind}_{n}")
                    for kind in (("state", "carry") if cell == "lstm" else ("state",))
                ]
                for n in range(layers)
            ]
        self.dropouts = {
            place: keras.layers.Dropout(dropout) for place in ("source", "target", "readout")
        }

    def build(self, *_) -> None:
        """Create all weights."""
        self.build_vocabularies(self.decoder.width)
        self.encoder.build((None, None, self.width))
        attention = self.decoder.attention
        length = None if attention is None else memory_length(attention, self.max_source)
        self.decoder.build(self.width, (None, length, self.encoder.width))
        width = self.encoder.width if attention is None else self.encoder.units
        for layer in self.initial:
            for dense in layer:
                dense.build((None, width))

    @property
    def fixed_length(self) -> int | None:
        """The longest source that the mechanism's weights reach."""
        attention = self.decoder.attention
        return None if attention is None else attention.fixed_length

    def draws(self, steps):
        """T where attention drops weights inside the loop over the steps, else 1."""
        looking = self.decoder.before or self.decoder.input_feeding
        return steps if looking and self.decoder.attention.dropout else 1

    def encode(self, source, training=None) -> SourceMemory:
        """Make of sources (B, S) what the decoder looks at and starts from."""
        mask = ops.not_equal(source, PAD)
        words = _lengths(mask) - 1  # END stays behind the words, whichever way they are read
        if self.reverse_source:
            source = tf.reverse_sequence(source, words, seq_axis=1)
        vectors = self.dropouts["source"](self.source_embedding(source), training=training)
        states, last = self.encoder.encode(vectors, mask, training)
        projected = ()
        if self.decoder.attention is not None:
            if self.reverse_source:
                states = tf.reverse_sequence(states, words, seq_axis=1)
            projected = self.decoder.attention.project(states)
        return SourceMemory(mask, projected, self._start(last))

    def decode(self, target, memory: SourceMemory, training=None) -> DecoderOutput:
        """Read whole targets (B, T)."""
        embedded = self.dropouts["target"](self.target_embedding(target), training=training)
        states, weights = self.decoder.decode(embedded, memory, training)
        states = self.dropouts["readout"](states, training=training)
        return DecoderOutput(states, {} if weights is None else {"cross": (weights,)})

    def initial_state(self, memory: SourceMemory, length) -> DecoderState:
        """The cells' first states."""
        return self.decoder.initial_state(memory)

    def step(self, tokens, index, memory: SourceMemory, state: DecoderState) -> StepOutput:
        """Read one more token of each target."""
        embedded = self.target_embedding(tokens)
        (states, weights), state = self.decoder.step(embedded, index, memory, state)
        weights = None if weights is None else weights[:, :, 0]
        return StepOutput(self.logits(states[:, 0]), weights, state)

    def _start(self, last) -> tuple:
        """The decoder's first states from the encoder's last ones, layer by layer."""
        if not self.initial:
            return tuple(directions[0] for directions in last)
        # Without attention they are all that the decoder gets: none is left out.
        used = slice(None) if self.decoder.attention is None else slice(-1, None)
        return tuple(
            tuple(
                dense(ops.concatenate(parts, axis=-1))
                for dense, parts in zip(layer, zip(*directions[used], strict=True), strict=True)
            )
            for layer, directions in zip(self.initial, last, strict=True)
        )


def _output_initializer() -> keras.initializers.Initializer:
    """Uniform within +-sqrt(10 / D), for D = 1,000 the +-0.1 of Luong et al. (2015), section 4.1.

    Glorot's range shrinks with the vocabulary. Then logits of states within +-1 can only grow by
    driving them to these bounds, where `tanh` passes no gradient.
    """
    return keras.initializers.VarianceScaling(10 / 3, "fan_in", "uniform")


def _lengths(mask):
    """Tokens of each row of a padding mask, at least 1."""
    return ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=1), 1)


def _share(units: int, bidirectional: bool) -> int:
    """The width of each direction that makes all as wide as `units`."""
    if bidirectional and units % 2:
        raise RequestError(
            "model.units: expected an even number for an encoder of two directions that is as "
            f"wide as the decoder (or set model.encoder_units), got {units}."
        )
    return units // 2 if bidirectional else units


def _check_feeding(feeding: bool, placement: str, output: str, mechanism) -> None:
    """Refuse input feeding where there is nothing to feed."""
    reason = None
    if mechanism is None:
        reason = "attention=none has no attentional state to feed"
    elif placement == "before_step":
        reason = "with model.placement=before_step the context enters the step already"
    elif output == "maxout":
        reason = "it needs model.output=attentional, whose state is fed"
    if feeding and reason:
        raise RequestError(f"model.input_feeding: expected false ({reason}), got true.")


def _output(output: str, placement: str, mechanism) -> str:
    """What the vocabulary's projection reads; earlier versions left it open by `auto`."""
    if output != "auto":
        return output
    if mechanism is None:
        return "state"
    return "maxout" if placement == "before_step" else "attentional"
