"""A series of numbers in order of time: its scalers, its parts, and the windows of each part."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np


def resolution(values: np.ndarray) -> float:
    """Return the size of rounding errors of forecasts of some values, in natural units.

    Outputs of a network are float32 in units of the values' range; data are float64.
    """
    if not np.size(values):
        return 0.0
    single, double = (float(np.finfo(kind).eps) for kind in (np.float32, np.float64))
    return max(single * float(np.ptp(values)), double * float(np.max(np.abs(values))))


def level_of(values: np.ndarray) -> float:
    """Return the first value if subtracting it from all values is exact, else 0.

    It is exact if all values have the same sign and their sizes differ by at most a factor of two
    (Sterbenz 1974). Subtracting it preserves small differences between large values.
    """
    sizes = np.abs(values)
    same_sign = np.all(values > 0) or np.all(values < 0)
    return float(values[0]) if same_sign and sizes.max() <= 2 * sizes.min() else 0.0


@dataclass(frozen=True)
class Scaler:
    """scaled = (value - level - offset) / scale, in float64; all in natural units, scale above 0.

    The kind is "standard" (mean, population standard deviation), "minmax" (minimum, range) or
    "window" (0, the window's largest absolute value). The level is subtracted first, so that the
    mean of large values loses no digits; see `level_of`.
    """

    kind: str
    level: float
    offset: float
    scale: float

    @classmethod
    def fit(cls, values: np.ndarray, kind: str) -> Scaler:
        """Fit a scaler on values; equal values get the scale 1."""
        values = np.asarray(values, dtype=np.float64)
        level = level_of(values)
        statistics = (np.mean, np.std) if kind == "standard" else (np.min, np.ptp)
        offset, scale = (statistic(values - level) for statistic in statistics)
        differ = np.ptp(values) > 0  # else the deviation may be a rounding error
        return cls(kind, level, float(offset), float(scale) * differ or 1.0)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Convert natural units to model units, float64, same shape."""
        return (np.asarray(values, dtype=np.float64) - self.level - self.offset) / self.scale

    def invert(self, values: np.ndarray) -> np.ndarray:
        """Convert model units to natural units, float64, same shape."""
        return np.asarray(values, dtype=np.float64) * self.scale + self.offset + self.level

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Scaler:
        """Make a scaler of its fields; other content raises `TypeError` or `ValueError`."""
        scaler = cls(**content)
        if not np.isfinite(scaler.level + scaler.offset + scaler.scale) or scaler.scale <= 0:
            raise ValueError(f"expected finite numbers and a scale above 0, got {content!r}")
        return scaler


def scale_columns(scalers: Sequence[Scaler], columns: np.ndarray) -> np.ndarray:
    """Convert columns (n, 1 + K) to model units, each with its own scaler."""
    return np.column_stack([s.apply(column) for s, column in zip(scalers, columns.T, strict=True)])


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

    def spread(self, count: int) -> Windows:
        """Return `count` windows at equal distances in order of their targets, with both ends."""
        ranks = np.linspace(0, len(self) - 1, min(count, len(self))).astype(int)
        return self.take(np.argsort(self.target[:, 0], kind="stable")[ranks])


def join_windows(parts: Sequence[Windows]) -> Windows:
    """Concatenate the windows of several series."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Windows(*map(concatenate, columns))


def concatenate(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; a single one is not copied, since it may be a view."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """Equally spaced values, oldest first, and further inputs at the same times.

    Attributes:
        columns: (n, 1 + K) in natural units: the series, then its K inputs.
        scalers: of the columns; empty: see `scalers_of`.
        times: (n,) a label per value, which `windows` needs: the position, from 0, as text if there
            are no times. The end of a series has only the last one.
        step: from each time to the next, as pandas names it; None: there are no times.
        id: of the series, if there are several.
        borders: part -> position of its first value, in order of time.
        first: part -> positions of the first targets of its windows.
    """

    columns: np.ndarray
    scalers: tuple[Scaler, ...] = ()
    times: Sequence[str] = ("",)
    step: str | None = None
    id: str = ""
    borders: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        """Return the series, (n,) in natural units."""
        return self.columns[:, 0]

    @property
    def scaled(self) -> np.ndarray:
        """Return the series, (n,) in model units."""
        return self.scalers[0].apply(self.values)

    def scalers_of(self, window: np.ndarray) -> tuple[Scaler, ...]:
        """Return the scalers of a window (S, 1 + K); without any, its largest value is the unit."""
        largest = float(np.max(np.abs(window[:, 0]))) or 1.0
        return self.scalers or (Scaler("window", 0.0, 0.0, largest),)

    @property
    def train_end(self) -> int:
        """Return the position of the first value after the train part."""
        return next(start for part, start in self.borders.items() if part != "train")

    def windows(self, part: str, history: int, horizon: int) -> Windows:
        """Return the windows of a part; inputs are only in their histories."""
        index = self.first[part]
        scaled = scale_columns(self.scalers, self.columns).astype(np.float32)
        return Windows(
            history=np.stack([histories(column, index, history) for column in scaled.T], axis=-1),
            target=targets(scaled[:, 0], index, horizon).copy(),
            index=index.astype(np.int64),
            exact=targets(self.values, index, horizon),
            # References to the labels: copies of them would take more memory than all numbers.
            times=targets(np.array(self.times, dtype=object), index, horizon),
            ids=np.full(len(index), self.id, dtype=object) if self.id else None,
        )

    def end(self, history: int) -> TimeSeries:
        """Return the newest values, from which the series is forecast."""
        return replace(self, columns=self.columns[-history:], times=self.times[-1:])

    def labels(self, steps: int, before: int = 0) -> Sequence[str]:
        """Return labels of the newest `before` values, and of the next `steps`.

        Without a step, and after the last year that pandas has, they are `+1`, `+2`.
        """
        if self.step is not None:
            import pandas as pd

            from attnlab.tasks.forecasting.steps import time_labels

            with suppress(ValueError, OverflowError):
                last, spacing = pd.Timestamp(self.times[-1]), {"freq": self.step, "unit": "us"}
                times = pd.date_range(end=last, periods=before, **spacing)
                return time_labels(
                    times.append(pd.date_range(last, periods=steps + 1, **spacing)[1:]), self.step
                )
        return [f"{ahead:+d}" for ahead in range(1 - before, steps + 1)]

    def to_json(self) -> dict[str, Any]:
        """Return the end of a series as a JSON object."""
        return {
            "id": self.id,
            "values": self.columns.tolist(),
            "scalers": [asdict(scaler) for scaler in self.scalers],
            "last_time": self.times[-1],
            "step": self.step,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TimeSeries:
        """Make the end of a series from the result of `to_json`; raise `ValueError` for others."""
        columns = np.array(content["values"], dtype=np.float64)
        if columns.ndim != 2:
            raise ValueError(f"expected rows of values, got {columns.ndim} dimensions")
        scalers = tuple(Scaler.from_json(scaler) for scaler in content["scalers"])
        return cls(columns, scalers, [content["last_time"]], content["step"], content["id"])


def digest(*arrays: np.ndarray) -> str:
    """Return the SHA-256 of the arrays' values as little-endian float64 bytes, in this order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return state.hexdigest()
