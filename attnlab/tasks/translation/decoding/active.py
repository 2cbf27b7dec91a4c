"""The decoding loop of greedy and beam search, in which finished rows leave the batch.

The sentences of a batch end at different steps. Whenever half of the rows are done, the others
continue as a smaller batch, so that one long sentence doesn't slow down all others. The whole loop
is one graph: only the result returns to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from attnlab.text.tokenizers import START

# Logits in a block of `largest`.
_BLOCK = 32


class Decoded(NamedTuple):
    """Hypotheses of a batch as tensors; N per sentence, in any order."""

    tokens: Any  # (B, N, L) int32 without START and END, padded with PAD
    lengths: Any  # (B, N) int32, tokens, END not counted
    log_probabilities: Any  # (B, N) float32, END included; -inf: no hypothesis


class ActiveRows(NamedTuple):
    """The n sentences that are still being decoded, each with `width` hypotheses."""

    numbers: Any  # (n,) int32, places in the original batch
    limits: Any  # (n,) int32, most tokens of a hypothesis, END included; the last one must be END
    done: Any  # (n,) bool
    result: Any  # a structure of (n, ...) tensors: the hypotheses so far
    tokens: Any  # (n * width,) int32, the last token of each hypothesis
    memory: Any  # the model's memory, a structure of (n * width, ...) tensors
    state: Any  # the decoder's state, a structure of (n * width, ...) tensors


def all_active(model, memory, limits, result, longest) -> ActiveRows:
    """Return all sentences of a batch before the first step, with one hypothesis each."""
    count = tf.shape(limits)[0]
    return ActiveRows(
        numbers=tf.range(count),
        limits=limits,
        done=tf.zeros((count,), tf.bool),
        result=result,
        tokens=tf.fill((count,), START),
        memory=memory,
        state=model.initial_state(memory, longest),
    )


def run_until_done(
    advance: Callable[[Any, ActiveRows], ActiveRows],
    rows: ActiveRows,
    first,
    *,
    width: int,
    shrink: bool,
):
    """Advance step by step until all rows are done.

    `advance(index, rows)` runs one step on all rows; its results for finished rows are discarded.
    `first` is the index of the first step, `width` the number of hypotheses per row. `shrink`
    continues with the unfinished half; it needs dynamic shapes, so it doesn't work under XLA.
    Returns the result of all rows, in the order of the batch.
    """
    if not shrink:
        return _advanced(advance, rows, first, 0)[1].result

    def body(index, rows, results):
        index, rows = _advanced(advance, rows, index, tf.shape(rows.numbers)[0] // 2)
        places = rows.numbers[:, None]
        results = tf.nest.map_structure(
            lambda whole, part: tf.tensor_scatter_nd_update(whole, places, part),
            results,
            rows.result,
        )
        left = tf.reshape(tf.where(tf.logical_not(rows.done)), (-1,))
        return index, _taken(rows, tf.cast(left, tf.int32), width), results

    def cond(_, rows, __):
        return tf.shape(rows.numbers)[0] > 0

    start = (tf.convert_to_tensor(first), rows, rows.result)
    return tf.while_loop(cond, body, start, parallel_iterations=1)[2]


def _advanced(advance, rows: ActiveRows, first, most):
    """Run steps while more than `most` rows are not done."""
    changing = ("done", "result", "tokens", "state")

    def body(index, *before):
        done, result = before[:2]
        after = advance(index, rows._replace(**dict(zip(changing, before, strict=True))))

        def kept(old, new):
            over = tf.reshape(done, (-1,) + (1,) * (len(old.shape) - 1))
            return tf.where(over, old, new)

        found = tf.nest.map_structure(kept, result, after.result)
        changed = (done | after.done, found, after.tokens, after.state)
        # The loop requires constant shapes, which the inference for a step doesn't always find.
        for old, new in zip(tf.nest.flatten(before), tf.nest.flatten(changed), strict=True):
            new.set_shape(old.shape)
        return index + 1, *changed

    def cond(_, done, *__):
        return tf.reduce_sum(tf.cast(tf.logical_not(done), tf.int32)) > most

    start = (tf.convert_to_tensor(first), *(getattr(rows, name) for name in changing))
    index, *after = tf.while_loop(cond, body, start, parallel_iterations=1)
    return index, rows._replace(**dict(zip(changing, after, strict=True)))


def _taken(rows: ActiveRows, places, width: int) -> ActiveRows:
    """Return only the rows at some places."""
    hypotheses = tf.reshape(places[:, None] * width + tf.range(width), (-1,))
    of_rows, of_hypotheses = (partial(tf.gather, indices=each) for each in (places, hypotheses))
    sentence = (rows.numbers, rows.limits, rows.done, rows.result)
    going_on = (rows.tokens, rows.memory, rows.state)
    return ActiveRows(
        *tf.nest.map_structure(of_rows, sentence), *tf.nest.map_structure(of_hypotheses, going_on)
    )


def largest(logits, count: int):
    """Return the `count` largest of each row and their places, (N, V) to twice (N, count).

    The result is that of `top_k`, which on a CPU takes as long as the matrix product that computes
    the logits. This is faster: the largest of a row are in the `count` blocks with the largest
    maxima, so only these are searched.
    """
    size = logits.shape[-1]
    if size < 4 * _BLOCK * count:
        return tf.math.top_k(logits, count)
    blocks = -(-size // _BLOCK)
    if size < blocks * _BLOCK:
        missing = blocks * _BLOCK - size
        logits = tf.pad(logits, ((0, 0), (0, missing)), constant_values=float("-inf"))
    parts = tf.reshape(logits, (-1, blocks, _BLOCK))
    numbers = tf.math.top_k(tf.reduce_max(parts, -1), count).indices
    candidates = tf.reshape(tf.gather(parts, numbers, batch_dims=1), (-1, count * _BLOCK))
    values, places = tf.math.top_k(candidates, count)
    tokens = tf.gather(numbers, places // _BLOCK, batch_dims=1) * _BLOCK + places % _BLOCK
    return values, tf.minimum(tokens, size - 1)  # the padding is found if a row has NaN


def normalizers(logits, maxima):
    """Return `log sum exp` of each row, (N,), of logits (N, V) with their maxima (N,)."""
    return maxima + tf.math.log(tf.reduce_sum(tf.exp(logits - maxima[:, None]), -1))
