"""Baseline forecasts without neural networks.

Arguments `past` are (N, L), the L values before each target, newest last.
"""

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
    """Repeat the value one period before the target, or several periods for a long horizon.

    `past` has at least `period` numbers.
    """
    steps = np.arange(horizon) % period
    return past[:, past.shape[1] - period + steps]


def autoregression(train: np.ndarray, targets: np.ndarray, past: np.ndarray) -> np.ndarray:
    """y_(t+k) = a_k + sum_i b_ki y_(t-i), i = 1..order, by least squares for each step k.

    Each step is fitted directly on its own targets, like a network with `horizon` outputs, not by
    feeding back one-step forecasts. If there are several solutions, the shortest one is taken.

    Args:
        train: (M, order) histories to fit on.
        targets: (M, horizon).
        past: (N, L) histories to forecast from, L >= order.
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
    their targets.

    Args:
        train: (M, S) windows to fit on.
        targets: (M, horizon).
        past: (N, L) windows to forecast from, L >= S.
        held_out: (K, S) and (K, horizon).
    """

    def from_newest(rows: np.ndarray, wanted: np.ndarray) -> Known:
        return rows[:, :-1] - rows[:, -1:], wanted - rows[:, -1:]

    linear_map = ridge(*from_newest(train, targets), held_out and from_newest(*held_out))
    past = past[:, past.shape[1] - train.shape[1] :]
    return past[:, -1:] + linear_map(past[:, :-1] - past[:, -1:])


def linear(samples: Samples, part: str, history: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """Forecast a part with a linear autoregression and NLinear, in model units.

    The order of the autoregression is the first of `ORDERS` for which there are enough values;
    NLinear reads `history` values.

    Returns the forecasts (N, horizon) by name, and notes on missing ones.
    """

    def fitted(length: int, fewest: int) -> tuple[Known, Known] | None:
        train, tested = samples(None, length), samples(part, length)
        return (train, tested) if train and tested and len(train[0]) > fewest else None

    forecasts, notes = {}, []
    for order in ORDERS:
        if pair := fitted(order, order + 1):  # 1: the intercept
            forecasts[f"linear_ar{order}"] = autoregression(*pair[0], pair[1][0])
            break
    else:
        notes.append(_missing(f"linear_ar{ORDERS[-1]}", ORDERS[-1], part))
    if pair := fitted(history, history):
        forecasts["nlinear"] = nlinear(*pair[0], pair[1][0], samples("validation", history))
    else:
        notes.append(_missing("nlinear", history, part))
    return forecasts, notes


def repeated(
    panel: Sequence[TimeSeries], part: str, horizon: int, period: int | None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Forecast each series by its last value, its season, and its mean, in natural units.

    Returns the forecasts (N, horizon) by name, and notes on missing ones.
    """
    rows = [(series, series.first[part]) for series in panel]
    too_long = period is not None and period > min(int(first.min()) for _, first in rows)
    forecasts: dict[str, list[np.ndarray]] = {"persistence": [], "seasonal_naive": []}
    forecasts["train_mean"] = []
    for series, first in rows:
        last = windows.histories(series.values, first, 1)
        forecasts["persistence"].append(np.repeat(last, horizon, axis=1))
        if period and not too_long:
            past = windows.histories(series.values, first, period)
            forecasts["seasonal_naive"].append(seasonal_naive(past, period, horizon))
        mean = np.mean(series.scaled[: series.train_end])  # scaled: avoids rounding of large values
        mean = float(series.scalers[0].invert(mean))
        forecasts["train_mean"].append(np.full((len(first), horizon), mean))
    missing = [_missing("seasonal_naive", period, part)] if period and too_long else []
    return {name: np.concatenate(parts) for name, parts in forecasts.items() if parts}, missing


def _missing(baseline: str, needed: int, part: str) -> str:
    return (
        f"The baseline {baseline} is left out: it needs {needed} values before every target of "
        f"the {part} part, and enough train targets to be fitted on."
    )
