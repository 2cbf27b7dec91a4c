"""How far the training of a run is: what its checkpoints hold beside the variables."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass
class TrainingState:
    """How far the training of a run is."""

    # A row for each epoch that is over.
    history: list[dict[str, float]] = field(default_factory=list)
    steps_taken: int = 0  # gradient steps of those epochs
    steps_an_epoch: int = 0  # of the first epoch, by which the schedule reckons; 0 before it
    chunks_done: int = 0  # of the epoch under way
    seconds: float = 0.0  # that earlier processes spent on the run
    epoch_seconds: float = 0.0  # that they spent on the epoch under way
    # Of the epoch under way, an array for each chunk done.
    losses: list[np.ndarray] = field(default_factory=list)
    # The number of items or tokens of each of these losses.
    sizes: list[np.ndarray] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """How many are over."""
        return len(self.history)

    @property
    def steps_in_epoch(self) -> int:
        """Gradient steps of the epoch under way."""
        return sum(map(len, self.losses))

    def end_epoch(self, row: dict[str, float]) -> None:
        """Count the epoch under way as over."""
        self.steps_taken += self.steps_in_epoch
        self.history.append(row)
        self.chunks_done, self.epoch_seconds, self.losses, self.sizes = 0, 0.0, [], []

    def to_json(self) -> dict[str, Any]:
        """All but the arrays, JSON-ready."""
        return {k: v for k, v in asdict(self).items() if k not in ("losses", "sizes")}
