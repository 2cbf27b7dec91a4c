"""What turns scores into weights: the setting `attention.normalizer`.

Each function takes scores (..., S) and None or a mask that can be broadcast to their shape, True =
attend. It returns weights of that shape in float32 or wider. Masked weights are exactly 0, and a
row without an admitted position has zero weights and zero gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from attnlab.attention.functional import LOWEST, dtype_of, masked_softmax, widen_scores

_OUTSIDE = -4.0  # below the largest score by more than sparse weights reach: 1, or 2 for entmax


def sink_softmax(scores, mask=None, sink=0.0):
    """Return `exp(s) / (exp(a) + sum exp(s))`: a softmax with one more outcome, the sink.

    The weights of a row add up to less than 1; what is missing went to the sink. Source: the sinks
    of GPT-OSS, whose `a` is learned for each head. Miller (2023, "Attention is off by one") has
    a = 0, which is `softmax_one`. `sink` is a, a number or a tensor broadcastable to (..., 1).
    """
    scores = _masked(scores, mask)
    sink = ops.cast(sink, dtype_of(scores))
    highest = ops.maximum(ops.max(scores, axis=-1, keepdims=True), sink)
    highest = ops.stop_gradient(highest)
    weights = ops.exp(scores - highest)
    return weights / (ops.exp(sink - highest) + ops.sum(weights, axis=-1, keepdims=True))


def sparsemax(scores, mask=None):
    """Return the distribution nearest to the scores, `max(s - tau, 0)`, most of it exactly 0.

    tau makes a row add up to 1: with scores sorted downwards and K the last k for which
    `1 + k s_k > s_1 + ... + s_k`, it is `(s_1 + ... + s_K - 1) / K`. Source: Martins and Astudillo
    2016 (arXiv 1602.02068), algorithm 1.
    """
    shifted, ordered, ranks = _sorted(_masked(scores, mask))
    inside = 1 + ranks * ordered > ops.cumsum(ordered, axis=-1)
    support, size = _support(shifted, ordered, inside)
    tau = (ops.sum(shifted * support, axis=-1, keepdims=True) - 1) / size
    return _admitted(ops.relu(shifted - tau), mask)


def entmax15(scores, mask=None):
    """Return `max(s / 2 - tau, 0)^2`, between softmax and sparsemax: 1.5-entmax.

    tau makes a row add up to 1: with z = s / 2 sorted downwards, M and Q the means of the first k
    and of their squares, it is `tau_k = M - sqrt((1 - k (Q - M^2)) / k)` for the last k with
    `tau_k <= z_k`. Source: Peters, Niculae and Martins 2019 (arXiv 1905.05702), algorithm 2.
    """
    shifted, ordered, ranks = _sorted(_masked(scores, mask) / 2)
    means = ops.cumsum(ordered, axis=-1) / ranks
    spread = ops.cumsum(ops.square(ordered), axis=-1) - ranks * ops.square(means)
    inside = means - ops.sqrt(ops.relu(1 - spread) / ranks) <= ordered
    support, size = _support(shifted, ordered, inside)
    mean = ops.sum(shifted * support, axis=-1, keepdims=True) / size
    spread = ops.sum(ops.square(shifted - mean) * support, axis=-1, keepdims=True)
    tau = mean - ops.sqrt((1 - spread) / size)
    return _admitted(ops.square(ops.relu(shifted - tau)), mask)


def sigmoid(scores, mask=None):
    """Return `sigmoid(s - log n)`: each position for itself, so that a row adds up to anything.

    n is the number of positions that a row admits. Source: Ramapuram et al. 2024 (arXiv
    2409.04431), section 3. Difference: the paper's n is fixed, the length of the training
    sequences. Here lengths may differ, and a query that is decoded step by step gets the weights
    that it gets together with the others.
    """
    scores = widen_scores(scores)
    every = ops.ones((ops.shape(scores)[-1],), "bool")
    mask = every if mask is None else ops.logical_and(mask, every)
    count = ops.sum(ops.cast(mask, dtype_of(scores)), axis=-1, keepdims=True)
    return _admitted(ops.sigmoid(scores - ops.log(ops.maximum(count, 1))), mask)


NORMALIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": masked_softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "sigmoid": sigmoid,
    "softmax_one": sink_softmax,
}


def _masked(scores, mask):
    """Return scores in float32 or wider, very low ones where masked."""
    scores = widen_scores(scores)
    return scores if mask is None else ops.where(mask, scores, ops.cast(LOWEST, scores.dtype))


def _admitted(weights, mask):
    """Return weights with exact zeros where masked."""
    return weights if mask is None else ops.where(mask, weights, ops.zeros_like(weights))


def _sorted(scores):
    """Return scores below their row's largest, the same sorted downwards, and 1, 2, ..., S.

    The shift changes no weight, so no gradient goes through it, and none through the order.
    """
    shifted = scores - ops.stop_gradient(ops.max(scores, axis=-1, keepdims=True))
    shifted = ops.maximum(shifted, _OUTSIDE)  # squares of masked scores would be infinite
    ordered = -ops.sort(-ops.stop_gradient(shifted), axis=-1)
    return shifted, ordered, ops.arange(1, ops.shape(scores)[-1] + 1, dtype=dtype_of(scores))


def _support(shifted, ordered, inside):
    """Return 1 for each score that gets weight, else 0, and their number in each row."""
    least = ops.min(ops.where(inside, ordered, ops.zeros_like(ordered)), axis=-1, keepdims=True)
    support = ops.cast(ops.stop_gradient(shifted) >= least, dtype_of(shifted))
    return support, ops.sum(support, axis=-1, keepdims=True)
