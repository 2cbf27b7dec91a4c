"""Greedy decoding: the likeliest token at each step."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from attnlab.tasks.translation.decoding.rows import (
    Decoded,
    Rows,
    forbidden,
    normalizers,
    run_until_done,
)
from attnlab.tasks.translation.models.translator import END, START


class _Written(NamedTuple):
    """What was decoded: (n, L) tokens, (n,) how many without END, (n,) log-probability."""

    tokens: Any
    lengths: Any
    log_probabilities: Any


def decode_greedily(model, source, limits, longest, *, shrink: bool = True) -> Decoded:
    """Translate a batch, always going on with the likeliest token; one hypothesis a sentence.

    At its longest length a translation is closed as it is, with END. Arguments are those of
    `decode_by_beam`.
    """
    memory = model.encode(source, training=False)
    count = tf.shape(source)[0]
    rows = Rows(
        numbers=tf.range(count),
        limits=limits,
        done=tf.zeros((count,), tf.bool),
        result=_Written(
            tokens=tf.zeros((count, longest), tf.int32),
            lengths=tf.zeros((count,), tf.int32),
            log_probabilities=tf.zeros((count,)),
        ),
        tokens=tf.fill((count,), START),
        memory=memory,
        state=model.initial_state(memory, None if shrink else longest),
    )
    written = run_until_done(_advance(model), rows, 0, width=1, shrink=shrink)
    return Decoded(*(part[:, None] for part in written))


def _advance(model):
    bias = forbidden(model.target_size)

    def advance(index, rows: Rows) -> Rows:
        step = model.step(rows.tokens, index, rows.memory, rows.state)
        likeliest = tf.argmax(step.logits + bias, -1, output_type=tf.int32)
        tokens = tf.where(index + 1 >= rows.limits, END, likeliest)
        chosen = tf.gather(step.logits, tokens, batch_dims=1)
        logs = chosen - normalizers(step.logits, tf.reduce_max(step.logits, -1))
        ended = tf.equal(tokens, END)
        return rows._replace(
            done=ended,
            result=_written(rows.result, index, tokens, logs, ended),
            tokens=tokens,
            state=step.state,
        )

    return advance


def _written(before: _Written, index, tokens, logs, ended) -> _Written:
    here = tf.equal(tf.range(tf.shape(before.tokens)[1]), index)
    writes = tf.logical_not(ended)
    return _Written(
        tokens=tf.where(writes[:, None] & here, tokens[:, None], before.tokens),
        lengths=before.lengths + tf.cast(writes, tf.int32),
        log_probabilities=before.log_probabilities + logs,
    )
