"""What a forecast is measured by: errors, prediction intervals, and baseline forecasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from attnlab.tasks.forecasting.time_series import TimeSeries, histories, resolution

LEVEL = 0.95
FEWEST = round(2 / (1 - LEVEL)) - 1  # errors of a step that an interval needs
STEPS = 12  # that `attnlab forecast` makes by default
AHEAD = 24  # the last step that gets an interval, if the horizon is shorter
Errors = Mapping[str, Any]  # metric -> a float, or None if it is undefined
Examples = tuple[np.ndarray, np.ndarray]  # inputs (N, S) and their targets (N, K)
# Strengths to choose from, relative to the mean square of the centred inputs.
_STRENGTHS = (0.0, *(10.0**power for power in range(-6, 1)))
_CHUNK = 4096  # windows that are in memory as float64 at once
ORDERS = (24, 12)  # of the linear autoregression
# A part, or None for the windows to fit on, and a number of values -> windows of as many values and
# their targets in model units; None if there is no such part, or a window starts before its series.
Samples: TypeAlias = Callable[["str | None", int], "Examples | None"]


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

    @classmethod
    def of_series(cls, series: TimeSeries, period: int | None) -> Yardstick:
        """Make the yardstick of a series; the naive forecast is the value `period` steps back."""
        before_test, lag = series.values[: series.borders["test"]], period or 1
        changes = before_test[lag:] - before_test[:-lag]
        return cls.of(before_test[: series.train_end], changes, float(np.ptp(series.values)))


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


class LinearMap(NamedTuple):
    """x -> x kernel + bias."""

    kernel: np.ndarray  # (S, K)
    bias: np.ndarray  # (K,)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Map (N, S) to (N, K)."""
        return inputs @ self.kernel + self.bias


def ridge(inputs: np.ndarray, targets: np.ndarray, held_out: Examples | None = None) -> LinearMap:
    """Fit a linear map with intercept by ridge regression: inputs (M, S), targets (M, K).

    The strength is the one with the smallest squared error on `held_out`, other inputs and targets.
    Without `held_out` it is 0: least squares, with the smallest weights if there are several
    solutions.
    """
    means, moments, products = _moments(inputs, targets)
    sizes, axes = np.linalg.eigh(moments)
    turned = axes.T @ products
    # An eigenvalue below is only rounding; windows of one number have none.
    floor = max(sizes.max(initial=0.0) * len(sizes) * np.finfo(np.float64).eps, 0.0)

    def solution(strength: float) -> LinearMap:
        stronger = sizes + strength * (sizes.mean() if len(sizes) else 0.0)
        inverse = np.divide(1.0, stronger, out=np.zeros_like(sizes), where=sizes > floor)
        kernel = axes @ (inverse[:, None] * turned)
        return LinearMap(kernel, means[1] - means[0] @ kernel)

    def error(linear_map: LinearMap) -> float:
        return float(np.mean((held_targets - linear_map(held_inputs)) ** 2))

    if held_out is None or not len(held_out[0]):
        return solution(_STRENGTHS[0])
    held_inputs, held_targets = held_out
    return min(map(solution, _STRENGTHS), key=error)


