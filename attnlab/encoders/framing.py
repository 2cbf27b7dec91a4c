"""Rows as encoders read them, of tokens as the models of several kinds have them."""

from __future__ import annotations

from keras import ops

from attnlab.text.tokenizers import END, PAD, START


def framed(tokens):
    """START, the tokens of texts (B, S), END, and PAD where a text has ended: (B, 2 + S).

    PAD stands behind texts alone.
    """
    ones = ops.ones_like(tokens[:, :1])
    rows = ops.concatenate([START * ones, tokens, PAD * ones], axis=1)
    ends = ops.sum(ops.cast(ops.not_equal(rows, PAD), "int32"), axis=1, keepdims=True)
    places = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(places == ends, ops.cast(END, rows.dtype), rows)


def closed_up(tokens):
    """Rows (B, S) without the PAD between two texts, END behind the second: (B, S + 1).

    Also where each token of a row stands now, (B, S); PAD stands behind the last END.
    """
    real = ops.cast(ops.not_equal(tokens, PAD), "int32")
    before = ops.cumsum(real, axis=1) - real
    count = ops.sum(real, axis=1, keepdims=True)
    padding = ops.cumsum(1 - real, axis=1) - (1 - real)
    places = ops.where(real == 1, before, count + padding)  # padding goes behind, in its order
    # Each place is taken once, so that the inverse of the order is its sorting.
    rows = ops.take_along_axis(tokens, ops.argsort(places, axis=1), axis=1)
    rows = ops.concatenate([rows, PAD * ops.ones_like(rows[:, :1])], axis=1)
    at = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(at == count, ops.cast(END, rows.dtype), rows), places
