"""What all forecasters share: the scale of a window, the head, the linear part."""

from __future__ import annotations

import keras
from keras import ops

from attnlab.attention.base import AttentionOutput

# Keeps a window of zeros finite; a twentieth of the range where data are scaled by min-max.
_LEAST_SCALE = 0.05


class Forecaster(keras.Model):
    """What the forecasters share: (B, S, 1 + K) history -> (B, horizon) forecast.

    The first column is the series, the others are K inputs that the features see as they are. With
    z the series in the window's own scale, `z = series / s`, the forecast is
    `s * (head(features(z, inputs)) + highway(newest of z) + newest value of z)`, where

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
        self.highway, self.anchor, self.normalization = highway, anchor, normalization
        self.head = keras.layers.Dense(horizon, activation=output_activation, name="head")
        if highway:
            self.linear = keras.layers.Dense(
                horizon, use_bias=False, kernel_initializer="zeros", name="highway"
            )

    def build(self, history_shape) -> None:
        """Create the weights for histories of shape (B, S, 1 + K)."""
        batch, steps, _ = history_shape
        self.head.build((batch, self._build_features(tuple(history_shape))))
        if self.highway:
            self.linear.build((batch, min(self.highway, steps)))

    def call(self, history, training=None):
        """Forecast (B, horizon) from (B, S, 1 + K)."""
        window, scale = self._normalized(history)
        forecast = self.head(self._features(window, training)[0])
        if self.highway:
            forecast = forecast + self.linear(window[:, -self.highway :, 0])
        if self.anchor:
            forecast = forecast + ops.cast(window[:, -1, :1], forecast.dtype)
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
        """The history, its series in the window's scale, and that scale, (B, 1) or None."""
        if self.normalization == "none":
            return history, None
        series, inputs = history[..., :1], history[..., 1:]
        scale = ops.mean(ops.abs(series), axis=1, keepdims=True) + _LEAST_SCALE
        return ops.concatenate([series / scale, inputs], axis=-1), scale[:, 0]

    def _build_features(self, history_shape: tuple) -> int:
        """Build what makes the features; returns their width."""
        raise NotImplementedError

    def _features(self, history, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """What the head reads, and what was attended to."""
        raise NotImplementedError
