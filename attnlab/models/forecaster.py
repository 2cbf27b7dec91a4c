"""Forecasters: an encoder, one look back through an attention mechanism, a linear head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.errors import RequestError
from attnlab.models.positional_encoding import PositionalEncoding
from attnlab.models.recurrent import RecurrentEncoder
from attnlab.models.transformer import TransformerEncoderLayer

# Keeps a window of zeros finite; a twentieth of the range where data are scaled by min-max.
_LEAST_SCALE = 0.05


def build_forecaster(
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[[], Attention],
    *,
    history: int,
    horizon: int,
) -> Forecaster:
    """A forecaster with its weights.

    Args:
        name: `rnn` or `transformer`.
        settings: of conf/model/<name>.yaml.
        attention: makes one mechanism.
        history: S, the length of the windows it is built for.
        horizon: steps it forecasts.

    Raises:
        RequestError: another name, or a highway longer than the history.
    """
    arguments = dict(settings)
    if arguments.get("highway", 0) > history:
        raise RequestError(
            f"model.highway: expected at most task.history={history}, got {arguments['highway']}."
        )
    if name == "rnn":
        model: Forecaster = RecurrentForecaster(attention=attention(), horizon=horizon, **arguments)
    elif name == "transformer":
        layers = [attention() for _ in range(arguments.pop("layers"))]
        model = TransformerForecaster(attention=layers, horizon=horizon, **arguments)
    else:
        raise RequestError(f"model.name: expected rnn or transformer, got {name}.")
    model.build((None, history, 1))
    return model


class Forecaster(keras.Model):
    """What the forecasters share: (B, S, 1) history -> (B, horizon) forecast.

    With z the history in the window's own scale, `z = history / s`, the forecast is
    `s * (head(features(z)) + highway(newest of z) + newest value of z)`, where

    - s is 1, or with `normalization="mean"` the window's mean absolute value plus a constant,
      as in DeepAR (Salinas et al. 2020, section 3.3), so that what was learned at one level holds
      at another; difference: the constant is 0.05 model units and the loss stays unscaled;
    - highway is a linear autoregression on the newest values beside the network, as in LSTNet
      (Lai et al. 2018, section 3.5), so that the network learns what a linear model can't;
    - the newest value (`anchor`) makes zero weights mean persistence.

    Args:
        horizon: steps forecast at once.
        highway: how many of the newest values the linear part sees; 0 leaves it out.
        anchor: add the newest value to the forecast.
        normalization: `mean` or `none`, see above.
        output_activation: `linear`, or `tanh` as in the book, which can't pass its extremes.
        **kwargs: of every Keras model.
    """

    def __init__(
        self,
        *,
        horizon: int = 1,
        highway: int = 0,
        anchor: bool = False,
        normalization: str = "none",
        output_activation: str = "linear",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.horizon, self.highway, self.anchor = horizon, highway, anchor
        self.normalization = normalization
        self.output_activation = output_activation
        self.head = keras.layers.Dense(horizon, activation=output_activation, name="head")
        if highway:
            self.linear = keras.layers.Dense(
                horizon, use_bias=False, kernel_initializer="zeros", name="highway"
            )

    def build(self, history_shape) -> None:
        """Create the weights for histories of shape (B, S, 1)."""
        batch, steps, _ = history_shape
        self.head.build((batch, self._build_features(tuple(history_shape))))
        if self.highway:
            self.linear.build((batch, min(self.highway, steps)))

    def call(self, history, training=None):
        """Forecast (B, horizon) from (B, S, 1)."""
        window, scale = self._normalized(history)
        forecast = self.head(self._features(window, training)[0])
        if self.highway:
            forecast = forecast + self.linear(window[:, -self.highway :, 0])
        if self.anchor:
            forecast = forecast + ops.cast(window[:, -1], forecast.dtype)
        return forecast if scale is None else forecast * ops.cast(scale, forecast.dtype)

    def attend(self, history):
        """Attention weights (B, H, T, S) on each history; None where nothing attends."""
        output = self._features(self._normalized(history)[0], training=False)[1]
        return None if output is None else output.weights

    @property
    def fixed_length(self) -> int | None:
        """The only history length that the weights fit, or None where any fits."""
        return None

    def _normalized(self, history):
        """The history in its window's scale, (B, S, 1), and that scale, (B, 1) or None."""
        if self.normalization == "none":
            return history, None
        scale = ops.mean(ops.abs(history), axis=1, keepdims=True) + _LEAST_SCALE
        return history / scale, scale[:, 0]

    def _build_features(self, history_shape: tuple) -> int:
        """Build what makes the features; returns their width."""
        raise NotImplementedError

    def _features(self, history, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """What the head reads, and what was attended to."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "horizon": self.horizon,
            "highway": self.highway,
            "anchor": self.anchor,
            "normalization": self.normalization,
            "output_activation": self.output_activation,
        }


@keras.saving.register_keras_serializable(package="attnlab")
class RecurrentForecaster(Forecaster):
    """A recurrent encoder whose last state looks back over all states.

    The states are the memory, the last one is the query, and the mechanism gives the context.
    What the head reads (`readout`):

    - `state`: the last state alone, a plain RNN;
    - `context`: the context alone, as in the book's chapter 9;
    - `concat`: [context; state], as both enter Bahdanau's output layer;
    - `attentional_state`: tanh(W_c [context; state]), Luong et al. (2015), equation 5.

    Args:
        attention: the mechanism.
        cell: `simple`, `gru` or `lstm`.
        units: width of each direction's state.
        layers: recurrent layers.
        bidirectional: read in both directions.
        dropout: share of each layer's output that is dropped in training.
        readout: one of the above, or `auto` for the mechanism's own.
        **kwargs: of `Forecaster`.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        readout: str = "auto",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.attention, self.readout = attention, readout
        self.encoder = RecurrentEncoder(
            cell=cell,
            units=units,
            layers=layers,
            bidirectional=bidirectional,
            dropout=dropout,
            name="encoder",
        )
        self.reads = attention.readout if readout == "auto" else readout
        if self.reads == "attentional_state":
            self.combine = keras.layers.Dense(
                self.encoder.width, activation="tanh", use_bias=False, name="attentional_state"
            )

    @property
    def fixed_length(self) -> int | None:
        """The length of the mechanism's per-position weights, where it has such."""
        return None if self.reads == "state" else self.attention.fixed_length

    def _build_features(self, history_shape: tuple) -> int:
        self.encoder.build(history_shape)
        batch, steps, _ = history_shape
        width = self.encoder.width
        if self.reads == "state":
            return width
        query, memory = (batch, 1, width), (batch, steps, width)
        if not self.attention.built:  # a mechanism read from a .keras file comes with its weights
            self.attention.build(query, memory)
        dtype = self.attention.compute_dtype
        output = self.attention.compute_output_spec(
            keras.KerasTensor(query, dtype), keras.KerasTensor(memory, dtype)
        )
        context = output.context.shape[-1]
        if self.reads == "attentional_state":
            self.combine.build((batch, context + width))
            return width
        return context + (width if self.reads == "concat" else 0)

    def _features(self, history, training):
        states, last_state = self.encoder(history, training=training)
        if self.reads == "state":
            return last_state, None
        # The query stands where the history ends.
        output = self.attention(
            last_state[:, None],
            self.attention.project(states),
            start_index=states.shape[1] - 1,
            training=training,
        )
        context = output.context[:, 0]
        if self.reads == "context":
            return context, output
        joined = ops.concatenate([context, last_state], axis=-1)
        if self.reads == "attentional_state":
            joined = self.combine(joined)
        return joined, output

    def get_config(self) -> dict:
        """The constructor's arguments."""
        encoder = self.encoder
        return {
            **super().get_config(),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "cell": encoder.cell,
            "units": encoder.units,
            "layers": encoder.layers,
            "bidirectional": encoder.bidirectional,
            "dropout": encoder.dropout,
            "readout": self.readout,
        }

    @classmethod
    def from_config(cls, config: dict) -> RecurrentForecaster:
        """Rebuild from `get_config`."""
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})


