"""What each head of a model looks at: measures of its weights on given inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from scipy.special import entr

from attnlab.attention.base import Attention
from attnlab.attention.functional import Tensor
from attnlab.internals import all_layers

MEASURES = ("entropy", "share", "distance", "first", "previous", "duplicate", "induction")


class Looked(NamedTuple):
    """Where an attention layer looked during a call of its model."""

    weights: np.ndarray  # (B, H, T, S)
    admitted: np.ndarray  # (B, 1 or H, T, S) bool, which positions a query may attend to
    is_own: bool  # whether a sequence looked at itself
    are_shares: bool  # whether the weights are shares; if not, entropy is undefined
    positions: Sequence[int] = ()  # of the T queries, as the layer counts them


def attention_layers(model: keras.Model) -> dict[str, Attention]:
    """Return a model's attention layers by name, without those of `attention=none`.

    A layer is named by the layer that has it, such as `decoder_1 cross_attention`.
    """
    names: dict[int, str] = {}
    for owner in all_layers(model):
        for key, value in vars(owner).items():
            if isinstance(value, Attention):
                parts = ("" if owner is model else owner.name, "" if key == "attention" else key)
                names.setdefault(id(value), " ".join(filter(None, parts)) or key)
    mechanisms = [layer for layer in all_layers(model) if isinstance(layer, Attention)]
    return {names.get(id(m), str(m.name)): m for m in mechanisms if m.has_context}


@contextmanager
def record_attention(model: keras.Model) -> Iterator[dict[str, Looked]]:
    """Record where each attention layer of a model looks while the model is called eagerly.

    Yields a mapping that is filled at the end: name in `attention_layers` -> `Looked`, in the order
    of the first calls. A decoder that calls its layer once per step gives all steps.
    """
    layers = attention_layers(model)
    calls: dict[str, list[Looked]] = {}
    looked: dict[str, Looked] = {}

    def record(name: str, weights: Tensor, mask: Tensor, is_own: bool, start_index: Any) -> None:
        weights = np.asarray(keras.ops.cast(weights, "float32"))
        shape = (len(weights), 1, *weights.shape[2:])
        admitted = np.broadcast_to(True if mask is None else np.asarray(mask), shape)
        shares = layers[name].weights_are == "shares"
        positions = [int(start_index) + query for query in range(weights.shape[2])]
        calls.setdefault(name, []).append(Looked(weights, admitted, is_own, shares, positions))

    for name, layer in layers.items():
        layer.recorder = partial(record, name)
    try:
        yield looked
    finally:
        for layer in layers.values():
            layer.recorder = None
    for name, steps in calls.items():
        weights, admitted = (np.concatenate(p, axis=2) for p in list(zip(*steps, strict=True))[:2])
        is_own = len(steps) == 1 and steps[0].is_own
        positions = [position for step in steps for position in step.positions]
        looked[name] = Looked(weights, admitted, is_own, steps[0].are_shares, positions)


def measure_heads(looked: Looked, tokens: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the measures of each head, (H,): means over queries, then over the batch.

    - entropy: `-sum_s a_ts ln a_ts` in nats; where a row adds up to less than 1, the rest is one
      more outcome
    - share: entropy / ln(positions that the query may attend to)
    - distance: `sum_s a_ts |t - s|`, in steps
    - first: `a_t0` for t > 0
    - previous: `a_t,t-1`
    - duplicate: `sum a_ts` over earlier s with the query's token, where there are such
    - induction: `sum a_t,s+1` over the same s

    Entropy is NaN unless weights are shares. The measures from distance on are NaN unless a
    sequence looks at itself; the last two are NaN without tokens.

    Source: Olsson et al. 2022 (arXiv 2209.11895) for the last three. Difference: a row counts only
    where the measure is defined for it, and sums aren't divided by the weights of other rows.

    Args:
        looked: of `record_attention`.
        tokens: (B, S) int, the sequence, below 0 for padding; None, or of another length, if the
            layer looks at something else.
    """
    weights = np.asarray(looked.weights, np.float64)
    batch, heads, queries, memory = weights.shape
    admitted = np.broadcast_to(looked.admitted, (batch, looked.admitted.shape[1], queries, memory))
    attends = np.broadcast_to(admitted.any(-1), (batch, heads, queries))
    if looked.is_own and queries == memory:  # a step that nobody may attend to is padding
        attends = attends & np.diagonal(admitted, 0, -2, -1)
    if tokens is not None and tokens.shape != (batch, queries):
        tokens = None
    if tokens is not None:
        attends = attends & (tokens >= 0)[:, None]
    measures = dict.fromkeys(MEASURES, np.full(heads, np.nan))
    if looked.are_shares:
        missing = np.clip(1 - weights.sum(-1), 0, 1)
        entropy = entr(weights).sum(-1) + entr(np.where(missing > 1e-6, missing, 0))
        most = np.log(np.broadcast_to(admitted.sum(-1), attends.shape).clip(1))
        measures["entropy"] = _mean(entropy, attends)
        measures["share"] = _mean(entropy / np.where(most > 0, most, 1), attends & (most > 0))
    if not looked.is_own or queries != memory:
        return measures
    steps = np.arange(queries)
    later = attends & (steps > 0)
    measures["distance"] = _mean((weights * np.abs(steps[:, None] - steps)).sum(-1), attends)
    measures["first"] = _mean(weights[..., 0], later)
    previous = np.pad(np.diagonal(weights, -1, -2, -1), ((0, 0), (0, 0), (1, 0)))
    measures["previous"] = _mean(previous, later)
    if tokens is None:
        return measures
    same = ((tokens[:, :, None] == tokens[:, None]) & (steps[:, None] > steps))[:, None]
    after = np.roll(same, 1, axis=-1)  # the last column is False
    repeated = later & same.any(-1)
    measures["duplicate"] = _mean((weights * same).sum(-1), repeated)
    measures["induction"] = _mean((weights * after).sum(-1), repeated)
    return measures


def _mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return means (H,) of values (B, H, T): over the queries in `where`, then over the batch."""
    values = np.where(where, values, 0.0)
    counts = where.sum(-1)
    rows = values.sum(-1) / np.where(counts > 0, counts, 1)
    total = (counts > 0).sum(0)
    return np.where(total > 0, rows.sum(0) / np.where(total > 0, total, 1), np.nan)
