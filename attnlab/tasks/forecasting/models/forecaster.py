"""What all forecasters share: the scale of a window, the head, the linear part."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.ridge import Known, ridge
from attnlab.training.steps import InMemoryModel

# Keeps a window of zeros finite; a twentieth of the range where data are scaled by min-max.
_LEAST_SCALE = 0.05
# Values of the states of a stack, measured by scripts/bench_seeds.py; and the most models of one.
_STACK_VALUES, _MOST_STACKED = 4096, 32


class Forecaster(InMemoryModel):
    """What the forecasters share: (B, S, 1 + K) history -> (B, horizon) forecast.

    The first column is the series, the others are K inputs that the features see as they are. With
    z the series in the window's own scale, `z = series / s`, the forecast is
    `s * (head(features(z, inputs)) + highway(newest of z) + newest value of z)`, where

    - s is 1, or with `normalization="mean"` the window's mean absolute value plus a constant,
      as in DeepAR (Salinas et al. 2020, section 3.3), so that what was learned at one level holds
      at another; difference: the constant is 0.05 model units and the loss stays unscaled;
    - with `normalization="last"` z is the series minus its newest value, which is added to the
      forecast, as in NLinear (Zeng et al. 2023, section 4), for levels that drift;
    - highway is a linear autoregression on the newest values beside the network, as in LSTNet
      (Lai et al. 2018, section 3.5), so that the network learns what a linear model can't; it
      starts at zeros or, of `highway_start`, where `fit_highway` puts it, the network at nothing;
    - the newest value (`anchor`) makes zero weights mean persistence.

    Args:
        horizon: steps to forecast.
        at_once: how many of them the head makes; None: all.
        highway: how many of the newest values the linear part sees, or `all` of the history; 0
            leaves it out, as `auto` does.
        highway_start: `zeros`, as `auto` is, or `least_squares`, which gives it a bias.
        anchor: add the newest value to the forecast.
        normalization: `mean`, `last` or `none`, see above; `auto` is `mean`.
        output_activation: `linear`, or `tanh` as in the book, which can't pass its extremes.
        **kwargs: of every Keras model.
    """

    faster_with_xla = True

    def __init__(
        self,
        *,
        horizon: int = 1,
        at_once: int | None = None,
        highway: int | str = 0,
        highway_start: str = "zeros",
        anchor: bool = False,
        normalization: str = "none",
        output_activation: str = "linear",
        **kwargs,
    ) -> None:
        # Histories and forecasts are float32 in mixed precision, too: half of the bits of a level
        # leave none for what changes. Layers cast what they compute with.
        super().__init__(autocast=False, **kwargs)
        self.highway = highway
        self.anchor = anchor
        self.normalization = normalization
        self.horizon, self.at_once = horizon, at_once or horizon
        self.fitted = highway_start == "least_squares"
        if self.fitted and not self.highway:
            raise RequestError(
                "model.highway_start: least_squares is where a linear part starts, but "
                "model.highway is 0; try model.highway=all."
            )
        self.head = keras.layers.Dense(
            self.at_once,
            activation=output_activation,
            kernel_initializer="zeros" if self.fitted else "glorot_uniform",
            name="head",
        )
        if self.highway:
            self.linear = keras.layers.Dense(
                horizon,
                use_bias=self.fitted,
                kernel_initializer="zeros",
                dtype="float32",
                name="highway",
            )

    def build(self, history_shape) -> None:
        """Create the weights for histories of shape (B, S, 1 + K)."""
        batch, steps, _ = history_shape
        self.head.build((batch, self._build_features(tuple(history_shape))))
        if self.highway == "all":
            self.highway = steps
        if self.highway:
            self.linear.build((batch, min(self.highway, steps)))

    def call(self, history, training=None):
        """Forecast (B, horizon) from (B, S, 1 + K)."""
        return self.decode(self.encode(history, training), training)

    def encode(self, history, training=None) -> tuple:
        """What `decode` needs to know of histories (..., B, S, 1 + K).

        Leading axes are those of stacked weights: for those a loop over steps takes care here.
        """
        window, *level = self._normalized(history)
        return window, self._encoded(window, training), *level

    def decode(self, encoded, training=None):
        """Forecast (B, horizon) from what `encode` made of (B, S, 1 + K)."""
        window, encoded, *level = encoded
        straight = self._straight(window)
        forecast = ops.cast(self._forecast(encoded, straight, training), "float32")
        for part in straight:
            forecast = forecast + part
        if self.normalization == "none":
            return forecast
        return forecast + level[0] if self.normalization == "last" else forecast * level[0]

    def attend(self, history):
        """Attention weights (B, H, T, S) on each history; None where nothing attends."""
        window, encoded, *_ = self.encode(history, False)
        return self._weights(encoded, self._straight(window))

    def fit_highway(self, train: Known, held_out: Known | None = None) -> None:
        """Start the linear part at the ridge regression of the targets; see `ridge`.

        `train` and `held_out` are histories (N, S, 1 + K) and targets (N, horizon), as `call` has
        them. With `normalization="last"` and all of the history that is NLinear.
        """
        found = ridge(*self._left_to_highway(*train), held_out and self._left_to_highway(*held_out))
        self.linear.kernel.assign(found.kernel)
        self.linear.bias.assign(found.bias)

    def _left_to_highway(self, history: np.ndarray, target: np.ndarray) -> Known:
        """What the linear part sees, and what it would forecast alone."""
        window, *level = map(np.asarray, self._normalized(history))
        if self.normalization == "last":
            target = target - level[0]
        elif self.normalization == "mean":
            target = target / level[0]
        newest = window[:, -1, :1] if self.anchor else 0.0
        return window[:, -self.highway :, 0], target - newest

    @property
    def ahead(self) -> range | None:
        """Of each query of `attend` the first step that it forecasts; None: the history's ask."""
        return None

    def stackable(self, batch: int) -> int:
        """How many models are sooner trained in one stack, with batches of a size, than alone.

        It is a power of two: the values that a step of all makes fit into a processor's cache.
        """
        fitting = max(1, _STACK_VALUES // (batch * self._values_per_item()))
        return min(_MOST_STACKED, 1 << (fitting.bit_length() - 1))

    def _values_per_item(self) -> int:
        """How many values the widest operation makes of an item; see `stackable`."""
        return _STACK_VALUES  # none is stacked

    def _normalized(self, history) -> tuple:
        """The history, its series in the window's scale or from its newest value on; and that.

        Scale and newest value are (..., B, 1).
        """
        if self.normalization == "none":
            return (history,)
        series, inputs = history[..., :1], history[..., 1:]
        if self.normalization == "last":
            newest = series[..., -1:, :]
            return ops.concatenate([series - newest, inputs], axis=-1), newest[..., 0, :]
        scale = ops.mean(ops.abs(series), axis=-2, keepdims=True) + _LEAST_SCALE
        return ops.concatenate([series / scale, inputs], axis=-1), scale[..., 0, :]

    def _straight(self, window) -> list:
        """What the network's forecast is added to, (B, horizon) or (B, 1) each."""
        parts = [self.linear(window[:, -self.highway :, 0])] if self.highway else []
        if self.anchor:
            parts.append(window[:, -1, :1])
        return parts

    def _encoded(self, window, training):
        """What `_features` takes: by default the windows (..., B, S, 1 + K) themselves."""
        return window

    def _forecast(self, encoded, straight, training):
        """The network's part of the forecast, (B, horizon)."""
        return self.head(self._features(encoded, training)[0])

    def _weights(self, encoded, straight):
        """What `attend` gives."""
        output = self._features(encoded, False)[1]
        return None if output is None else output.weights

    def _build_features(self, history_shape: tuple) -> int:
        """Build what makes the features; returns their width."""
        raise NotImplementedError

    def _features(self, encoded, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """What the head reads, and what was attended to."""
        raise NotImplementedError
