"""Base class of forecasters: normalization of windows, the head, the linear part."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import AttentionOutput
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.ridge import Known, ridge
from attnlab.training.steps import InMemoryModel

# Keeps a window of zeros finite; 5 % of the range of data scaled by min-max.
_LEAST_SCALE = 0.05
# Most state values per stack, measured by scripts/bench_seeds.py, and most models per stack.
_STACK_VALUES, _MOST_STACKED = 4096, 32


class Forecaster(InMemoryModel):
    """Base class of forecasters: history (B, S, 1 + K) -> forecast (B, horizon).

    The first column is the series; the others are K inputs, which are not normalized. With the
    normalized series `z = series / s` the forecast is
    `s * (head(features(z, inputs)) + highway(newest of z) + newest value of z)`, where

    - s is 1, or with `normalization="mean"` the window's mean absolute value plus a constant,
      as in DeepAR (Salinas et al. 2020, section 3.3), so that what is learned at one level applies
      to others; difference: the constant is 0.05 model units and the loss is not scaled;
    - with `normalization="last"` z is the series minus its newest value, which is added to the
      forecast, as in NLinear (Zeng et al. 2023, section 4), for series whose level drifts;
    - highway is a linear autoregression on the newest values, added to the network as in LSTNet
      (Lai et al. 2018, section 3.5), so that the network learns what a linear model can't. Its
      weights start at zero, or with `highway_start="least_squares"` at the solution of
      `fit_highway`; the head then starts at zero;
    - with `anchor` the newest value is added, so zero weights forecast persistence.

    `highway` is the number of newest values that the linear part sees, or `all` of the history; 0
    leaves it out. The head forecasts `at_once` steps at once, by default all.
    `output_activation="tanh"`, as in the book, limits its output to (-1, 1).
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
        # Histories and forecasts are float32 even in mixed precision: float16 and bfloat16 are too
        # coarse for small changes of a large value. Layers cast their inputs themselves.
        super().__init__(autocast=False, **kwargs)
        self.highway = highway
        self.anchor = anchor
        self.normalization = normalization
        self.horizon, self.at_once = horizon, at_once or horizon
        self.fitted = highway_start == "least_squares"
        if self.fitted and not self.highway:
            raise RequestError(
                "model.highway_start=least_squares: needs a linear part, but model.highway is 0; "
                "try model.highway=all."
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
        """Return the forecast (B, horizon) of histories (B, S, 1 + K)."""
        return self.decode(self.encode(history, training), training)

    def encode(self, history, training=None) -> tuple:
        """Encode histories (..., B, S, 1 + K) for `decode`; leading axes are of stacked runs."""
        window, *level = self._normalized(history)
        return window, self._encoded(window, training), *level

    def decode(self, encoded, training=None):
        """Return the forecast (B, horizon) from the result of `encode`."""
        window, encoded, *level = encoded
        straight = self._straight(window)
        forecast = ops.cast(self._forecast(encoded, straight, training), "float32")
        for part in straight:
            forecast = forecast + part
        if self.normalization == "none":
            return forecast
        return forecast + level[0] if self.normalization == "last" else forecast * level[0]

    def attend(self, history):
        """Return attention weights (B, H, T, S); None if the model has no attention."""
        window, encoded, *_ = self.encode(history, False)
        return self._weights(encoded, self._straight(window))

    def fit_highway(self, train: Known, held_out: Known | None = None) -> None:
        """Set the linear part to the ridge regression of the targets; see `ridge`.

        `train` and `held_out` are histories (N, S, 1 + K) and targets (N, horizon) in model units.
        With `normalization="last"` and `highway="all"` this is NLinear.
        """
        solution = ridge(
            *self._left_to_highway(*train), held_out and self._left_to_highway(*held_out)
        )
        self.linear.kernel.assign(solution.kernel)
        self.linear.bias.assign(solution.bias)

    def _left_to_highway(self, history: np.ndarray, target: np.ndarray) -> Known:
        window, *level = map(np.asarray, self._normalized(history))
        if self.normalization == "last":
            target = target - level[0]
        elif self.normalization == "mean":
            target = target / level[0]
        newest = window[:, -1, :1] if self.anchor else 0.0
        return window[:, -self.highway :, 0], target - newest

    @property
    def ahead(self) -> range | None:
        """Return the first forecast step of each query of `attend`; None without a decoder."""
        return None

    def stackable(self, batch: int) -> int:
        """Return the largest power of two of models whose step fits into the CPU's cache."""
        fitting = max(1, _STACK_VALUES // (batch * self._values_per_item()))
        return min(_MOST_STACKED, 1 << (fitting.bit_length() - 1))

    def _values_per_item(self) -> int:
        return _STACK_VALUES  # none is stacked

    def _normalized(self, history) -> tuple:
        """Return the normalized history, and with normalization its scale or newest value."""
        if self.normalization == "none":
            return (history,)
        series, inputs = history[..., :1], history[..., 1:]
        if self.normalization == "last":
            newest = series[..., -1:, :]
            return ops.concatenate([series - newest, inputs], axis=-1), newest[..., 0, :]
        scale = ops.mean(ops.abs(series), axis=-2, keepdims=True) + _LEAST_SCALE
        return ops.concatenate([series / scale, inputs], axis=-1), scale[..., 0, :]

    def _straight(self, window) -> list:
        """Return the terms added to the network's forecast, (B, horizon) or (B, 1) each."""
        parts = [self.linear(window[:, -self.highway :, 0])] if self.highway else []
        if self.anchor:
            parts.append(window[:, -1, :1])
        return parts

    def _encoded(self, window, training):
        return window

    def _forecast(self, encoded, straight, training):
        """Return the network's part of the forecast, (B, horizon)."""
        return self.head(self._features(encoded, training)[0])

    def _weights(self, encoded, straight):
        output = self._features(encoded, False)[1]
        return None if output is None else output.weights

    def _build_features(self, history_shape: tuple) -> int:
        """Create the weights of `_features`, and return the width of its result."""
        raise NotImplementedError

    def _features(self, encoded, training) -> tuple[keras.KerasTensor, AttentionOutput | None]:
        """Return the input of the head, and the output of the attention."""
        raise NotImplementedError
