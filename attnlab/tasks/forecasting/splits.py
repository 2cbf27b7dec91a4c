"""The parts of a forecasting task, as windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.data import windows


@dataclass(frozen=True)
class Windows:
    """One part of a forecasting task, in model units.

    Attributes:
        history: (N, S, 1) float32, newest last.
        target: (N, horizon) float32.
        index: (N,) int64, position of each first target in the series, or the window's number.
        times: label of each first target; the index as text where there are no times.
    """

    history: np.ndarray
    target: np.ndarray
    index: np.ndarray
    times: list[str]

    def __len__(self) -> int:
        return len(self.target)


def cut(
    values: np.ndarray, index: np.ndarray, times: Sequence[str], history: int, horizon: int
) -> Windows:
    """Windows of a scaled series.

    Args:
        values: (n,) in model units.
        index: (N,) positions of the first targets.
        times: a label for each value.
        history: values before each first target.
        horizon: targets a window.
    """
    scaled = values.astype(np.float32)
    return Windows(
        history=windows.histories(scaled, index, history)[:, :, None].copy(),
        target=windows.targets(scaled, index, horizon).copy(),
        index=index.astype(np.int64),
        times=[times[first] for first in index],
    )


@dataclass(frozen=True)
class Splits:
    """A task's parts.

    Attributes:
        train: what the weights and the scaler are fitted on.
        validation: what epochs and settings are chosen on; None where the protocol has none.
        test: what is reported.
        name: the task's name.
        source: where the data come from.
        digest: SHA-256 of the raw values.
        extra: further parts to report on, such as "extrapolation".
        scaler: the scaling in words.
    """

    train: Windows
    validation: Windows | None
    test: Windows
    name: str
    source: str
    digest: str
    extra: dict[str, Windows] = field(default_factory=dict)
    scaler: str = ""

    def parts(self) -> dict[str, Windows]:
        """The parts that there are, by name, extra ones left out."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: part for name, part in parts.items() if part is not None}

    def part(self, name: str) -> Windows:
        """The windows of "train", "validation", "test" or an extra part.

        Raises:
            ValueError: there is no such part.
        """
        parts = self.parts() | self.extra
        if name not in parts:
            raise ValueError(f"expected a part among {', '.join(parts)}, got {name!r}")
        return parts[name]

    def counts(self) -> dict[str, int]:
        """Windows by part, extra ones left out."""
        return {name: len(part) for name, part in self.parts().items()}

    def describe(self) -> dict[str, Any]:
        """Counts and sizes for a log: JSON-ready."""
        counts = {
            "train": len(self.train),
            "validation": 0 if self.validation is None else len(self.validation),
            "test": len(self.test),
        }
        counts |= {name: len(part) for name, part in self.extra.items()}
        sizes = {"history": self.train.history.shape[1], "horizon": self.train.target.shape[1]}
        return counts | sizes | {"scaler": self.scaler}