@keras.saving.register_keras_serializable(package="attnlab")
class TransformerForecaster(Forecaster):
    """A Transformer encoder over the history; the head reads the newest position.

    Each value becomes a vector of `units` numbers plus its position; `layers` encoder layers
    (Vaswani et al. 2017, section 3.1) attend from every position to every position. Difference:
    a value is projected, there are no word embeddings.

    Args:
        attention: one mechanism for each layer.
        units: d_model.
        feed_forward: inner width of the position-wise network.
        dropout: at the paper's places.
        norm: `post` as in the paper, or `pre`.
        positions: `sinusoidal` or `learned`.
        **kwargs: of `Forecaster`.
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        units: int = 32,
        feed_forward: int = 64,
        dropout: float = 0.0,
        norm: str = "pre",
        positions: str = "sinusoidal",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.feed_forward, self.dropout = units, feed_forward, dropout
        self.norm, self.positions = norm, positions
        self.embed = keras.layers.Dense(units, name="embed")
        self.embedding_dropout = keras.layers.Dropout(dropout)
        self.encoder = [
            TransformerEncoderLayer(
                attention=layer,
                units=units,
                feed_forward=feed_forward,
                dropout=dropout,
                norm=norm,
                name=f"encoder_{number}",
            )
            for number, layer in enumerate(attention)
        ]
        self.final_norm = (
            keras.layers.LayerNormalization(epsilon=1e-6, name="final_norm")
            if norm == "pre"
            else None
        )

    @property
    def fixed_length(self) -> int | None:
        """The length that learned positions or per-position attention weights are tied to."""
        if self.positions == "learned":
            return self.position.max_length
        return self.encoder[0].attention.fixed_length

    def _build_features(self, history_shape: tuple) -> int:
        batch, steps, _ = history_shape
        shape = (batch, steps, self.units)
        self.position = PositionalEncoding(kind=self.positions, max_length=steps, name="position")
        self.embed.build(history_shape)
        self.position.build(shape)
        for layer in self.encoder:
            layer.build(shape)
        if self.final_norm is not None:
            self.final_norm.build(shape)
        return self.units

    def _features(self, history, training):
        vectors = self.position(self.embed(history))
        vectors = self.embedding_dropout(vectors, training=training)
        output = None
        for layer in self.encoder:
            vectors, output = layer(vectors, training=training)
        newest = vectors[:, -1]
        if self.final_norm is not None:
            newest = self.final_norm(newest)
        return newest, output

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "attention": [keras.saving.serialize_keras_object(e.attention) for e in self.encoder],
            "units": self.units,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
            "norm": self.norm,
            "positions": self.positions,
        }

    @classmethod
    def from_config(cls, config: dict) -> TransformerForecaster:
        """Rebuild from `get_config`."""
        attention = [keras.saving.deserialize_keras_object(layer) for layer in config["attention"]]
        return cls(**{**config, "attention": attention})
