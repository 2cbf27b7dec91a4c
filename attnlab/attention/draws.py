"""Random draws in a part of a batch: those that the whole batch would make for its rows.

A training step may be computed in parts: one after another, or on several devices. A layer draws
for the whole batch and takes the rows of its part, so that draws depend on (seed, step, row) only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import tensorflow as tf
from keras import ops


class Part(NamedTuple):
    """One of several equal slices of a batch's rows."""

    index: Any  # from 0; a number or a tensor
    number: int  # of parts


_part: Part | None = None  # of the step that is being traced


def current_part() -> Part | None:
    """Return the part that the code being traced computes; None for a whole batch."""
    return _part


@contextmanager
def part_of_batch(part: Part) -> Iterator[None]:
    """Make the body's layers draw for one part of a batch."""
    global _part
    before, _part = _part, part
    try:
        yield
    finally:
        _part = before


def rows_of(part: Part, tensor: Any, axis: int = 0) -> Any:
    """Return the rows of a part of a tensor whose axis `axis` has the rows of all parts."""
    shape = [*ops.shape(tensor)]
    parted = [*shape[:axis], part.number, shape[axis] // part.number, *shape[axis + 1 :]]
    return tf.gather(tf.reshape(tensor, parted), part.index, axis=axis)


def drawn(draw: Callable[[Sequence[Any]], Any], shape: Sequence[Any]) -> Any:
    """Return random numbers (B, ...), for a part those of its rows.

    Args:
        draw: `draw(shape)` returns random numbers; the axis 0 of the shape are rows.
        shape: of the result.
    """
    if _part is None:
        return draw(shape)
    return rows_of(_part, draw((shape[0] * _part.number, *shape[1:])))
