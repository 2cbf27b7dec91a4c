"""Windows of history and targets of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def sliding(start: int, stop: int, horizon: int = 1) -> np.ndarray:
    """Return consecutive positions of first targets whose targets are in [start, stop); int64."""
    return np.arange(start, max(start, stop - horizon + 1), dtype=np.int64)


def histories(values: np.ndarray, index: np.ndarray, history: int) -> np.ndarray:
    """Return the `history` values before each of N positions: (N, history), newest last."""
    return targets(values, index - history, history)


def targets(values: np.ndarray, index: np.ndarray, horizon: int) -> np.ndarray:
    """Return the `horizon` values from each of N positions on: (N, horizon).

    Consecutive positions give a view: copies of long windows would take gigabytes.
    """
    if not len(index):
        return np.empty((0, horizon), dtype=values.dtype)
    if index.min() < 0 or index.max() + horizon > len(values):
        raise ValueError(
            f"windows of {horizon} that start at {index.min()} to {index.max()} "
            f"leave the {len(values)} values"
        )
    views = np.lib.stride_tricks.sliding_window_view(values, horizon)
    return views[index[0] : index[-1] + 1] if np.all(np.diff(index) == 1) else views[index]


@dataclass(frozen=True)
class Windows:
    """One part of a forecasting task, in model units."""

    history: np.ndarray  # (N, S, 1 + K) float32, newest last; the series, then its K inputs
    target: np.ndarray  # (N, horizon) float32
    index: np.ndarray  # (N,) int64, position of each first target, or the window's number
    exact: np.ndarray  # (N, horizon) float64, the targets in the units of the report
    times: np.ndarray  # (N, horizon) label of each target; the index as text without times
    ids: np.ndarray | None = None  # (N,) id of each window's series; None: there is only one series

    def __len__(self) -> int:
        return len(self.target)

    def by_series(self) -> dict[str, np.ndarray | slice]:
        """Return id -> rows of the series' windows; the id of a single series is ""."""
        if self.ids is None:
            return {"": slice(None)}
        return {name: np.flatnonzero(self.ids == name) for name in dict.fromkeys(self.ids)}

    def take(self, rows: np.ndarray) -> Windows:
        """Return the windows at some rows."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return Windows(**{name: column[rows] for name, column in columns.items()})

    def spread(self, count: int) -> np.ndarray:
        """Return `count` rows at equal distances in order of their targets, extremes included."""
        ranks = np.linspace(0, len(self) - 1, min(count, len(self))).astype(int)
        return np.argsort(self.target[:, 0], kind="stable")[ranks]


def joined(parts: Sequence[Windows]) -> Windows:
    """Concatenate the windows of several series."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Windows(*map(concatenate, columns))


def concatenate(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; a single one is not copied, since it may be a view."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
