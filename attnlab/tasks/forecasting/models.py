"""Forecasters and their learner; the recurrent ones attend once, or at every decoder step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.layers.recurrent import AttentionReadout, RecurrentEncoder, StackedCells, through_time
from attnlab.tasks.attention import MOST_ITEMS
from attnlab.tasks.forecasting.measures import Examples, interval_ends, ridge
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.training.compilation import XlaLimit, is_faster_with_xla
from attnlab.training.step import InMemoryModel

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.forecasting.task import ForecastingTask

# Keeps a window of zeros finite; 5 % of the range of data scaled by min-max.
_LEAST_SCALE = 0.05
# Most state values per stack, by measurement, and most models per stack.
_STACK_VALUES, _MOST_STACKED = 4096, 32
_MOST_HEADS, _MOST_CELLS = 8, 48  # of the recorded attention


class Forecaster(InMemoryModel, ABC):
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
    ahead: range | None = None  # the first forecast step of each query; None without a decoder

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
        self.head.build((batch, self._build_network(tuple(history_shape))))
        if self.highway == "all":
            self.highway = steps
        if self.highway:
            self.linear.build((batch, min(self.highway, steps)))

    def call(self, history, training=None):
        """Return the forecast (B, horizon) of histories (B, S, 1 + K)."""
        return self.decode(self.encode(history, training), training)

    def encode(self, history, training=None) -> tuple:
        """Encode histories (..., B, S, 1 + K) for `decode`; leading axes are of stacked runs."""
        window, *level = self._normalize(history)
        return window, self._encode_window(window, training), *level

    def decode(self, encoded, training=None):
        """Return the forecast (B, horizon) from the result of `encode`."""
        window, encoded, *level = encoded
        straight = self._linear_terms(window)
        forecast = ops.cast(self._network(encoded, straight, training)[0], "float32")
        for part in straight:
            forecast = forecast + part
        if self.normalization == "none":
            return forecast
        return forecast + level[0] if self.normalization == "last" else forecast * level[0]

    def attention_weights(self, history):
        """Return attention weights (B, H, T, S); None if the model has no attention."""
        window, encoded, *_ = self.encode(history, False)
        return self._network(encoded, self._linear_terms(window), False)[1]

    def fit_highway(self, train: Examples, held_out: Examples | None = None) -> None:
        """Set the linear part to the ridge regression of the targets; see `ridge`.

        `train` and `held_out` are histories (N, S, 1 + K) and targets (N, horizon) in model units.
        With `normalization="last"` and `highway="all"` this is NLinear.
        """
        solution = ridge(
            *self._highway_examples(*train), held_out and self._highway_examples(*held_out)
        )
        self.linear.kernel.assign(solution.kernel)
        self.linear.bias.assign(solution.bias)

    def _highway_examples(self, history: np.ndarray, target: np.ndarray) -> Examples:
        window, *level = map(np.asarray, self._normalize(history))
        if self.normalization == "last":
            target = target - level[0]
        elif self.normalization == "mean":
            target = target / level[0]
        newest = window[:, -1, :1] if self.anchor else 0.0
        return window[:, -self.highway :, 0], target - newest

    def _normalize(self, history) -> tuple:
        """Return the normalized history, and with normalization its scale or newest value."""
        if self.normalization == "none":
            return (history,)
        series, inputs = history[..., :1], history[..., 1:]
        if self.normalization == "last":
            newest = series[..., -1:, :]
            return ops.concatenate([series - newest, inputs], axis=-1), newest[..., 0, :]
        scale = ops.mean(ops.abs(series), axis=-2, keepdims=True) + _LEAST_SCALE
        return ops.concatenate([series / scale, inputs], axis=-1), scale[..., 0, :]

    def _linear_terms(self, window) -> list:
        """Return the terms added to the network's forecast, (B, horizon) or (B, 1) each."""
        parts = [self.linear(window[:, -self.highway :, 0])] if self.highway else []
        if self.anchor:
            parts.append(window[:, -1, :1])
        return parts

    def _encode_window(self, window, training):
        return window

    @abstractmethod
    def _build_network(self, history_shape: tuple) -> int:
        """Create the weights of `_network` but the head's, and return the width that it reads."""

    @abstractmethod
    def _network(self, encoded, straight, training) -> tuple[Any, Any]:
        """Return the network's part of the forecast (B, horizon), and attention weights or None.

        `encoded` is the result of `_encode_window`, `straight` that of `_linear_terms`.
        """


