"""A series of numbers in order of time: its parts, its scalers, and the windows of each part."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.data import windows
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.scaling import Scaler, scale_columns
from attnlab.tasks.forecasting.data.steps import labels_around
from attnlab.tasks.forecasting.data.windows import Windows


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """Equally spaced values, oldest first, and further inputs at the same times.

    Attributes:
        columns: (n, 1 + K) in natural units: the series, then its K inputs.
        scalers: of the columns; empty: see `scalers_of`.
        times: (n,) a label per value; the position, from 0, as text if there are no times. The end
            of a series has only the last one.
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
        return self.scalers or (Scaler.for_window(window[:, 0]),)

    @property
    def train_end(self) -> int:
        """Return the position of the first value after the train part."""
        return next(start for part, start in self.borders.items() if part != "train")

    def windows(self, part: str, history: int, horizon: int) -> Windows:
        """Return the windows of a part; inputs are only in their histories."""
        index = self.first[part]
        scaled = scale_columns(self.scalers, self.columns).astype(np.float32)
        return Windows(
            history=np.stack(
                [windows.histories(column, index, history) for column in scaled.T], axis=-1
            ),
            target=windows.targets(scaled[:, 0], index, horizon).copy(),
            index=index.astype(np.int64),
            exact=windows.targets(self.values, index, horizon),
            # References to the labels: copies of them would take more memory than all numbers.
            times=windows.targets(np.array(self.times, dtype=object), index, horizon),
            ids=np.full(len(index), self.id, dtype=object) if self.id else None,
        )

    def validation_targets(self, ahead: int) -> np.ndarray:
        """Return `ahead` values from each first validation target on, NaN after the part's end."""
        values = np.append(self.values[: self.borders["test"]], np.full(ahead, np.nan))
        return windows.targets(values, self.first["validation"], ahead)

    def yardstick(self, period: int | None) -> Yardstick:
        """Return the statistics that normalize its errors."""
        before_test, lag = self.values[: self.borders["test"]], period or 1
        changes = before_test[lag:] - before_test[:-lag]
        return Yardstick.of(before_test[: self.train_end], changes, float(np.ptp(self.values)))

    def end(self, history: int) -> TimeSeries:
        """Return the newest values, from which the series is forecast."""
        return replace(self, columns=self.columns[-history:], times=self.times[-1:])

    def labels(self, steps: int, before: int = 0) -> Sequence[str]:
        """Return labels of the newest `before` values and the next `steps`; see `labels_around`."""
        return labels_around(self.times[-1], self.step, steps, before)

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
