"""What greedy and beam search share: rows that leave the batch when they are done.

A batch of sentences ends at different steps. Whenever half of its rows are done, the others go on
as a smaller batch, so that the last long sentence doesn't make all of them pay. All of it is one
graph: Python and the host see nothing but the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from attnlab.text.tokenizers import START

# Logits that `largest` compares at once.
_BLOCK = 32


class Decoded(NamedTuple):
    """Hypotheses of a batch as tensors; N of them a sentence, in any order."""

    tokens: Any  # (B, N, L) int32 without START and END; what lies behind `lengths` is PAD
    lengths: Any  # (B, N) int32, tokens, END not counted
    log_probabilities: Any  # (B, N) float32, END included; -inf: no hypothesis


class ActiveRows(NamedTuple):
    """The sentences that are still decoded; n of them, each with `width` hypotheses."""

    numbers: Any  # (n,) int32, places in the batch that was given
    limits: Any  # (n,) int32, most tokens of a hypothesis, END counted; the last one must be END
    done: Any  # (n,) bool
    result: Any  # a structure of (n, ...) tensors: what was found so far
    tokens: Any  # (n * width,) int32, the last token of each hypothesis
    memory: Any  # the model's memory, a structure of (n * width, ...) tensors
    state: Any  # the decoder's state, a structure of (n * width, ...) tensors


def all_active(model, memory, limits, result, longest) -> ActiveRows:
    """All sentences of a batch before the first step, a hypothesis each."""
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

    `advance(index, rows)` takes one step with all rows; what it finds for a row that is done is not
    kept. `first` is the first step's index, `width` the hypotheses a row. `shrink` goes on with the
    unfinished half; it needs dynamic shapes, so there is none under XLA. Gives the result of all
    rows, in the order of the batch.
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
    """Take steps while more than `most` rows are not done."""
    changing = ("done", "result", "tokens", "state")

    def body(index, *before):
        done, result = before[:2]
        after = advance(index, rows._replace(**dict(zip(changing, before, strict=True))))

        def kept(old, new):
            over = tf.reshape(done, (-1,) + (1,) * (len(old.shape) - 1))
            return tf.where(over, old, new)

        found = tf.nest.map_structure(kept, result, after.result)
        changed = (done | after.done, found, after.tokens, after.state)
        # Shapes stay: the loop is told where a step's own shape inference is less sure.
        for old, new in zip(tf.nest.flatten(before), tf.nest.flatten(changed), strict=True):
            new.set_shape(old.shape)
        return index + 1, *changed

    def cond(_, done, *__):
        return tf.reduce_sum(tf.cast(tf.logical_not(done), tf.int32)) > most

    start = (tf.convert_to_tensor(first), *(getattr(rows, name) for name in changing))
    index, *after = tf.while_loop(cond, body, start, parallel_iterations=1)
    return index, rows._replace(**dict(zip(changing, after, strict=True)))


def _taken(rows: ActiveRows, places, width: int) -> ActiveRows:
    """Go on with some of the rows only."""
    hypotheses = tf.reshape(places[:, None] * width + tf.range(width), (-1,))
    of_rows, of_hypotheses = (partial(tf.gather, indices=each) for each in (places, hypotheses))
    sentence = (rows.numbers, rows.limits, rows.done, rows.result)
    going_on = (rows.tokens, rows.memory, rows.state)
    return ActiveRows(
        *tf.nest.map_structure(of_rows, sentence), *tf.nest.map_structure(of_hypotheses, going_on)
    )


def largest(logits, count: int):
    """The `count` largest of each row with their places, (N, V) to twice (N, count).

    That is `top_k`, which on a CPU takes as long as the product that the logits come from. Blocks
    are cheaper to compare: the largest of a row lie in the `count` blocks that have the largest
    maxima, and only these are searched.
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
    return values, tf.minimum(tokens, size - 1)  # of a row that isn't finite


def normalizers(logits, maxima):
    """`log sum exp` of each row, (N,) of logits (N, V) whose maxima (N,) are known."""
    return maxima + tf.math.log(tf.reduce_sum(tf.exp(logits - maxima[:, None]), -1))
