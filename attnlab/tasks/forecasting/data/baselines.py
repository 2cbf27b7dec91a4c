"""Forecasts that need no network, to hold a network's against.

Each takes what was known before the targets and returns (N, horizon) in the units given.
`past` is (N, L): the L numbers before each target, newest last.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Held = tuple[np.ndarray, np.ndarray]  # windows (K, S) and their targets (K, horizon)
GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0
ORDERS = (12, 24)  # of the linear autoregressions
_STRENGTHS = (0.0, *(10.0**power for power in range(-6, 1)))  # of a ridge
_CHUNK = 4096  # windows at a time


def persistence(past: np.ndarray, horizon: int = 1) -> np.ndarray:
    """The last number, for every step."""
    return np.repeat(past[:, -1:], horizon, axis=1)


def seasonal_naive(past: np.ndarray, period: int, horizon: int = 1) -> np.ndarray:
    """The number one period before the target, or whole periods where the horizon is longer.

    `past` has at least `period` numbers.
    """
    steps = np.arange(horizon) % period
    return past[:, past.shape[1] - period + steps]


def constant(value: float, rows: int, horizon: int = 1) -> np.ndarray:
    """One value for every row and step, such as the mean of the train part."""
    return np.full((rows, horizon), float(value))


def golden_ratio(past: np.ndarray) -> np.ndarray:
    """The last number times phi, to which quotients of Fibonacci neighbours tend."""
    return past[:, -1:] * GOLDEN_RATIO


def sum_of_last_two(past: np.ndarray) -> np.ndarray:
    """The rule of Fibonacci sequences itself, one step: (N, 1)."""
    return past[:, -1:] + past[:, -2:-1]


def autoregression(train: np.ndarray, targets: np.ndarray, past: np.ndarray) -> np.ndarray:
    """y_(t+k) = a_k + sum_i b_ki y_(t-i), i = 1..order, by least squares for each step k.

    The steps are fitted directly, each on its own targets, as a network with `horizon` outputs
    is, not by feeding one-step forecasts back. Of several solutions it is the shortest one.

    Args:
        train: (M, order) histories to fit on.
        targets: (M, horizon).
        past: (N, L) histories to forecast from, L >= order.
    """
    coefficients = np.linalg.lstsq(_with_intercept(train), targets, rcond=None)[0]
    return _with_intercept(past[:, past.shape[1] - train.shape[1] :]) @ coefficients


def nlinear(
    train: np.ndarray, targets: np.ndarray, past: np.ndarray, held_out: Held | None = None
) -> np.ndarray:
    """The newest number plus a linear map of the window minus that number: NLinear.

    y_(t+k) = y_t + a_k + sum_i b_ki (y_(t-i) - y_t), i below the window's length: at which level a
    window lies doesn't matter (Zeng et al. 2023, section 4). Differences: it is solved for, not
    trained, by ridge regression, whose strength is the one of `_STRENGTHS` with the smallest
    squared error on `held_out`, other windows and their targets; without them there is no ridge.

    Args:
        train: (M, S) windows to fit on.
        targets: (M, horizon).
        past: (N, L) windows to forecast from, L >= S.
        held_out: (K, S) and (K, horizon).
    """
    means, moments, products = _moments(train, targets)
    sizes, axes = np.linalg.eigh(moments)
    strengths = _STRENGTHS if held_out is not None and len(held_out[0]) else _STRENGTHS[:1]
    solutions = [
        axes @ (_inverse(sizes, each)[:, None] * (axes.T @ products)) for each in strengths
    ]

    def forecast(windows: np.ndarray, solution: np.ndarray) -> np.ndarray:
        return windows[:, -1:] + means[1] + (_differences(windows) - means[0]) @ solution

    def missed(solution: np.ndarray) -> float:
        assert held_out is not None
        return float(np.mean((held_out[1] - forecast(held_out[0], solution)) ** 2))

    best = min(solutions, key=missed) if len(solutions) > 1 else solutions[0]
    return forecast(past[:, past.shape[1] - train.shape[1] :], best)


def _differences(windows: np.ndarray) -> np.ndarray:
    """(N, S - 1): what stands before the newest number, minus that number."""
    return windows[:, :-1] - windows[:, -1:]


def _moments(
    train: np.ndarray, targets: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Means of differences and targets above the newest number, and sums of centred products.

    Some windows at a time: those of long series and horizons are large.
    """
    chunks = [slice(at, at + _CHUNK) for at in range(0, len(train), _CHUNK)]

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for each in chunks:
            yield _differences(train[each]), targets[each] - train[each, -1:]

    width, steps = train.shape[1] - 1, targets.shape[1]
    moments, products = np.zeros((width, width)), np.zeros((width, steps))
    sums = np.zeros(width + steps)
    for part in parts():
        sums += np.hstack(part).sum(axis=0)
    means = np.split(sums / len(train), [width])
    for known, wanted in parts():
        known -= means[0]
        moments += known.T @ known
        products += known.T @ (wanted - means[1])
    return (means[0], means[1]), moments, products


def _inverse(sizes: np.ndarray, strength: float) -> np.ndarray:
    """1 / (eigenvalue + ridge), the ridge in mean eigenvalues; 0 for those of rounding."""
    if not len(sizes):  # a window of one number
        return sizes
    floor = sizes.max() * len(sizes) * np.finfo(np.float64).eps
    kept = sizes > max(floor, 0.0)
    return np.divide(1.0, sizes + strength * sizes.mean(), out=np.zeros_like(sizes), where=kept)


def linear(
    train: np.ndarray, targets: np.ndarray, past: np.ndarray, held_out: Held | None = None
) -> dict[str, np.ndarray]:
    """Forecasts of the linear models that fit into (M, K) and (N, L) histories, by name."""
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
