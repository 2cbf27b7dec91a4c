"""Linear scaling between natural units and model units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    @classmethod
    def for_window(cls, window: np.ndarray) -> Scaler:
        """Return the scaler that divides by the window's largest absolute value; 1 for zeros."""
        return cls("window", 0.0, 0.0, float(np.max(np.abs(window))) or 1.0)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Convert natural units to model units, float64, same shape."""
        return (np.asarray(values, dtype=np.float64) - self.level - self.offset) / self.scale

    def invert(self, values: np.ndarray) -> np.ndarray:
        """Convert model units to natural units, float64, same shape."""
        return np.asarray(values, dtype=np.float64) * self.scale + self.offset + self.level

    def describe(self) -> str:
        """Return a description for the log."""
        return f"{self.kind} (offset {self.level + self.offset:.6g}, scale {self.scale:.6g})"

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