def _moments(
    inputs: np.ndarray, targets: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Return the means of inputs and targets, and the sums of their centred products."""
    width, steps = inputs.shape[1], targets.shape[1]

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for at in range(0, len(inputs), _CHUNK):
            chunk = slice(at, at + _CHUNK)
            yield inputs[chunk].astype(np.float64), targets[chunk].astype(np.float64)

    sums = sum(np.hstack(part).sum(axis=0) for part in parts())
    means = np.split(sums / len(inputs), [width])
    moments, products = np.zeros((width, width)), np.zeros((width, steps))
    for inputs_, targets_ in parts():
        inputs_ -= means[0]
        moments += inputs_.T @ inputs_
        products += inputs_.T @ (targets_ - means[1])
    return (means[0], means[1]), moments, products


def autoregression(train: np.ndarray, targets: np.ndarray, past: np.ndarray) -> np.ndarray:
    """y_(t+k) = a_k + sum_i b_ki y_(t-i), i = 1..order, by least squares for each step k.

    Each step is fitted directly on its own targets, like a network with `horizon` outputs, not by
    feeding back one-step forecasts. If there are several solutions, the shortest one is taken.
    The fit is on `train` (M, order) and `targets` (M, horizon), the forecast from `past` (N, L).
    """

    def with_intercept(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows, np.ones(len(rows))])

    coefficients = np.linalg.lstsq(with_intercept(train), targets, rcond=None)[0]
    return with_intercept(past[:, past.shape[1] - train.shape[1] :]) @ coefficients


def nlinear(
    train: np.ndarray, targets: np.ndarray, past: np.ndarray, held_out: Examples | None = None
) -> np.ndarray:
    """The newest number plus a linear map of the window minus that number: NLinear.

    y_(t+k) = y_t + a_k + sum_i b_ki (y_(t-i) - y_t), i below the window's length: the forecast
    doesn't depend on the level of the window (Zeng et al. 2023, section 4). Difference: the map is
    computed by `ridge`, not trained; its strength is chosen on `held_out`, other windows and
    their targets. The fit is on `train` (M, S) and `targets`, the forecast from `past` (N, L).
    """

    def from_newest(rows: np.ndarray, wanted: np.ndarray) -> Examples:
        return rows[:, :-1] - rows[:, -1:], wanted - rows[:, -1:]

    linear_map = ridge(*from_newest(train, targets), held_out and from_newest(*held_out))
    past = past[:, past.shape[1] - train.shape[1] :]
    return past[:, -1:] + linear_map(past[:, :-1] - past[:, -1:])


def linear(samples: Samples, part: str, history: int) -> dict[str, np.ndarray]:
    """Forecast a part with a linear autoregression and NLinear, in model units, (N, horizon).

    The order of the autoregression is the first of `ORDERS` for which there are enough values;
    NLinear reads `history` values; it needs more windows than values unless a validation part
    chooses its ridge. A baseline without enough values is left out.
    """

    def fitted(length: int, fewest: int) -> tuple[Examples, Examples] | None:
        train, tested = samples(None, length), samples(part, length)
        return (train, tested) if train and tested and len(train[0]) > fewest else None

    forecasts = {}
    for order in ORDERS:
        if pair := fitted(order, order + 1):  # 1: the intercept
            forecasts[f"linear_ar{order}"] = autoregression(*pair[0], pair[1][0])
            break
    held_out = samples("validation", history)
    if pair := fitted(history, 0 if held_out else history):
        forecasts["nlinear"] = nlinear(*pair[0], pair[1][0], held_out)
    return forecasts


def repeat_values(
    panel: Sequence[TimeSeries], part: str, horizon: int, period: int | None
) -> dict[str, np.ndarray]:
    """Forecast each series by its last value, its season, and its mean, in natural units.

    There is no seasonal forecast if a target has less than a season before it.
    """
    forecasts: dict[str, list[np.ndarray]] = {"persistence": [], "seasonal_naive": []}
    forecasts["train_mean"] = []
    rows = [(series, series.first[part]) for series in panel]
    is_seasonal = period is not None and period <= min(int(first.min()) for _, first in rows)
    for series, first in rows:
        last = histories(series.values, first, 1)
        forecasts["persistence"].append(np.repeat(last, horizon, axis=1))
        if period and is_seasonal:
            past = histories(series.values, first, period)
            forecasts["seasonal_naive"].append(past[:, np.arange(horizon) % period])
        mean = np.mean(series.scaled[: series.train_end])  # scaled: avoids rounding of large values
        mean = float(series.scalers[0].invert(mean))
        forecasts["train_mean"].append(np.full((len(first), horizon), mean))
    return {name: np.concatenate(parts) for name, parts in forecasts.items() if parts}


def steps_ahead(horizon: int) -> str:
    """Return how far ahead forecasts of this horizon are, in words."""
    return f"1 to {horizon} steps ahead" if horizon > 1 else "one step ahead"
