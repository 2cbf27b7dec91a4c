"""Baseline forecasts without neural networks.

Each function returns forecasts (N, horizon) in the units of its inputs. `past` is (N, L): the L
values before each target, newest last.
"""

from __future__ import annotations

import numpy as np

from attnlab.tasks.forecasting.data.ridge import Known, ridge

GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0
ORDERS = (12, 24)  # of the linear autoregressions


def persistence(past: np.ndarray, horizon: int = 1) -> np.ndarray:
    """Repeat the last value for every step."""
    return np.repeat(past[:, -1:], horizon, axis=1)


def seasonal_naive(past: np.ndarray, period: int, horizon: int = 1) -> np.ndarray:
    """Repeat the value one period before the target, or several periods for a long horizon.

    `past` has at least `period` numbers.
    """
    steps = np.arange(horizon) % period
    return past[:, past.shape[1] - period + steps]


def constant(value: float, rows: int, horizon: int = 1) -> np.ndarray:
    """Return one value for every row and step, such as the mean of the train part."""
    return np.full((rows, horizon), float(value))


def golden_ratio(past: np.ndarray) -> np.ndarray:
    """Multiply the last value by phi, the limit of ratios of consecutive Fibonacci numbers."""
    return past[:, -1:] * GOLDEN_RATIO


def sum_of_last_two(past: np.ndarray) -> np.ndarray:
    """Apply the rule of Fibonacci sequences for one step, (N, 1)."""
    return past[:, -1:] + past[:, -2:-1]


def autoregression(train: np.ndarray, targets: np.ndarray, past: np.ndarray) -> np.ndarray:
    """y_(t+k) = a_k + sum_i b_ki y_(t-i), i = 1..order, by least squares for each step k.

    Each step is fitted directly on its own targets, like a network with `horizon` outputs, not by
    feeding back one-step forecasts. If there are several solutions, the shortest one is taken.

    Args:
        train: (M, order) histories to fit on.
        targets: (M, horizon).
        past: (N, L) histories to forecast from, L >= order.
    """
    coefficients = np.linalg.lstsq(_with_intercept(train), targets, rcond=None)[0]
    return _with_intercept(past[:, past.shape[1] - train.shape[1] :]) @ coefficients


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
    found = ridge(*_from_newest(train, targets), held_out and _from_newest(*held_out))
    past = past[:, past.shape[1] - train.shape[1] :]
    return past[:, -1:] + found(_differences(past))


def _from_newest(windows: np.ndarray, targets: np.ndarray) -> Known:
    """Subtract the newest value of each window from window and targets."""
    return _differences(windows), targets - windows[:, -1:]


def _differences(windows: np.ndarray) -> np.ndarray:
    """Return the values before the newest one, minus the newest one: (N, S - 1)."""
    return windows[:, :-1] - windows[:, -1:]


def linear(
    train: np.ndarray, targets: np.ndarray, past: np.ndarray, held_out: Known | None = None
) -> dict[str, np.ndarray]:
    """Return the forecasts of all linear models that can be fitted on (M, K) histories, by name."""
    found = {
        f"linear_ar{order}": autoregression(train[:, -order:], targets, past)
        for order in ORDERS
        if order <= min(train.shape[1], past.shape[1]) and len(train) > order + 1
    }
    if train.shape[1] <= past.shape[1] and len(train) > train.shape[1]:
        found["nlinear"] = nlinear(train, targets, past, held_out)
    return found


def _with_intercept(past: np.ndarray) -> np.ndarray:
    return np.column_stack([past, np.ones(len(past))])
