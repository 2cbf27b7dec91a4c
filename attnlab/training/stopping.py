"""Which epoch is best, and when to stop: functions of the history alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Monitor:
    """A metric and its good direction.

    Attributes:
        metric: column of the history, for example `val_loss`.
        mode: `min` or `max`.
        min_delta: how much better counts as better.
    """

    metric: str
    mode: str = "min"
    min_delta: float = 0.0

    def better(self, value: float, than: float) -> bool:
        """Whether `value` beats `than` by more than `min_delta`; NaN beats nothing."""
        gain = than - value if self.mode == "min" else value - than
        return gain > self.min_delta

    def best_epoch(self, values: Sequence[float], losses: Sequence[float] = ()) -> int:
        """The epoch (from 1) with the best value; the last if none is scored.

        Of equal values the one with the smallest loss counts, and of those the first: BLEU is 0
        until four words in a row are right, and accuracy has few values on few items.

        Args:
            values: of each epoch; NaN where it was not scored.
            losses: of each epoch; NaN or none at all where they aren't known.
        """
        best = None
        for epoch, value in enumerate(values, 1):
            if math.isnan(value):
                continue
            if best is None or self.better(value, values[best - 1]):
                best = epoch
            elif value == values[best - 1] and losses and losses[epoch - 1] < losses[best - 1]:
                best = epoch
        return best or len(values)

    def should_stop(
        self, values: Sequence[float], patience: int | None, losses: Sequence[float] = ()
    ) -> bool:
        """Whether the last `patience` epochs that were scored brought nothing better."""
        if patience is None:
            return False
        return len(scored(values[self.best_epoch(values, losses) :])) >= patience


def scored(values: Sequence[float]) -> list[float]:
    """The values of epochs that were scored: all but NaN."""
    return [value for value in values if not math.isnan(value)]
