"""Prediction intervals from the errors of forecasts on the validation part (split conformal)."""

from __future__ import annotations

from typing import Any

import numpy as np

LEVEL = 0.95
FEWEST = round(2 / (1 - LEVEL)) - 1  # errors of a step that an interval needs
AHEAD = 24  # the last step that gets an interval, if the horizon is shorter


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


def put_around(
    forecast: np.ndarray, ends: np.ndarray, target: np.ndarray, scale: np.ndarray | float = 1.0
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the columns `low` and `high` of forecasts (N, horizon), and their metrics.json entry.

    `ends` (2, K) is the result of `interval_ends`, in model units; `scale` (N, 1) is the size of a
    model unit. The coverage is that of `target`.
    """
    low, high = (forecast + end[: forecast.shape[1]] * scale for end in ends)
    inside = (low <= target) & (target <= high)
    coverage = {"coverage": inside.mean(), "coverage_by_step": inside.mean(axis=0).tolist()}
    document = {"level": LEVEL, **coverage, "low": ends[0].tolist(), "high": ends[1].tolist()}
    return {"low": low, "high": high}, {"interval": document}
