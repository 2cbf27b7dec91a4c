"""Convert padded rows of tokens to the rows that encoders read, with START and END."""

from __future__ import annotations

from keras import ops

from attnlab.text.tokenizers import END, PAD, START


def with_start_and_end(tokens):
    """Put START before texts (B, S) and END after them: (B, 2 + S).

    PAD may only be at the end of a row.
    """
    ones = ops.ones_like(tokens[:, :1])
    rows = ops.concatenate([START * ones, tokens, PAD * ones], axis=1)
    ends = ops.sum(ops.cast(ops.not_equal(rows, PAD), "int32"), axis=1, keepdims=True)
    places = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(places == ends, ops.cast(END, rows.dtype), rows)


def without_gap(tokens):
    """Remove the PAD between the two texts of rows (B, S), and append END: (B, S + 1).

    Also returns the new position of each token, (B, S). PAD moves to the end of a row.
    """
    real = ops.cast(ops.not_equal(tokens, PAD), "int32")
    before = ops.cumsum(real, axis=1) - real
    count = ops.sum(real, axis=1, keepdims=True)
    padding = ops.cumsum(1 - real, axis=1) - (1 - real)
    places = ops.where(real == 1, before, count + padding)  # padding moves to the end, in order
    # `places` is a permutation, so `argsort` inverts it.
    rows = ops.take_along_axis(tokens, ops.argsort(places, axis=1), axis=1)
    rows = ops.concatenate([rows, PAD * ops.ones_like(rows[:, :1])], axis=1)
    at = ops.arange(ops.shape(rows)[1])[None]
    return ops.where(at == count, ops.cast(END, rows.dtype), rows), places
