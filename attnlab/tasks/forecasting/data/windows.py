"""Cutting a series into windows of history and the targets that follow; a task's parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from attnlab.tasks.base import TaskData


def sliding(start: int, stop: int, horizon: int = 1) -> np.ndarray:
    """Positions of first targets, one apart, whose targets all lie in [start, stop); int64."""
    return np.arange(start, max(start, stop - horizon + 1), dtype=np.int64)


def blocks(start: int, stop: int, history: int) -> np.ndarray:
    """Positions of the targets when [start, stop) is cut into histories that don't overlap; int64.

    Each target is the first value of the next block, as in the book's chapter 7.
    """
    return np.arange(start + history, stop, history, dtype=np.int64)


def histories(values: np.ndarray, index: np.ndarray, history: int) -> np.ndarray:
    """The `history` of the (n,) values before each of (N,) positions: (N, history), newest last.

    Raises:
        ValueError: a position has fewer values before it.
    """
    return targets(values, index - history, history)


def targets(values: np.ndarray, index: np.ndarray, horizon: int) -> np.ndarray:
    """The `horizon` of the (n,) values from each of (N,) positions on: (N, horizon).

    Where the positions are one apart that is a view: copies of long windows take gigabytes.

    Raises:
        ValueError: a position has fewer values after it.
    """
    if not len(index):
        return np.empty((0, horizon), dtype=values.dtype)
    if index.min() < 0 or index.max() + horizon > len(values):
        raise ValueError(
            f"windows of {horizon} that start at {index.min()} to {index.max()} "
            f"leave the {len(values)} values"
        )
    found = np.lib.stride_tricks.sliding_window_view(values, horizon)
    return found[index[0] : index[-1] + 1] if np.all(np.diff(index) == 1) else found[index]


@dataclass(frozen=True)
class Windows:
    """One part of a forecasting task, in model units."""

    history: np.ndarray  # (N, S, 1 + K) float32, newest last; behind the series its K inputs
    target: np.ndarray  # (N, horizon) float32
    index: np.ndarray  # (N,) int64, position of each first target, or the window's number
    exact: np.ndarray  # (N, horizon) float64, the targets in the units of the report
    times: np.ndarray  # (N, horizon) label of each target; the index as text where none has a time
    ids: np.ndarray | None = None  # (N,) id of each window's series; None: there is only one series

    def __len__(self) -> int:
        return len(self.target)

    def by_series(self) -> dict[str, np.ndarray | slice]:
        """Id -> rows of the series' windows, in order of appearance; "" if there is only one."""
        if self.ids is None:
            return {"": slice(None)}
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.ids):
            found.setdefault(name, []).append(row)
        return {name: np.array(rows) for name, rows in found.items()}

    def take(self, rows: np.ndarray) -> Windows:
        """Some of the windows."""
        own: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        taken: dict[str, Any] = {n: None if each is None else each[rows] for n, each in own.items()}
        return Windows(**taken)

    def spread(self, count: int) -> np.ndarray:
        """Rows from the smallest to the largest target: calm and extreme ones are among them."""
        ranks = np.linspace(0, len(self) - 1, min(count, len(self))).astype(int)
        return np.argsort(self.target[:, 0], kind="stable")[ranks]


def cut(
    values: np.ndarray,
    reported: np.ndarray,
    times: Sequence[str],
    index: np.ndarray,
    history: int,
    horizon: int,
    inputs: np.ndarray | None = None,
    name: str | None = None,
) -> Windows:
    """Windows of a series whose (N,) first targets are at `index`.

    Args:
        values: (n,) in model units.
        reported: (n,) in the units of the report.
        times: (n,) labels.
        index: (N,) positions of first targets.
        history: values before each first target.
        horizon: targets.
        inputs: (n, K) in model units, which only the histories have.
        name: the id of the series, if there are several.
    """
    scaled = values.astype(np.float32)
    columns = [scaled, *([] if inputs is None else inputs.astype(np.float32).T)]
    return Windows(
        history=np.stack([histories(column, index, history) for column in columns], axis=-1),
        target=targets(scaled, index, horizon).copy(),
        index=index.astype(np.int64),
        exact=targets(reported, index, horizon),
        # References to the labels: copies of them would take more memory than all numbers.
        times=targets(np.array(times, dtype=object), index, horizon),
        ids=None if name is None else np.full(len(index), name, dtype=object),
    )


def joined(parts: Sequence[Windows]) -> Windows:
    """The windows of several series as one part; of one series its own, without a copy."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(Windows)
    }
    return Windows(**columns)


@dataclass(frozen=True, kw_only=True)
class Splits(TaskData):
    """A task's parts."""

    train: Windows  # what the weights and the scaler are fitted on
    validation: Windows | None = None  # what epochs and settings are chosen on, where there is one
    test: Windows  # what is reported
    name: str  # the task's name
    source: str  # where the data come from
    digest: str  # SHA-256 of the raw values
    extra: dict[str, Windows] = field(default_factory=dict)  # more to report on: "extrapolation"
    scaler: str = ""  # the scaling in words

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

    @property
    def longest(self) -> int:
        """Values of a window's history."""
        return self.train.history.shape[1]

    def counts(self) -> dict[str, int]:
        """Windows by part, extra ones left out."""
        return {name: len(part) for name, part in self.parts().items()}

    def describe(self) -> dict[str, Any]:
        """Counts and sizes for a log: JSON-ready."""
        counts = {"train": 0, "validation": 0, "test": 0} | self.counts()
        counts |= {name: len(part) for name, part in self.extra.items()}
        sizes = {"history": self.train.history.shape[1], "horizon": self.train.target.shape[1]}
        return counts | sizes | {"scaler": self.scaler}
