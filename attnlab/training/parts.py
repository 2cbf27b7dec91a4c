"""A gradient step in parts: equal slices of a batch's rows, whose gradients are added.

The loss of a part is the sum of its rows' losses, each times the row's share of the weight of the
whole batch, so padding counts nothing and parts may have different numbers of real rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.attention.draws import Part, drawn, part_of_batch
from attnlab.training.keras_internals import replaced_dropout


class Parts(NamedTuple):
    """How many parts a step has."""

    on_device: int = 1  # one after another
    devices: int = 1

    @property
    def number(self) -> int:
        """Return the number of all parts, which divides the rows of each batch."""
        return self.on_device * self.devices

    def filled(self, rows: np.ndarray, padding: int) -> np.ndarray:
        """Return row numbers (..., B) padded at the end so that the parts are equal."""
        missing = -rows.shape[-1] % self.number
        widths = [(0, 0)] * (rows.ndim - 1) + [(0, missing)]
        return np.pad(rows, widths, constant_values=padding) if missing else rows

    def summed(self, compute: Callable[[Part | None], Any], like: Any) -> Any:
        """Return the sum of `compute(part)` over all parts.

        With several devices, each calls this in its replica context, and all get the sum.

        Args:
            compute: returns nested tensors for a part; None is the whole batch.
            like: nested tensors of the same shapes and types.
        """
        if self.number == 1:
            return compute(None)
        if self.devices == 1:
            return self._summed_here(compute, like, 0)
        context = tf.distribute.get_replica_context()
        own = self._summed_here(compute, like, context.replica_id_in_sync_group)
        return context.all_reduce("SUM", own)

    def _summed_here(self, compute: Callable[[Part | None], Any], like: Any, device: Any) -> Any:
        """Return the sum over the parts of one device."""
        first = device * self.on_device
        if self.on_device == 1:
            return _computed(compute, Part(first, self.number))

        def body(at, sums):
            found = _computed(compute, Part(first + at, self.number))
            return at + 1, tf.nest.map_structure(tf.add, sums, found)

        start = tf.constant(0), tf.nest.map_structure(tf.zeros_like, like)
        # Parallel iterations would need the memory of the whole batch.
        _, sums = tf.while_loop(
            lambda at, _: at < self.on_device, body, start, parallel_iterations=1
        )
        return sums


WHOLE = Parts()


def _computed(compute: Callable[[Part | None], Any], part: Part) -> Any:
    with part_of_batch(part), replaced_dropout(drawn):
        return compute(part)
