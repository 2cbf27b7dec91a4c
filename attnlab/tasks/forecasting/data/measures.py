"""Errors of forecasts, the statistics of the series that normalize them, and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab.tasks.forecasting.data.scaling import resolution

LEVEL = 0.95
FEWEST = round(2 / (1 - LEVEL)) - 1  # errors of a step that an interval needs
AHEAD = 24  # the last step that gets an interval, if the horizon is shorter
Errors = Mapping[str, Any]  # metric -> a float, or None if it is undefined


@dataclass(frozen=True)
class Yardstick:
    """Statistics that normalize the errors of a series, in the units of the report.

    Attributes:
        deviation: population standard deviation of the train part, as in scikit-learn's
            StandardScaler, which the Informer's protocol uses for z-scores; None if all values
            are equal.
        naive_error: mean absolute error of the naive forecast, the value a season back, on all
            values before the test part; None if it is 0 or there are too few values.
        full_range: largest minus smallest value of the whole series; None if there is no series.
    """

    deviation: float | None
    naive_error: float | None
    full_range: float | None = None

    @classmethod
    def of(
        cls, values: np.ndarray, changes: np.ndarray, full_range: float | None = None
    ) -> Yardstick:
        """Make the yardstick of train values, and of `changes`, the errors of a naive forecast."""
        # The deviation of equal values may be a rounding error, and so may the naive error.
        deviation = float(np.std(values)) if np.ptp(values) else None
        naive_error = float(np.mean(np.abs(changes))) if len(changes) else 0.0
        return cls(deviation, naive_error if naive_error > resolution(values) else None, full_range)


def errors(target: np.ndarray, forecast: np.ndarray, yardstick: Yardstick) -> dict[str, Any]:
    """Return the errors over all windows and steps of a series; None for an undefined one.

    - rmse, mae and mse, and with a full range nrmse = rmse / full range;
    - mse_z and mae_z, those of z-scores, made by the train part (Zhou et al. 2021);
    - mase = mae / mean absolute error of the naive forecast one step ahead, or a season ahead,
      before the test part (Hyndman and Koehler 2006), at any horizon, as in the M4 competition;
    - smape = mean of `percentages`, as in the M4 competition (Makridakis et al. 2020).

    `target` and `forecast` are (N, horizon) in the same units.
    """
    error = np.abs(forecast - target)
    mse, mae = float(np.mean(error**2)), float(np.mean(error))
    rmse = mse**0.5

    def relative(size: float, unit: float | None) -> float | None:
        return size / unit if unit else None

    rmse_z = relative(rmse, yardstick.deviation)
    result: dict[str, Any] = {"rmse": rmse, "mae": mae, "mse": mse}
    if yardstick.full_range is not None:
        result["nrmse"] = relative(rmse, yardstick.full_range)
    return result | {
        "mse_z": None if rmse_z is None else rmse_z * rmse_z,
        "mae_z": relative(mae, yardstick.deviation),
        "mase": relative(mae, yardstick.naive_error),
        "smape": float(np.mean(percentages(target, forecast))),
    }


def percentages(target: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    """Return 200 |target - forecast| / (|target| + |forecast|), in percent.

    If both are 0, the result is 0; in the M4 competition it is undefined.
    """
    error, size = np.abs(forecast - target), np.abs(target) + np.abs(forecast)
    return 200 * np.divide(error, size, out=np.zeros_like(error), where=size != 0)


def mean_errors(scores: Mapping[str, Errors], counts: Mapping[str, int]) -> dict[str, Any]:
    """Average the errors of several series, given with the number of targets by id.

    rmse, mae and mse are over all targets. The others have no units, so they are unweighted means
    over the series, as in the M4 competition (Makridakis et al. 2020), without series for which the
    error is undefined.
    """
    first = next(iter(scores.values()))
    if len(scores) == 1:
        return dict(first)
    weights = np.array([counts[name] for name in scores], float)
    means: dict[str, Any] = {}
    for name in first:
        values = [row[name] for row in scores.values() if row[name] is not None]
        largest = max(values, default=0.0) or 1.0  # its square may exceed float64
        if name == "rmse":
            squares = np.square(np.divide(values, largest))
            means[name] = largest * float(np.average(squares, weights=weights)) ** 0.5
        elif name in ("mae", "mse"):
            means[name] = float(np.average(values, weights=weights))
        else:
            means[name] = float(np.mean(values)) if values else None
    return means


def interval_ends(errors: np.ndarray) -> np.ndarray:
    """Return the interval around each step's forecast, (2, K): lower and upper end minus forecast.

    `errors` (n, K) are target - forecast, or NaN. The ends are the k-th smallest and the k-th
    largest of the n errors of a step, k = floor((n + 1) (1 - LEVEL) / 2). An exchangeable
    (n + 1)-th error is outside each end with probability at most (1 - LEVEL) / 2. This is
    split-conformal prediction (Lei et al. 2018, section 2.2), separately for each tail.
    Difference: the interval is widened to contain the forecast, which does not reduce its
    coverage. The ends are NaN for steps with fewer than `FEWEST` errors.
    """
    ordered = np.sort(errors, axis=0)  # NaN last
    counts = np.isfinite(errors).sum(axis=0)
    ranks = np.floor((counts + 1) * (1 - LEVEL) / 2 + 1e-9).astype(int)
    steps, places = np.arange(errors.shape[1]), np.maximum(ranks, 1)
    low, high = ordered[places - 1, steps], ordered[counts - places, steps]
    ends = np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)])
    return np.where(ranks > 0, ends, np.nan)
