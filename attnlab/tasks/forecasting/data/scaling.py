"""Linear scaling between natural units and the units that a model sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_STATISTICS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "standard": (np.mean, np.std),
    "minmax": (np.min, np.ptp),
}


@dataclass(frozen=True)
class Scaler:
    """scaled = (value - offset) / scale."""

    # "standard" (mean, population standard deviation), "minmax" (minimum, range) or "window" (0,
    # the window's largest absolute value)
    kind: str
    offset: float  # in natural units
    scale: float  # in natural units, above 0

    @classmethod
    def fit(cls, values: np.ndarray, kind: str) -> Scaler:
        """Fit on the values given and on no others; equal values get the scale 1."""
        offset, scale = (statistic(values) for statistic in _STATISTICS[kind])
        differ = np.ptp(values) > 0  # else the deviation may be one of rounding
        return cls(kind, float(offset), float(scale) * differ or 1.0)

    @classmethod
    def for_window(cls, window: np.ndarray) -> Scaler:
        """The scaler that brings one window's largest absolute value to 1; 1 for all zeros."""
        return cls("window", 0.0, float(np.max(np.abs(window))) or 1.0)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Natural units to model units, float64, same shape."""
        return (np.asarray(values, dtype=np.float64) - self.offset) / self.scale

    def invert(self, values: np.ndarray) -> np.ndarray:
        """Model units to natural units, float64, same shape."""
        return np.asarray(values, dtype=np.float64) * self.scale + self.offset

    def describe(self) -> str:
        """One phrase for a log."""
        return f"{self.kind} (offset {self.offset:.6g}, scale {self.scale:.6g})"

    def to_json(self) -> dict[str, Any]:
        """The scaler as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Scaler:
        """The inverse of `to_json`.

        Raises:
            ValueError: content that `to_json` did not write.
        """
        try:
            scaler = cls(str(content["kind"]), float(content["offset"]), float(content["scale"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected kind, offset and scale, got {content!r}") from error
        if not (np.isfinite(scaler.offset) and np.isfinite(scaler.scale) and scaler.scale > 0):
            raise ValueError(f"expected a finite offset and a scale above 0, got {content!r}")
        return scaler
