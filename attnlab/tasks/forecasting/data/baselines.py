"""Baseline forecasts without neural networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from attnlab.tasks.forecasting.data import windows
from attnlab.tasks.forecasting.data.ridge import Known, ridge
from attnlab.tasks.forecasting.data.time_series import TimeSeries

ORDERS = (24, 12)  # of the linear autoregression
# A part, or None for the windows to fit on, and a number of values -> windows of as many values and
# their targets in model units; None if there is no such part, or a window starts before its series.
Samples: TypeAlias = Callable[["str | None", int], "Known | None"]


def seasonal_naive(past: np.ndarray, period: int, horizon: int = 1) -> np.ndarray:
    """Repeat the newest `period` values of each row of `past` (N, L)."""
    steps = np.arange(horizon) % period
    return past[:, past.shape[1] - period + steps]


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
    train: np.ndarray, targets: np.ndarray, past: np.ndarray, held_out: Known | None = None
) -> np.ndarray:
    """The newest number plus a linear map of the window minus that number: NLinear.

    y_(t+k) = y_t + a_k + sum_i b_ki (y_(t-i) - y_t), i below the window's length: the forecast
    doesn't depend on the level of the window (Zeng et al. 2023, section 4). Difference: the map is
    computed by `ridge`, not trained; its strength is chosen on `held_out`, other windows and
    their targets. The fit is on `train` (M, S) and `targets`, the forecast from `past` (N, L).
    """

    def from_newest(rows: np.ndarray, wanted: np.ndarray) -> Known:
        return rows[:, :-1] - rows[:, -1:], wanted - rows[:, -1:]

    linear_map = ridge(*from_newest(train, targets), held_out and from_newest(*held_out))
    past = past[:, past.shape[1] - train.shape[1] :]
    return past[:, -1:] + linear_map(past[:, :-1] - past[:, -1:])


def linear(samples: Samples, part: str, history: int) -> dict[str, np.ndarray]:
    """Forecast a part with a linear autoregression and NLinear, in model units, (N, horizon).

    The order of the autoregression is the first of `ORDERS` for which there are enough values;
    NLinear reads `history` values. A baseline without enough values is left out.
    """

    def fitted(length: int, fewest: int) -> tuple[Known, Known] | None:
        train, tested = samples(None, length), samples(part, length)
        return (train, tested) if train and tested and len(train[0]) > fewest else None

    forecasts = {}
    for order in ORDERS:
        if pair := fitted(order, order + 1):  # 1: the intercept
            forecasts[f"linear_ar{order}"] = autoregression(*pair[0], pair[1][0])
            break
    if pair := fitted(history, history):
        forecasts["nlinear"] = nlinear(*pair[0], pair[1][0], samples("validation", history))
    return forecasts


def repeated(
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
        last = windows.histories(series.values, first, 1)
        forecasts["persistence"].append(np.repeat(last, horizon, axis=1))
        if period and is_seasonal:
            past = windows.histories(series.values, first, period)
            forecasts["seasonal_naive"].append(seasonal_naive(past, period, horizon))
        mean = np.mean(series.scaled[: series.train_end])  # scaled: avoids rounding of large values
        mean = float(series.scalers[0].invert(mean))
        forecasts["train_mean"].append(np.full((len(first), horizon), mean))
    return {name: np.concatenate(parts) for name, parts in forecasts.items() if parts}
