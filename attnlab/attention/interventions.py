"""Change the weights of a model's attention layers: heads off, places hidden, rows set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from attnlab.attention.base import Attention
from attnlab.attention.functional import Tensor
from attnlab.attention.head_measures import attention_layers
from attnlab.errors import RequestError

MOST = 64  # places that can be hidden in a layer, and rows that can be set


class Change(NamedTuple):
    """What is changed about a layer's weights; heads and places count from 0."""

    heads: Collection[int] = ()  # heads whose weights become 0
    hidden: Collection[int] = ()  # places of the memory that nothing sees
    rows: Mapping[int, int | None] = {}  # query -> the only place that it sees; None: all equally


class Intervention:
    """Changes the weights of one layer. Its variables are read whenever a program runs.

    Of a hidden place the weights are 0. Those of shares grow in proportion, so that each row keeps
    its sum. A set row has weights only where the layer's mask lets the query look.
    """

    def __init__(self, layer: Attention) -> None:
        self.heads = layer.heads
        self._are_shares = layer.weights_are == "shares"
        self._head_factors = tf.Variable(tf.ones(layer.heads), trainable=False)
        self._hidden = tf.Variable(tf.fill([MOST], -1), trainable=False)
        self._rows = tf.Variable(tf.fill([MOST, 2], -1), trainable=False)

    def set(self, change: Change) -> None:
        """Set what is changed, instead of what was changed before.

        Raises:
            RequestError: There is no such head, or more is changed than `MOST`.
        """
        if not {*change.heads} <= {*range(self.heads)}:
            raise RequestError(f"heads: expected 0 to {self.heads - 1}, got {[*change.heads]}.")
        if max(len(change.hidden), len(change.rows)) > MOST:
            raise RequestError(f"changes: expected at most {MOST} places of a layer.")
        factors = np.ones(self._head_factors.shape, np.float32)
        factors[[*change.heads]] = 0
        hidden, rows = np.full(MOST, -1), np.full((MOST, 2), -1)
        hidden[: len(change.hidden)] = [*change.hidden]
        for number, (row, place) in enumerate(change.rows.items()):
            rows[number] = row, -1 if place is None else place
        self._head_factors.assign(factors)
        self._hidden.assign(hidden)
        self._rows.assign(rows)

    def __call__(self, weights: Tensor, mask: Tensor, start_index: Any) -> Tensor:
        """Return the changed weights (B, H, T, S) of queries from `start_index` on."""
        queries, places = tf.shape(weights)[2], tf.range(tf.shape(weights)[3])
        is_seen = tf.cast(~tf.reduce_any(self._hidden[:, None] == places, axis=0), weights.dtype)
        seen = weights * is_seen
        if self._are_shares:
            before, after = (tf.reduce_sum(part, -1, keepdims=True) for part in (weights, seen))
            seen *= tf.where(after > 0, before / after, tf.ones((), weights.dtype))
        rows, columns = self._rows[:, 0], self._rows[:, 1]
        is_row = rows[:, None] == tf.range(queries) + start_index  # (MOST, T)
        is_set = tf.reduce_any(is_row, axis=0)[:, None]
        column = tf.reduce_max(tf.where(is_row, columns[:, None], -1), axis=0)[:, None]
        row = tf.where(column < 0, is_seen, tf.cast(places == column, weights.dtype))  # (T, S)
        row = tf.broadcast_to(row, tf.shape(weights))
        if mask is not None:
            row *= tf.cast(mask, weights.dtype)
        row = tf.math.divide_no_nan(row, tf.reduce_sum(row, -1, keepdims=True))
        factors = tf.cast(self._head_factors, weights.dtype)[:, None, None]
        return tf.where(is_set, row, seen) * factors


def prepare(model: keras.Model) -> dict[str, Intervention]:
    """Give each attention layer of a model an `Intervention`; returns them by the layer's name.

    Programs that were compiled before don't have it: prepare a model before its first use.
    """
    layers = attention_layers(model)
    interventions = {name: Intervention(layer) for name, layer in layers.items()}
    for name, layer in layers.items():
        layer.intervention = interventions[name]
    return interventions