class RecurrentForecaster(AttentionReadout, Forecaster):
    """A recurrent encoder whose last state attends to all states; see `AttentionReadout`."""

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        readout: str = "concat",
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"units": units, "layers": layers, "bidirectional": bidirectional}
        self.encoder = RecurrentEncoder(cell=cell, dropout=dropout, name="encoder", **sizes)
        self.init_readout(attention, readout, self.encoder.width)

    @property
    def faster_with_xla(self) -> bool:
        """Return whether XLA trains it faster than the graph on this CPU."""
        return is_faster_with_xla(self.encoder.units, XlaLimit.RECURRENT_FORECASTER)

    def stackable(self, batch: int) -> int:
        """Return the largest power of two of models whose step fits into the CPU's cache."""
        fitting = max(1, _STACK_VALUES // (batch * self.encoder.width))
        return min(_MOST_STACKED, 1 << (fitting.bit_length() - 1))

    def _build_network(self, history_shape: tuple) -> int:
        self.encoder.build(history_shape)
        return self.build_readout((*history_shape[:2], self.encoder.width))

    def _encode_window(self, window, training):
        return self.encoder(window, training=training)

    def _network(self, encoded, straight, training):
        states, state = encoded
        if self.reads == "state":
            return self.head(state), None
        memory, last = self.attention.project(states), states.shape[-2] - 1
        output = self.attention(state[:, None], memory, start_index=last, training=training)
        return self.head(self.read(output.context[:, 0], state)), output.weights


class EncoderDecoderForecaster(RecurrentForecaster):
    """A decoder that forecasts `at_once` values per step and attends to the history at each step.

    The decoder has as many cells as the encoder, of the same width, and starts from the encoder's
    last states. The input of a step are the `at_once` values before those that it forecasts: first
    the newest values of the window, then its own forecasts, in training as well as in use. For a
    mechanism with `placement="before_step"` (Bahdanau et al. 2015) the query is the state before
    the step, and the context is an input of the first cell. For others (Luong et al. 2015) the
    query is the state after the step. The head reads context and state as in
    `RecurrentForecaster`. With Bahdanau's attention and one value per step this is the LSTMa of
    Zhou et al. (2021, arXiv 2012.07436), as far as the paper describes it. Differences: the linear
    parts of `Forecaster`, and several values per step, which divides the cost of a long horizon.

    The position of every query is the end of the history, so a monotonic window stays there.
    Attention weights have no dropout: the settings refuse `attention.dropout`.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cell: str = "gru",
        layers: int = 1,
        dropout: float = 0.0,
        **kwargs,
    ) -> None:
        stack = {"cell": cell, "layers": layers, "dropout": dropout}
        super().__init__(attention=attention, **stack, **kwargs)
        self.cells = StackedCells(**stack, units=self.encoder.width, name="decoder")
        self.ahead = range(1, self.horizon + 1, self.at_once)
        self.before = attention.placement == "before_step" and self.reads != "state"

    def stackable(self, batch: int) -> int:
        """Return 1: the loop over the steps of a decoder does not support stacked runs."""
        return 1

    def _build_network(self, history_shape: tuple) -> int:
        width = self.encoder.width
        entering = self.attention.context_width(width, width) if self.before else 0
        self.cells.build((None, self.at_once), entering)
        return super()._build_network(history_shape)

    def _encode_window(self, window, training):
        newest = window[..., -self.at_once :, 0]
        return self.encoder.encode(window, training=training), newest

    def _network(self, encoded, straight, training):
        steps, _ = self._decode_steps(encoded, straight, training)
        steps = ops.reshape(steps, (-1, len(self.ahead) * self.at_once))
        return steps[:, : self.horizon], None

    def attention_weights(self, history):
        """Return attention weights (B, H, T, S), with a query per decoder step."""
        if self.reads == "state":
            return None
        window, encoded, *_ = self.encode(history, False)
        _, queries = self._decode_steps(encoded, self._linear_terms(window), False)
        memory = self.attention.project(encoded[0].states)
        # One at a time: a mechanism may treat several queries as consecutive positions.
        look = partial(self._attend, memory=memory, training=False)
        weights = ops.map(lambda query: look(query[:, None]).weights, ops.swapaxes(queries, 0, 1))
        return ops.moveaxis(weights[..., 0, :], 0, 2)

    def _attend(self, query, memory: ProjectedMemory, training) -> AttentionOutput:
        last = memory.values.shape[-2] - 1
        return self.attention(query, memory, start_index=last, training=training)

    def _decode_steps(self, encoded, straight, training) -> tuple:
        """Return the forecasts of all steps, (B, T, at_once), and their queries, (B, T, W)."""
        states, first = encoded
        memory = () if self.reads == "state" else self.attention.project(states.states)
        linear_parts = self._in_steps(straight, first)

        def look(query):
            if self.reads == "state":
                return None
            return self._attend(query[:, None], memory, training).context[:, 0]

        def step(index, state, entering):
            (cells, newest), (linear_parts, drops) = state, entering
            projected = self.cells.project(ops.cast(newest, self.compute_dtype))
            if self.before:
                context = look(query := cells[-1][0])
                projected = projected + self.cells.project_entering(context)
            cells = self.cells.advance(cells, projected, drops)
            if not self.before:
                context = look(query := cells[-1][0])
            forecast = ops.cast(self.head(self.read(context, cells[-1][0])), "float32")
            return (cells, linear_parts + forecast), (forecast, ops.cast(query, "float32"))

        last = tuple(  # of both directions per layer, (B, W), W their joint width
            tuple(ops.concatenate(parts, axis=-1) for parts in zip(*directions, strict=True))
            for directions in states.last
        )
        entering = linear_parts, self.cells.drops(linear_parts, training)
        widths = [self.at_once, self.encoder.width]
        return through_time(step, (last, first), entering, widths, "float32")

    def _in_steps(self, straight, newest):
        """Return the sum of the linear parts, divided into steps: (B, T, at_once)."""
        total = ops.zeros((ops.shape(newest)[0], self.horizon), "float32")
        for part in straight:
            total = total + part
        missing = -self.horizon % self.at_once
        total = ops.pad(total, [[0, 0], [0, missing]])
        return ops.reshape(total, (-1, len(self.ahead), self.at_once))


def make_recurrent(at_once: int | None = None, **settings: Any) -> RecurrentForecaster:
    """Make a recurrent forecaster, with a decoder if `at_once` is given."""
    cls = RecurrentForecaster if at_once is None else EncoderDecoderForecaster
    return cls(at_once=at_once, **settings)


class ForecastLearner(InMemoryLearner):
    """Trains a forecaster on the windows of its task; see `Learner`."""

    def __init__(self, config: RunConfig, task: ForecastingTask, model: keras.Model) -> None:
        self._task = task
        parts = task.splits.parts
        inputs = {name: windows.history for name, windows in parts.items()}
        targets = {name: windows.target for name, windows in parts.items()}
        if model.fitted:
            model.fit_highway(*((inputs[name], targets[name]) for name in parts if name != "test"))
        faster = model.faster_with_xla
        super().__init__(config, model, task.loss, inputs, targets, faster_with_xla=faster)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss`, the mean over the validation windows."""
        rows = self.rows["validation"]
        return {"val_loss": self.evaluate(rows)} if len(rows) else {}

    def report(self) -> Report:
        """Score the test forecast and the baselines, with a prediction interval if one is known."""
        forecast = self.predict(self.rows["test"])
        if not len(self.rows["validation"]):
            return self._task.report(forecast, "test")
        ends = interval_ends(self._validation_errors())
        has_interval = bool(np.isfinite(ends[:, : forecast.shape[1]]).all())
        return self._task.report(forecast, "test", ends if has_interval else None)

    def _validation_errors(self) -> np.ndarray:
        """Return target - forecast in model units, (n, K); later steps use forecasts as history."""
        rows, expected = self.rows["validation"], self._task.validation_targets()
        histories, steps = self.inputs.numpy(), self.inputs.shape[1]
        forecast = self.predict(rows)
        while forecast.shape[1] < expected.shape[1]:
            inputs = histories.copy()
            inputs[rows, :, 0] = np.hstack([histories[rows, :, 0], forecast])[:, -steps:]
            forecast = np.hstack([forecast, self.predict(rows, inputs)])
        windows = self._task.splits.parts["validation"]
        made = self._task.report_units(forecast[:, : expected.shape[1]], windows)
        return (expected - made) / self._task.report_scaler(windows).scale

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return attention weights on a few test windows, in order of time.

        - `weights` (N, H, T, S), of at most 8 heads; for several queries per window the mean over
          the windows, N = 1, and longer maps are coarser, see `coarser`;
        - `history` (N, S) in the units of the report, and `labels` (N,) of the first targets;
        - `ahead` (T,), for a decoder only: the first step that each query forecasts.
        """
        windows = self._task.splits.parts["test"].spread(MOST_ITEMS)
        windows = windows.take(np.argsort(windows.index, kind="stable"))
        weights = self.attention_weights(windows.history)
        if weights is None:
            return None
        weights = np.asarray(weights, np.float32)[:, :_MOST_HEADS]
        if weights.shape[2] > 1:
            weights = coarser(weights.mean(axis=0, keepdims=True), _MOST_CELLS)
        labels = [str(time) for time in windows.times[:, 0]]
        if windows.ids is not None:
            labels = [f"{name} {label}" for name, label in zip(windows.ids, labels, strict=True)]
        ahead = self.model.ahead
        return {
            "weights": weights.astype(np.float16),
            "history": self._task.report_units(windows.history[:, :, 0], windows),
            "labels": np.array(labels),
            **({} if ahead is None else {"ahead": np.array(ahead)}),
        }


def coarser(maps: np.ndarray, most: int) -> np.ndarray:
    """Average neighbouring cells of maps (..., T, S), to at most `most` cells per side."""
    for axis in (-2, -1):
        size = maps.shape[axis]
        cells = np.array_split(np.arange(size), min(size, most))
        maps = np.stack([maps.take(cell, axis).mean(axis) for cell in cells], axis)
    return maps
