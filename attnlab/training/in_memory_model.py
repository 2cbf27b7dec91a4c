"""What a program of `epoch_program` trains."""

from __future__ import annotations

from typing import Any

import keras


class InMemoryModel(keras.Model):
    """A model whose data stay in memory; runs of it may be stacked.

    Attributes:
        rate_factors: a factor of the learning rate for each trained variable; None: 1.
        fixed_length: the only length of its inputs that the weights fit; None: any length fits.
        faster_with_xla: whether XLA trains it faster than the graph on this CPU.
    """

    rate_factors: list[float] | None = None
    fixed_length: int | None = None
    faster_with_xla: bool = False

    def encode(self, inputs: Any, training: bool | None = None) -> tuple:
        """What `decode` needs of inputs (..., B, S, ...); leading axes are those of stacked runs.

        A model that loops over steps does it here, once for all runs of a stack.
        """
        return (inputs,)

    def decode(self, encoded: tuple, training: bool | None = None) -> Any:
        """The outputs (B, ...) of one run from its part of what `encode` made."""
        return self(*encoded, training=training)

    def attend(self, inputs: Any) -> Any:
        """Attention weights on some inputs; None where nothing attends."""
        return None

    def stackable(self, batch: int) -> int:
        """How many runs train faster in one stack, with batches of a size, than one by one."""
        return 1
