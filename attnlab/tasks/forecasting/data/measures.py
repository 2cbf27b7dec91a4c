"""Errors of forecasts, and what of the train part they are measured by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnlab.tasks.forecasting.data.scaling import resolution

_LEAST = 1e-280  # of a mean square; below it float64 loses digits of the squares


@dataclass(frozen=True)
class Yardstick:
    """What errors are held against: statistics of the train part, in the units of the report.

    Attributes:
        deviation: population standard deviation, as of scikit-learn's StandardScaler, by which the
            Informer's protocol makes z-scores; None where all values are equal.
        naive_error: mean absolute error of the naive forecast, the value `period` steps back; None
            where it has none, or nothing is that far back.
        period: steps of the season, 1 for no season.
        full_range: the largest minus the smallest value of the whole series, if it is one.
    """

    deviation: float | None
    naive_error: float | None
    period: int = 1
    full_range: float | None = None

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        changes: np.ndarray,
        period: int = 1,
        full_range: float | None = None,
    ) -> Yardstick:
        """The yardstick of the train part's values, and of their changes over a period."""
        # Of equal values the deviation may be one of rounding, and so may what a season misses.
        deviation = float(np.std(values)) if np.ptp(values) else 0.0
        naive_error = float(np.mean(np.abs(changes))) if len(changes) else 0.0
        if naive_error <= resolution(values):
            naive_error = 0.0
        return cls(deviation or None, naive_error or None, period, full_range)

    @classmethod
    def of_series(cls, values: np.ndarray, period: int, full_range: float) -> Yardstick:
        """The yardstick of a series' train part, (n,) with NaN for values that don't count."""
        changes = values[period:] - values[:-period]
        known, changes = values[~np.isnan(values)], changes[~np.isnan(changes)]
        return cls.of(known, changes, period, full_range)

    def notes(self) -> list[str]:
        """Which errors are undefined, and why."""
        found = []
        if self.deviation is None:
            found.append("mse_z and mae_z are undefined: all values of the train part are equal.")
        if self.naive_error is None:
            steps = "the value before" if self.period == 1 else f"the value {self.period} before"
            found.append(
                f"mase is undefined: on the train part the naive forecast ({steps}) has no error, "
                "or nothing to go by."
            )
        if self.full_range == 0:
            found.append("nrmse is undefined: all values are equal.")
        return found


def errors(
    target: np.ndarray, forecast: np.ndarray, yardstick: Yardstick
) -> dict[str, float | None]:
    """Errors over all windows and steps; None for one that is undefined.

    - rmse, mae and mse, and with a full range nrmse = rmse / full range;
    - mse_z and mae_z, those of z-scores, made by the train part (Zhou et al. 2021): mse over the
      square of its standard deviation, mae over that deviation;
    - mase = mae / mean absolute error of the naive forecast one step ahead, or a season ahead, on
      the train part (Hyndman and Koehler 2006), whatever the horizon;
    - smape = mean of 200 |target - forecast| / (|target| + |forecast|), in percent, as in the M4
      competition (Makridakis et al. 2020); difference: where both are 0 it is 0, not undefined.

    `target` and `forecast` are (N, horizon) in the same units.
    """
    error = np.abs(forecast - target)
    (rmse, mse), mae = mean_square(error), float(np.mean(error))
    result: dict[str, float | None] = {"rmse": rmse, "mae": mae, "mse": mse}
    if yardstick.full_range is not None:
        result["nrmse"] = rmse / yardstick.full_range if yardstick.full_range else None
    unit, naive_error = yardstick.deviation, yardstick.naive_error
    size = np.abs(target) + np.abs(forecast)
    shares = np.divide(error, size, out=np.zeros_like(error), where=size != 0)
    return result | {
        "mse_z": None if unit is None else (rmse / unit) * (rmse / unit),
        "mae_z": None if unit is None else mae / unit,
        "mase": None if naive_error is None else mae / naive_error,
        "smape": 200 * float(np.mean(shares)),
    }


def mean_square(errors: np.ndarray) -> tuple[float, float]:
    """Root mean square and mean square; the root even if the squares are beyond float64."""
    with np.errstate(over="ignore", under="ignore"):
        square = float(np.mean(errors**2))
        if _LEAST < square < np.inf or np.isnan(square):
            return square**0.5, square
        largest = float(np.max(np.abs(errors), initial=0.0))
        if not 0 < largest < np.inf:
            return largest, square
        return largest * float(np.mean((errors / largest) ** 2)) ** 0.5, square
