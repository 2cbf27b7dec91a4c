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
        if math.isnan(value):
            return False
        gain = than - value if self.mode == "min" else value - than
        return math.isnan(than) or gain > self.min_delta

    def best_epoch(self, values: Sequence[float]) -> int:
        """The epoch (from 1) with the best value; the first of equals."""
        best = 0
        for epoch in range(1, len(values)):
            if self.better(values[epoch], values[best]):
                best = epoch
        return best + 1

    def should_stop(self, values: Sequence[float], patience: int | None) -> bool:
        """Whether the last `patience` epochs brought nothing better."""
        if patience is None or not values:
            return False
        return len(values) - self.best_epoch(values) >= patience
