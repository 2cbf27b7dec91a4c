"""Prediction intervals from the errors of forecasts on the validation part (split conformal)."""

from __future__ import annotations

from typing import Any

import numpy as np

LEVEL = 0.95
FEWEST = round(2 / (1 - LEVEL)) - 1  # errors of a step that an interval takes
AHEAD = 24  # steps beyond which no interval is looked for


def interval_ends(errors: np.ndarray) -> np.ndarray:
    """The interval around each step's forecast, (2, K): lower and upper end minus forecast.

    Of n errors, `errors` (n, K) = target - forecast, NaN where there is none, they are the k-th
    smallest and the k-th largest, k = floor((n + 1) (1 - LEVEL) / 2): an (n + 1)-th error that is
    exchangeable with them is beyond each with a probability of at most (1 - LEVEL) / 2. This is
    split-conformal prediction (Lei et al. 2018, section 2.2), for each tail by itself. Difference:
    the interval is as wide as to hold the forecast, which covers no less. NaN for steps of fewer
    than `FEWEST` errors.
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
    """The columns `low` and `high` around forecasts (N, horizon), and what metrics.json says of it.

    `ends` (2, K) are those of `interval_ends` in model units, `scale` (N, 1) is the size of one,
    `target` shows how often they hold.
    """
    low, high = (forecast + end[: forecast.shape[1]] * scale for end in ends)
    inside = (low <= target) & (target <= high)
    coverage = {"coverage": inside.mean(), "coverage_by_step": inside.mean(axis=0).tolist()}
    document = {"level": LEVEL, **coverage, "low": ends[0].tolist(), "high": ends[1].tolist()}
    return {"low": low, "high": high}, {"interval": document}
